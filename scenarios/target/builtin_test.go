package target_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// mark starts every key of a run here.
const mark = "t:run"

// name is how clients are called, as the command line does it.
func name(id scenarios.Identity, attempt int) string {
	if id.Pseudonym == 0 {
		return fmt.Sprintf("k%d-%d", id.Key, attempt)
	}
	return fmt.Sprintf("k%d-%d-p%d", id.Key, attempt, id.Pseudonym)
}

// virtualBuiltins are the embedded scenarios under the virtual clock at a count,
// or at their own for 0 or if a tier in front has numbers of its own. Those that wait
// in real time are counted and left out, and those that break Redis or stand in front
// of a service: it is the command line that makes faults and services.
func virtualBuiltins(t *testing.T, count int64) []*scenarios.Scenario {
	t.Helper()
	var all []*scenarios.Scenario
	var left []string
	for _, b := range scenarios.Scripted() {
		sc, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if len(sc.Faults) > 0 || sc.Service != "" || sc.Overload.Present() {
			continue
		}
		if sc.Clock != scenarios.Virtual {
			left = append(left, b.Name)
			continue
		}
		if count > 0 && sc.EdgeTier == nil {
			sc.Limit.Max = count
		}
		all = append(all, sc)
	}
	if !slices.Equal(left, []string{"ttl-drain"}) {
		t.Errorf("left out %q, want only the one that drains", left)
	}
	return all
}

// played is the whole way from a scenario to what is known about a limiter under
// it: planned, opened, run, examined and judged.
type played struct {
	target *target.Target
	plan   *scenarios.Plan // without retries
	oracle *oracle.Case
	*scenarios.Judgement
}

func play(t *testing.T, s *backend.Server, sc *scenarios.Scenario, limiterName string) played {
	t.Helper()
	p, err := scenarios.NewPlan(sc)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(t.Context(), s, limiterName, target.Options{Limit: p.Limit, Clock: p.Clock, Prefix: mark})
	if err != nil {
		t.Fatal(err)
	}
	limiters := make([]limiter.Limiter, len(p.Phases))
	tier := front(t, p)
	for i, phase := range p.Phases {
		origin, err := opened.Limiter(phase.Limit)
		if err != nil {
			t.Fatal(err)
		}
		if limiters[i], err = tier.Limiter(origin); err != nil {
			t.Fatal(err)
		}
	}
	h, err := runner.Run(t.Context(), runner.Config{Limiters: limiters, Plan: p, MaxInFlight: 8, Identity: name})
	if err != nil {
		t.Fatal(err)
	}
	traffic := target.Traffic{
		Plan: h.Plan, Results: h.Results, Edge: h.Edge, Name: name, Attempts: h.Attempts, Stopwatch: h.Stopwatch, Mark: mark,
	}
	examined, err := target.Examine(t.Context(), s, opened, traffic, traffic.Traces(opened))
	if err != nil {
		t.Fatal(err)
	}
	c := &oracle.Case{
		Plan: h.Plan, Results: h.Results, Edge: h.Edge, Algorithm: opened.Algorithm, Name: limiterName, Checks: sc.Checks,
		Tells: opened.Tells, Strict: opened.Strict, LongestTTL: opened.LongestTTL(p.Limit), Examined: examined,
		Misplaced: h.Misplaced, Interrupted: h.Interrupted, Curbed: h.Curbed, Lost: h.Lost,
	}
	j, err := oracle.Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	return played{opened, p, c, j}
}

// front is the tier of a plan.
func front(t *testing.T, p *scenarios.Plan) *target.Fronted {
	t.Helper()
	if p.EdgeTier == nil {
		return nil
	}
	c := *p.EdgeTier
	c.Seed = p.Seed
	tier, err := target.Front(&c, func(identity string) string {
		client, _, _ := strings.Cut(identity, "-p")
		return client
	})
	if err != nil {
		t.Fatal(err)
	}
	return tier
}

// asked are the checks that found something to say.
func (p played) asked() []string {
	var names []string
	for _, f := range p.Findings {
		names = append(names, f.Check)
	}
	return names
}

// Every built-in passes with every bundled algorithm, from the file to the
// verdict, and what the model foretells is what happens. No check is left out:
// whatever can be asked of a limiter is asked somewhere.
func TestBundledAlgorithmsPassEveryBuiltin(t *testing.T) {
	for flavour, algorithms := range map[string][]string{
		"managed": limiter.Names(),
		// The emulator is slow. What it makes of each script the conformance kit shows.
		"embedded": {"log", "log-packed", "counter"},
	} {
		t.Run(flavour, func(t *testing.T) {
			s := server(t, flavour)
			asked := map[string]bool{}
			for _, sc := range virtualBuiltins(t, 10) {
				if sc.Name == "key-explosion" && flavour == "embedded" {
					fewerKeys(t, sc)
				}
				for _, algorithm := range algorithms {
					p := play(t, s, sc, algorithm)
					for _, f := range p.Findings {
						if f.Verdict != scenarios.Pass {
							t.Errorf("%s with %s: %+v", sc.Name, algorithm, f)
						}
					}
					want := expect(t, p.plan, *p.oracle.Algorithm).Measures
					got := p.Measures
					got.Examined, got.Service, got.Response = nil, nil, nil // no model has them
					// Of many at once, more can have been counted before a reply.
					if got.Overcounted.Used > got.Overcounted.Sent {
						t.Errorf("%s with %s: overcounted %+v", sc.Name, algorithm, got.Overcounted)
					}
					got.Overcounted = want.Overcounted
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s with %s: the model and what happened differ (-want +got):\n%s", sc.Name, algorithm, diff)
					}
					lives(t, p)
					for _, check := range p.asked() {
						asked[check] = true
					}
				}
			}
			for _, row := range oracle.Listed() {
				written := row[0] == "checks" || row[0] == "max-overshoot" // of the user's own
				troubled := row[0] == "faults" || row[0] == "policy"       // of those that break Redis
				paced := row[0] == "capacity"                              // of those in real time
				if !asked[row[0]] && !written && !troubled && !paced {
					t.Errorf("nobody was asked about %s", row[0])
				}
			}
		})
	}
}

// fewerKeys spares the stand-in, which walks all keys on every command. The checks
// that count them go too.
func fewerKeys(t *testing.T, sc *scenarios.Scenario) {
	t.Helper()
	count, err := scenarios.ParseExpr("250")
	if err != nil {
		t.Fatal(err)
	}
	sc.Keys.Count, sc.Phases[0].Count, sc.Checks = 250, count, nil
}

// lives wants keys that live for an hour at least: instants of the virtual clock
// say nothing about real time. Nor do they live longer than they have to.
func lives(t *testing.T, p played) {
	t.Helper()
	e := p.oracle.Examined
	if len(e.Keys) == 0 || len(e.Sample) == 0 {
		t.Errorf("%s with %s: %d keys of %d identities", p.oracle.Plan.Scenario, p.target.Name, len(e.Keys), len(e.Sample))
	}
	longest := max(time.Hour, 2*p.plan.Limit.Window+time.Second)
	for _, k := range e.Keys {
		if k.TTL < 59*time.Minute || k.TTL > longest || !strings.HasPrefix(k.Name, mark+":"+p.target.Name+":") {
			t.Errorf("%s with %s: key %s lives for %s", p.oracle.Plan.Scenario, p.target.Name, k.Name, k.TTL)
		}
	}
}

// expect is what oracle.Expect says, which has an error only for a disk that cannot be
// read.
func expect(t testing.TB, p *scenarios.Plan, a limiter.Algorithm) *scenarios.Judgement {
	t.Helper()
	j, err := oracle.Expect(p, a)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
