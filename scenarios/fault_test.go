package scenarios_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// troubled reads a scenario of three phases and one-line faults. What follows the
// faults is given too.
func troubled(rest string, faults ...string) (*scenarios.Scenario, error) {
	file := `version: 1
name: test
limit: 10/1m
phases:
- {name: early, at: edge - 2s, for: 1s, shape: constant, count: 5}
- {name: spell, for: window/4, shape: constant, count: 5, retry: {mode: obey, within: window}}
- {name: late, at: edge + window, shape: burst, count: 5}
` + rest
	if len(faults) > 0 {
		file += "faults:\n- {" + strings.Join(faults, "}\n- {") + "}\n"
	}
	return scenarios.Read(strings.NewReader(file), "test.yaml", scenarios.BuiltinDefaults())
}

func troubledPlan(t testing.TB, rest string, faults ...string) *scenarios.Plan {
	t.Helper()
	s, err := troubled(rest, faults...)
	if err != nil {
		t.Fatal(err)
	}
	return planned(t, s)
}

// A fault is in force from its instant, or from the start of its phase, for as long
// as it says, or as long as the phase lasts.
func TestPlannedFaults(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, row := range []struct {
		fault string
		want  scenarios.PlannedFault
		why   string
	}{
		{"at: early, kind: outage", scenarios.PlannedFault{Kind: "outage", At: -2 * s, End: -s}, "as long as its phase"},
		{"at: spell, kind: stall", scenarios.PlannedFault{Kind: "stall", At: -s, End: 14 * s}, "a phase that follows another one"},
		{"at: spell.retry, kind: stall", scenarios.PlannedFault{Kind: "stall", At: -s, End: 59 * s}, "as long as clients retry"},
		{"at: early, for: 10s, kind: outage", scenarios.PlannedFault{Kind: "outage", At: -2 * s, End: 8 * s}, "longer than its phase"},
		{"at: early, for: 1us, kind: outage", scenarios.PlannedFault{Kind: "outage", At: -2 * s, End: -2*s + time.Microsecond}, "the shortest"},
		{"at: late, for: window/60, kind: readonly", scenarios.PlannedFault{Kind: "readonly", At: 60 * s, End: 61 * s}, "a phase that is an instant, and a length of its own"},
		{"at: late, kind: restart", scenarios.PlannedFault{Kind: "restart", At: 60 * s, End: 60 * s}, "an instant at the start of a phase"},
		{"at: early, kind: script-flush", scenarios.PlannedFault{Kind: "script-flush", At: -2 * s, End: -2 * s}, "an instant, although its phase lasts"},
		{"at: edge, kind: eviction", scenarios.PlannedFault{Kind: "eviction"}, "the edge itself"},
		{"at: edge + window/limit, kind: restart", scenarios.PlannedFault{Kind: "restart", At: 6 * s, End: 6 * s}, "an expression"},
		{"at: edge - 1h, for: 2h, kind: oom", scenarios.PlannedFault{Kind: "oom", At: -time.Hour, End: time.Hour}, "longer than all traffic"},
		{
			"at: early, kind: latency, delay: 50ms, jitter: 10ms, every: 3, hits: limit/2",
			scenarios.PlannedFault{Kind: "latency", At: -2 * s, End: -s, Delay: 50 * ms, Jitter: 10 * ms, Every: 3, Hits: 5},
			"everything that one can have",
		},
		{"at: early, kind: latency, delay: window/600", scenarios.PlannedFault{Kind: "latency", At: -2 * s, End: -s, Delay: 100 * ms}, "no every and no hits is 0 of each"},
		{"at: early, kind: lost-reply, every: 1, hits: 1", scenarios.PlannedFault{Kind: "lost-reply", At: -2 * s, End: -s, Every: 1, Hits: 1}, "the least of each"},
	} {
		p := troubledPlan(t, "", row.fault)
		if diff := cmp.Diff([]scenarios.PlannedFault{row.want}, p.Faults); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", row.fault, row.why, diff)
		}
	}
}

// Faults keep the order of the file; it is the runner who sorts by time.
func TestFaultsKeepTheirOrder(t *testing.T) {
	p := troubledPlan(t, "", "at: late, kind: restart", "at: early, kind: stall", "at: late, kind: eviction")
	var kinds []string
	for _, f := range p.Faults {
		kinds = append(kinds, f.Kind)
	}
	if want := []string{"restart", "stall", "eviction"}; !slices.Equal(kinds, want) {
		t.Errorf("planned are %v, want %v", kinds, want)
	}
}

// A limit that the command line changes can make a fault impossible that the file
// had right.
func TestFaultsAreComputedForTheLimitOfTheRun(t *testing.T) {
	s, err := troubled("", "at: early, kind: lost-reply, every: limit/5, for: window/6")
	if err != nil {
		t.Fatal(err)
	}
	if f := planned(t, s).Faults[0]; f.Every != 2 || f.End-f.At != 10*time.Second {
		t.Errorf("planned %+v", f)
	}
	s.Limit = limiter.Limit{Max: 100, Window: time.Hour}
	if f := planned(t, s).Faults[0]; f.Every != 20 || f.End-f.At != 10*time.Minute {
		t.Errorf("planned %+v for another limit", f)
	}
	s.Limit.Max = 7
	_, err = scenarios.NewPlan(s)
	if err == nil || err.Error() != "plan scenario test: fault 1: every: 1.4 is not a whole number; use floor() or ceil()" {
		t.Errorf("for a limit of 7: %v", err)
	}
}

// What breaks is part of what a plan is: two that differ in it have other names.
func TestHashOfFaults(t *testing.T) {
	hashes := map[string]string{}
	for _, row := range []struct {
		rest   string
		faults []string
	}{
		{"", nil},
		{"", []string{"at: early, kind: outage"}},
		{"", []string{"at: early, kind: stall"}},
		{"", []string{"at: early, for: 2s, kind: outage"}},
		{"", []string{"at: spell, for: 1s, kind: outage"}},
		{"", []string{"at: early, kind: lost-reply"}},
		{"", []string{"at: early, kind: lost-reply, every: 2"}},
		{"", []string{"at: early, kind: lost-reply, hits: 2"}},
		{"", []string{"at: early, kind: latency, delay: 1s"}},
		{"", []string{"at: early, kind: latency, delay: 1s, jitter: 1s"}},
		{"", []string{"at: early, kind: outage", "at: late, kind: restart"}},
		{"on_failure: error\n", nil},
		{"on_failure: closed\n", nil},
		{"on_failure: closed\n", []string{"at: early, kind: outage"}},
	} {
		name := fmt.Sprintf("%q %q", row.rest, row.faults)
		hash := troubledPlan(t, row.rest, row.faults...).Hash()
		if other, taken := hashes[hash]; taken {
			t.Errorf("%s and %s have one hash", name, other)
		}
		hashes[hash] = name
	}
	// What is told besides is not what is sent.
	plain := scenario(t, "10/1m", "name: a, shape: burst, count: 1", "name: b, shape: burst, count: 1, pseudonym: 1")
	told := scenario(t, "10/1m", "name: a, shape: burst, count: 1", "name: b, shape: burst, count: 1, pseudonym: 1, also: 0")
	if planned(t, plain).Hash() == planned(t, told).Hash() {
		t.Error("a second name changes nothing")
	}
	// The same trouble in other words is the same.
	if troubledPlan(t, "", "at: early, kind: outage").Hash() != troubledPlan(t, "", "at: edge - 2s, for: window/60, kind: outage").Hash() {
		t.Error("a phase and its instants are two plans")
	}
}

// A control run is the same traffic: everything but the faults, and the plan that
// it was made of stays as it is.
func TestFaultless(t *testing.T) {
	p := troubledPlan(t, "on_failure: closed\n", "at: early, kind: outage")
	control := p.Faultless()
	if len(control.Faults) != 0 || len(p.Faults) != 1 {
		t.Fatalf("%d faults without, %d with", len(control.Faults), len(p.Faults))
	}
	control.Faults = p.Faults
	if diff := cmp.Diff(p, control); diff != "" {
		t.Errorf("more is different (-plan +control):\n%s", diff)
	}
	if without := troubledPlan(t, "on_failure: closed\n"); p.Faultless().Hash() != without.Hash() {
		t.Error("a control run is another plan than the scenario without its faults")
	}
}

// Two names of one client are all that a limiter can be told.
func TestChainsOfNames(t *testing.T) {
	for _, phases := range [][]string{
		{"name: a, shape: burst, count: 1, pseudonym: 2, also: 1", "name: b, shape: burst, count: 1, pseudonym: 3, also: 2"},
		{"name: a, shape: burst, count: 1, pseudonym: 1, also: 3", "name: b, shape: burst, count: 1, pseudonym: 2, also: 3"},
	} {
		if _, err := scenarios.NewPlan(scenario(t, "10/1m", phases...)); err == nil || !strings.Contains(err.Error(), "two names at most") {
			t.Errorf("%q: error %v", phases, err)
		}
	}
}

// Of the faults of a server one has to be over before the next; those of
// connections can be in force beside anything.
func TestOverlappingFaults(t *testing.T) {
	for _, row := range []struct {
		faults []string
		ok     bool
	}{
		{[]string{"at: 1s, for: 2s, kind: stall", "at: 2s, for: 2s, kind: failover"}, false},
		{[]string{"at: 1s, for: 2s, kind: stall", "at: 2s, kind: restart"}, false},
		{[]string{"at: 1s, for: 1s, kind: stall", "at: 2s, for: 2s, kind: failover"}, true},
		{[]string{"at: 1s, kind: restart", "at: 1s, kind: script-flush"}, true},
		{[]string{"at: 1s, for: 2s, kind: stall", "at: 2s, for: 2s, kind: reset"}, true},
	} {
		text := "name: a, at: 0s, for: 9s, shape: constant, count: 9}\nfaults:\n- {" + strings.Join(row.faults, "}\n- {")
		if _, err := scenarios.NewPlan(scenario(t, "10/1m", text)); (err == nil) != row.ok {
			t.Errorf("%q: error %v", row.faults, err)
		}
	}
}

// Pseudonyms that a limiter is told together are one identity; others stay apart.
func TestIdentity(t *testing.T) {
	for _, row := range []struct {
		phases []string // pseudonym, and what is told too
		want   []int32
		why    string
	}{
		{[]string{"0", "1", "2"}, []int32{0, 1, 2}, "nobody is told anything"},
		{[]string{"1", "2, also: 1"}, []int32{1, 1}, "the new one counts the old one too"},
		{[]string{"2, also: 1", "2"}, []int32{1, 1}, "wherever it is told"},
		{[]string{"1", "2, also: 1", "1, also: 2", "4"}, []int32{1, 1, 1, 4}, "told from both sides, and who is not told is not"},
		{[]string{"1, also: 2", "2"}, []int32{1, 1}, "the lowest number, whichever is the second name"},
		{[]string{"0, also: 0", "1"}, []int32{0, 1}, "the same name twice is one name"},
	} {
		var phases []string
		for i, p := range row.phases {
			phases = append(phases, fmt.Sprintf("name: p%d, shape: burst, count: 1, pseudonym: %s", i, p))
		}
		p := planned(t, scenario(t, "10/1m", phases...))
		for i, want := range row.want {
			a := scenarios.Arrival{Key: 5, Phase: int32(i)}
			if got := p.Identity(a); got != (scenarios.Identity{Key: 5, Pseudonym: want}) {
				t.Errorf("%q, phase %d: %+v, want pseudonym %d (%s)", row.phases, i, got, want, row.why)
			}
		}
	}
}

// Who was under way while there was trouble, or within a second after it, may have
// suffered.
func TestTouches(t *testing.T) {
	const s = time.Second
	f := scenarios.FaultResult{Made: true, Begin: 10 * s, Force: 11 * s, Lift: 20 * s, End: 21 * s}
	for _, row := range []struct {
		sent, done time.Duration
		want       bool
		why        string
	}{
		{8 * s, 9 * s, false, "it was over"},
		{8 * s, 10 * s, true, "it was over in the instant in which the making began"},
		{10*s + 1, 10*s + 2, true, "while it was made"},
		{15 * s, 16 * s, true, "while it was in force"},
		{8 * s, 30 * s, true, "all the time"},
		{20*s + 1, 20*s + 2, true, "while it was lifted"},
		{22 * s, 23 * s, true, "a second after all was well: connections are opened again"},
		{22*s + 1, 23 * s, false, "later than that"},
	} {
		r := scenarios.Result{Sent: row.sent, Done: row.done, Outcome: scenarios.Errored}
		if f.Touches(r, scenarios.Aftermath) != row.want {
			t.Errorf("sent %s, done %s: %t, want %t (%s)", row.sent, row.done, !row.want, row.want, row.why)
		}
	}
	if (scenarios.FaultResult{}).Touches(scenarios.Result{Outcome: scenarios.Errored}, scenarios.Aftermath) {
		t.Error("a fault whose time never came touches a request")
	}
	if f.Touches(scenarios.Result{Sent: 15 * s, Done: 15 * s, Outcome: scenarios.Missed}, scenarios.Aftermath) {
		t.Error("a request that was never sent is touched")
	}
}

// What is done in an instant has no length, and fields that a kind takes or needs
// are fields that there are.
func TestFaultKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range scenarios.FaultKinds {
		if seen[k.Name] || k.Doc == "" || strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: seen before: %t; %q", k.Name, seen[k.Name], k.Doc)
		}
		seen[k.Name] = true
		for _, field := range slices.Concat(k.Takes, k.Needs) {
			if !slices.Contains([]string{"delay", "jitter", "every", "hits"}, field) {
				t.Errorf("%s takes %q", k.Name, field)
			}
		}
		if k.Connection && (!k.Lasts || k.Loss != scenarios.LosesNothing) {
			t.Errorf("%s hits operations: it lasts %t and loses %d", k.Name, k.Lasts, k.Loss)
		}
		got, err := scenarios.FaultKindNamed(k.Name)
		if of := (scenarios.PlannedFault{Kind: k.Name}).Of(); err != nil || !reflect.DeepEqual(got, k) || !reflect.DeepEqual(of, k) {
			t.Errorf("%s is found as %+v and %+v, %v", k.Name, got, of, err)
		}
	}
	if _, err := scenarios.FaultKindNamed("fire"); err == nil || !strings.HasPrefix(err.Error(), `unknown kind "fire"`) {
		t.Errorf("fire: %v", err)
	}
	if k := (scenarios.PlannedFault{Kind: "fire"}).Of(); k.Name != "" {
		t.Errorf("fire is %+v", k)
	}
}

// checkFaults holds what is true of the faults of every plan.
func checkFaults(t interface {
	Helper()
	Errorf(string, ...any)
}, s *scenarios.Scenario, p *scenarios.Plan,
) {
	t.Helper()
	if len(p.Faults) != len(s.Faults) || p.OnFailure != s.OnFailure {
		t.Errorf("%d faults of %d, on failure %q of %q", len(p.Faults), len(s.Faults), p.OnFailure, s.OnFailure)
	}
	for _, f := range p.Faults {
		k := f.Of()
		if k.Name == "" || f.End < f.At || k.Lasts != (f.End > f.At) || f.Delay < 0 || f.Jitter < 0 || f.Every < 0 || f.Hits < 0 {
			t.Errorf("planned %+v", f)
		}
		if needsDelay := slices.Contains(k.Needs, "delay"); needsDelay != (f.Delay > 0) {
			t.Errorf("%s: delay %s", f.Kind, f.Delay)
		}
	}
}
