package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// troubled plans three phases of a second each, of which the second begins when the
// first ends, and so on, with faults. In one window nothing comes back to a fixed
// window, a log or a counter.
func troubled(t testing.TB, rest string, counts [3]int, faults ...string) *scenarios.Plan {
	t.Helper()
	file := "version: 1\nname: troubled\nlimit: 10/1m\n" + rest + "phases:\n"
	for i, name := range []string{"before", "during", "after"} {
		file += fmt.Sprintf("- {name: %s, for: 1s, shape: constant, count: %d}\n", name, counts[i])
	}
	if len(faults) > 0 {
		file += "faults:\n- {" + strings.Join(faults, "}\n- {") + "}\n"
	}
	return planIn(t, file)
}

func planIn(t testing.TB, file string) *scenarios.Plan {
	t.Helper()
	s, err := scenarios.Read(strings.NewReader(file), "test.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// byPhase writes counts as "6 4/2 0/12": admitted, /denied, !errored, ?unknown.
func byPhase(j *scenarios.Judgement) string {
	parts := make([]string, len(j.Phases))
	for i, p := range j.Phases {
		parts[i] = fmt.Sprint(p.Admitted)
		for _, more := range []struct {
			mark string
			n    int64
		}{{"/", p.Denied}, {"!", p.Errored}, {"?", p.Unknown}} {
			if more.n > 0 {
				parts[i] += fmt.Sprint(more.mark, more.n)
			}
		}
	}
	return strings.Join(parts, " ")
}

// Of ten units, six are used before the fault, and six and twelve more are wanted.
func TestExpectUnderEachFault(t *testing.T) {
	covered := map[string]bool{}
	for _, row := range []struct {
		rest, fault, want, why string
	}{
		{"", "at: during, kind: latency, delay: 5ms", "6 4/2 0/12", "late answers are answers"},
		{"", "at: during, kind: stall", "6 4/2 0/12", "virtual time does not pass meanwhile"},
		{"", "at: during, kind: pause", "6 4/2 0/12", "the same"},
		{"", "at: during, kind: script-flush", "6 4/2 0/12", "a sound limiter sends its script again"},
		{"", "at: during, kind: reset", "6 0?6 4/8", "nothing ran, and nobody can tell"},
		{"", "at: during, kind: partial", "6 0?6 4/8", "half a command does not run"},
		{"", "at: during, kind: lost-reply", "6 0?6 0/12", "all ran: four were counted"},
		{"", "at: during, kind: loading", "6 0!6 4/8", "an answer: certainly not counted"},
		{"", "at: during, kind: acl", "6 0!6 4/8", "the same"},
		{"", "at: during, kind: password", "6 0!6 4/8", "the same"},
		{"", "at: during, kind: readonly", "6 0!6 4/8", "what would be admitted has to be written"},
		{"", "at: during, kind: oom", "6 0!6 4/8", "the same"},
		{"", "at: during, kind: outage", "6 0!6 10/2", "nobody is there, and then an empty one"},
		{"", "at: during, kind: restart", "6 6 4/8", "an empty one at once"},
		{"", "at: during, kind: eviction", "6 6 4/8", "no key is left"},
		{"", "at: during, kind: failover", "6 4/2 4/8", "the replica knows six"},

		{"", "at: during, kind: reset, every: 2", "6 3?3 1/11", "the second, fourth and sixth do not run"},
		{"", "at: during, kind: lost-reply, every: 3, hits: 1", "6 3/2?1 0/12", "the third is counted, so the fifth is denied"},
		{"", "at: during, kind: loading, hits: 4", "6 2!4 2/10", "the first four"},
		{"", "at: before, kind: lost-reply, every: 2, for: 2s", "3?3 2/1?3 0/12", "numbers go on from phase to phase: the eighth and the tenth are counted, the twelfth is denied"},

		{"on_failure: open\n", "at: during, kind: outage", "6 6 10/2", "all by the policy"},
		{"on_failure: closed\n", "at: during, kind: outage", "6 0/6 10/2", "none"},
		{"on_failure: local\n", "at: during, kind: outage", "6 6 10/2", "a process has a budget of its own"},
		{"on_failure: local\n", "at: during, kind: acl, for: 2s", "6 6 4/8", "ten of it in all"},
		{"on_failure: error\n", "at: during, kind: outage", "6 0!6 10/2", "as without a policy"},
		{"on_failure: open\n", "at: during, kind: lost-reply", "6 6 0/12", "admitted by the policy, and counted all the same"},
		{"on_failure: closed\n", "at: during, kind: oom", "6 0/6 4/8", "whatever is refused"},
	} {
		p := troubled(t, row.rest, [3]int{6, 6, 12}, row.fault)
		covered[p.Faults[0].Kind] = true
		for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Log, limiter.Counter} {
			if got := byPhase(expect(t, p, a)); got != row.want {
				t.Errorf("%s %s%s: %s, want %s (%s)", a.Name, row.rest, row.fault, got, row.want, row.why)
			}
		}
	}
	for _, k := range scenarios.FaultKinds {
		if !covered[k.Name] {
			t.Errorf("nothing is expected of %s", k.Name)
		}
	}
}

// Where nothing can be written, denials need no writing.
func TestExpectDenialsWhereNothingIsWritten(t *testing.T) {
	for _, kind := range []string{"readonly", "oom"} {
		p := troubled(t, "", [3]int{10, 6, 6}, "at: during, kind: "+kind)
		for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Log, limiter.Counter} {
			if got := byPhase(expect(t, p, a)); got != "10 0/6 0/6" {
				t.Errorf("%s, %s: %s, want 10 0/6 0/6", a.Name, kind, got)
			}
		}
	}
}

// Several faults at once, and one after the other at one instant.
func TestExpectSeveralFaults(t *testing.T) {
	for _, row := range []struct {
		faults []string
		want   string
		why    string
	}{
		{[]string{"at: during, kind: reset", "at: during, kind: lost-reply"}, "6 0?6 4/8", "the one that is longer in force hits"},
		{[]string{"at: during, kind: lost-reply", "at: during, kind: reset"}, "6 0?6 0/12", "and here it is the other"},
		{[]string{"at: during, kind: reset, every: 2", "at: during, kind: loading, hits: 2"}, "6 1!2?3 3/9", "what one leaves over is left to the other: 1 and 3 are refused, 5 is decided"},
		{[]string{"at: during, kind: failover", "at: before, kind: failover"}, "6 6 10/2", "the first is lifted before the second begins, whatever the order of the file: both phases are lost"},
		{[]string{"at: during, kind: restart", "at: edge + 2s, kind: restart"}, "6 6 10/2", "all is lost twice"},
		{[]string{"at: during, kind: acl", "at: edge + 2s, kind: restart"}, "6 0!6 10/2", "an instant at the end of another"},
	} {
		p := troubled(t, "", [3]int{6, 6, 12}, row.faults...)
		for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Log} {
			if got := byPhase(expect(t, p, a)); got != row.want {
				t.Errorf("%s %q: %s, want %s (%s)", a.Name, row.faults, got, row.want, row.why)
			}
		}
	}
}

// What theory says of broken Redis servers and of names that change, by the built-in
// scenarios: rows 12 to 17.
func TestExpectWhatTheorySays(t *testing.T) {
	const l = 100
	all := func(fixed, log, counter, gcra int64) [4]int64 { return [4]int64{fixed, log, counter, gcra} }
	admitted := func(phase int) func(*scenarios.Judgement) int64 {
		return func(j *scenarios.Judgement) int64 { return j.Phases[phase].Admitted }
	}
	peak := func(j *scenarios.Judgement) int64 { return j.Measures.PeakInWindow }
	sum := func(j *scenarios.Judgement) int64 { return j.Measures.Admitted }
	errored := func(j *scenarios.Judgement) int64 { return j.Measures.Errored }
	for _, row := range []struct {
		row, scenario string
		of            func(*scenarios.Judgement) int64
		want          [4]int64
		why           string
	}{
		{"12", "redis-outage-open", admitted(1), all(10*l, 10*l, 10*l, 10*l), "R·D"},
		{"12", "redis-outage-closed", admitted(1), all(0, 0, 0, 0), "0"},
		{"12", "redis-outage", errored, all(10*l, 10*l, 10*l, 10*l), "nobody decided"},
		// A bucket of this process gives back floor(0.999 s / 0.6 s).
		{"12", "redis-outage-local", admitted(1), all(l, l, l, l+1), "the cap of a process"},
		{"12a", "redis-restart", peak, all(3*l, 2*l, 2*l, 2*l), "L before an edge, L at it, L after the loss"},
		{"12a", "redis-restart-late", peak, all(3*l, 2*l, 3*l, 3*l-1), "where the second budget has faded, or come back"},
		{"12b", "failover", sum, all(l+l/4, l+l/4, l+l/4, l+l/4+4), "+ what was admitted meanwhile; a bucket gets back floor(2.99 s / 0.6 s)"},
		{"13", "day-rollover", peak, all(2*l, 2*l, 2*l, 2*l), "two names, two budgets"},
		{"13", "midnight-rotation", peak, all(2*l, l, l+1, l), "told the old one too: no more than at any edge"},
		{"13a", "day-rollover-inside", peak, all(3*l, 2*l, 2*l, 2*l+l/10), "a third budget at the next edge; a tenth of one comes back"},
		{"13a", "midnight-rotation-inside", peak, all(2*l, l, l, l+l/10), "two windows, two budgets, whatever the names"},
		{"16", "script-flush", errored, all(0, 0, 0, 0), "the script is sent again within the call"},
		{"17", "oom", errored, all(l, l, l, l), "who writes first is refused"},
	} {
		b, err := scenarios.BuiltinNamed(row.scenario)
		if err != nil {
			t.Fatal(err)
		}
		p := planIn(t, string(b.Source))
		for i, name := range []string{"fixed", "log", "counter", "gcra"} {
			a, _ := limiter.Named(name)
			j := expect(t, p, a)
			if got := row.of(j); got != row.want[i] {
				t.Errorf("row %s, %s, %s: %d, want %d (%s)", row.row, row.scenario, name, got, row.want[i], row.why)
			}
			if !j.Promise.Kept {
				t.Errorf("row %s, %s, %s: the promise %+v is broken", row.row, row.scenario, name, j.Promise)
			}
		}
	}
}

// A promise is one of a limiter that remembers: each loss may give the limit again.
func TestPromiseGrowsWithLosses(t *testing.T) {
	for _, row := range []struct {
		faults []string
		want   int64
		why    string
	}{
		{nil, 20, "two windows meet"},
		{[]string{"at: during, kind: acl"}, 20, "nothing is lost"},
		{[]string{"at: during, kind: restart"}, 30, "all is lost once"},
		{[]string{"at: during, kind: restart", "at: after, kind: eviction"}, 40, "and again"},
		{[]string{"at: during, kind: outage"}, 30, "once, however long it lasts"},
		{[]string{"at: during, kind: failover"}, 30, "what came last is lost"},
	} {
		p := troubled(t, "", [3]int{1, 1, 1}, row.faults...)
		if got := expect(t, p, limiter.Fixed).Promise.MaxInWindow; got != row.want {
			t.Errorf("%q: expected %d, want %d (%s)", row.faults, got, row.want, row.why)
		}
		c := &oracle.Case{Plan: p, Edge: p.Edge(), Name: "tested", Algorithm: &limiter.Fixed, Results: make(scenarios.ResultList, len(p.Arrivals))}
		for range p.Faults {
			c.Faults = append(c.Faults, scenarios.FaultResult{Made: true, Hits: -1})
		}
		if got := judge(t, c).Promise.MaxInWindow; got != row.want {
			t.Errorf("%q: judged by %d, want %d (%s)", row.faults, got, row.want, row.why)
		}
		clear(c.Faults)
		if got := judge(t, c).Promise.MaxInWindow; got != 20 {
			t.Errorf("%q: judged by %d although nothing was made", row.faults, got)
		}
	}
}

// Retries meet what their instant meets, and policies decide about them too.
func TestExpectRetriesAmongFaults(t *testing.T) {
	p := planIn(t, `version: 1
name: retries
limit: 2/10s
phases:
- {name: a, shape: burst, count: 4, retry: {mode: obey}}
faults:
- {at: edge + 5s, kind: restart}
- {at: edge + 9s, for: 2s, kind: acl}
`)
	// Two at once; the third is told 10 s, meets a server that refuses, and what
	// fails is not sent again; the client goes on with the fourth.
	j := expect(t, p, limiter.Fixed)
	if got := byPhase(j); got != "2/1!1 0!1" {
		t.Errorf("got %s", got)
	}
}

// expect is what oracle.Expect says, which has an error only for a disk that cannot be
// read.
func expect(t interface {
	Helper()
	Fatal(...any)
}, p *scenarios.Plan, a limiter.Algorithm,
) *scenarios.Judgement {
	t.Helper()
	j, err := oracle.Expect(p, a)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
