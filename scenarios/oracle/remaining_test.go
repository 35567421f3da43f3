package oracle_test

import (
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

func TestRemaining(t *testing.T) {
	type said struct {
		event
		left int64
	}
	yes := func(at time.Duration, left int64) said { return said{admitted(at), left} }
	no := func(left, cost int64) said {
		return said{event{at: 9 * us, outcome: scenarios.Denied, cost: cost}, left}
	}
	other := func(s said, key, phase int32) said { s.key, s.phase = key, phase; return s }
	tells := scenarios.Tells{Remaining: true, At: true}
	nothing := func(*oracle.Case) {}
	for _, row := range []struct {
		all    []said
		change func(*oracle.Case)
		want   string
		why    string
	}{
		{[]said{yes(0, 1), yes(0, 0), no(0, 1)}, nothing, passes, "two, one, none"},
		{[]said{yes(0, 7)}, func(c *oracle.Case) { c.Tells.Remaining = false }, silent, "what is not told is not judged"},
		{[]said{{event{outcome: scenarios.Missed}, 7}}, func(c *oracle.Case) { c.Interrupted = true }, "nothing", "nothing was decided"},
		{[]said{yes(0, -1)}, nothing, fails, "less than nothing"},
		{[]said{yes(0, 0)}, nothing, passes, "nothing"},
		{[]said{yes(0, 3)}, nothing, passes, "the limit: who admits without counting is not seen here"},
		{[]said{yes(0, 4)}, nothing, fails, "more than the limit"},
		{[]said{yes(0, 1), no(1, 1)}, nothing, fails, "denied although enough is left"},
		{[]said{yes(0, 1), no(1, 2)}, nothing, passes, "denied because it costs more than is left"},
		{[]said{yes(0, 2), no(2, 2)}, nothing, fails, "exactly as much as is left"},
		{[]said{yes(0, 2), yes(0, 2)}, nothing, fails, "two of one instant that leave the same"},
		{[]said{yes(0, 2), yes(us, 2)}, nothing, passes, "of different instants: something has come back meanwhile"},
		{[]said{yes(0, 2), yes(0, 1), yes(0, 2)}, nothing, fails, "with another between them"},
		{[]said{yes(9*us, 0), no(0, 1), no(0, 1)}, nothing, passes, "denials leave what was there"},
		{[]said{yes(0, 2), other(yes(0, 2), 1, 0)}, nothing, passes, "of two clients"},
		{[]said{yes(0, 2), other(yes(0, 2), 0, 1)}, func(c *oracle.Case) { c.Plan.Phases[1].Pseudonym = 1 }, passes, "of two pseudonyms"},
		{[]said{yes(0, 2), other(yes(0, 2), 0, 1)}, func(c *oracle.Case) { c.Plan.Phases[1].Limit.Max = 9 }, passes, "of two limits"},
		{[]said{yes(0, 2), other(yes(0, 4), 0, 1)}, func(c *oracle.Case) { c.Plan.Phases[1].Limit.Max = 9 }, passes, "more than the scenario's limit, but not than the phase's"},
		{[]said{yes(0, 2), other(yes(0, 3), 0, 1)}, func(c *oracle.Case) { c.Plan.Phases[1].Limit.Max = 2 }, fails, "more than the phase's limit"},
		{[]said{yes(0, 2), yes(0, 2)}, func(c *oracle.Case) { c.Tells.At = false }, passes, "nobody knows whether it was one instant"},
		{[]said{yes(0, 2), yes(0, 2)}, func(c *oracle.Case) { c.Plan.Clock = scenarios.Server }, fails, "a server's instant"},
		{[]said{yes(0, 2), yes(0, 2)}, func(c *oracle.Case) { c.Plan.Clock = scenarios.Client }, passes, "callers' stamps can be overtaken by those of the next window"},
		{[]said{yes(0, 2), yes(0, 2)}, func(c *oracle.Case) {
			c.Plan.Phases[1].Skew = time.Second
		}, passes, "with several clocks too"},
	} {
		c := caseOf(limiter.Limit{Max: 3, Window: time.Minute})
		c.Plan.Keys = 2
		for i, s := range row.all {
			one := caseOf(c.Plan.Limit, s.event)
			held(one)[0].Decision.Remaining = s.left
			held(one)[0].Sent, held(one)[0].Done = time.Duration(10*i)*us, time.Duration(10*i+5)*us
			c.Plan.Arrivals, c.Results = append(c.Plan.Arrivals, one.Plan.Arrivals...), append(held(c), held(one)...)
			held(c)[i].Planned = held(c)[i].Sent
		}
		c.Tells = tells
		row.change(c)
		if row.want == "nothing" {
			if f := finding(t, judge(t, c), "remaining"); f.Check != "" {
				t.Errorf("%s: %+v", row.why, f)
			}
			continue
		}
		only(t, row.why, c, "remaining", row.want)
	}
}
