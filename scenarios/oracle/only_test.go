package oracle_test

import (
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// What a check says of a case.
const (
	passes = "passes"
	fails  = "fails"
	warns  = "warns" // fails without changing the verdict
	silent = "silent"
)

// only demands what one check says of a case, and that no other one finds
// anything. It returns the finding.
func only(t *testing.T, why string, c *oracle.Case, check, want string) scenarios.Finding {
	t.Helper()
	j := judge(t, c)
	for _, f := range j.Findings {
		if f.Check != check && f.Verdict != scenarios.Pass {
			t.Errorf("%s: another check found something: %+v", why, f)
		}
	}
	f, got := finding(t, j, check), silent
	switch {
	case f.Verdict == scenarios.Fail && f.Warn:
		got = warns
	case f.Verdict == scenarios.Fail:
		got = fails
	case f.Verdict == scenarios.Pass:
		got = passes
	case f.Check != "":
		got = string(f.Verdict)
	}
	if got != want {
		t.Errorf("%s: %s %s, want that it %s: %+v", why, check, got, want, f)
	}
	if worst := (want == fails); worst != (j.Verdict == scenarios.Fail) {
		t.Errorf("%s: the verdict is %s", why, j.Verdict)
	}
	return f
}

// request is one request of a history that a model answers.
type request struct {
	at         time.Duration // stamp, from the edge
	sent, done time.Duration
	cost       int64 // 0 means 1
	key        int32
	phase      int32
}

// answered is a sound history: the model decides the requests in their order.
func answered(a limiter.Algorithm, l limiter.Limit, requests ...request) *oracle.Case {
	c := caseOf(l)
	c.Algorithm, c.Tells = &a, scenarios.TellsAll
	states := map[int32]any{}
	for _, r := range requests {
		if states[r.key] == nil {
			states[r.key] = a.Model.Init()
		}
		state, d := a.Model.Step(l, states[r.key], limiter.Request{At: edge.Add(r.at), Cost: r.cost})
		states[r.key] = state
		outcome := map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed]
		c.Plan.Keys = max(c.Plan.Keys, int(r.key)+1)
		c.Plan.Phases[r.phase].Planned++
		c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{At: r.at, Cost: max(r.cost, 1), Key: r.key, Phase: r.phase})
		c.Results = append(held(c), scenarios.Result{Planned: r.sent, Sent: r.sent, Done: r.done, Outcome: outcome, Decision: d})
	}
	return c
}

// changed is a case with something else about it.
func changed(c *oracle.Case, change func(*oracle.Case)) *oracle.Case {
	change(c)
	return c
}
