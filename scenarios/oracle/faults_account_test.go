package oracle_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// Without the control run nobody knows whose doing it was.
func TestControl(t *testing.T) {
	for control, want := range map[scenarios.Verdict][]string{
		"": nil, scenarios.Pass: nil, scenarios.Fail: {"control-failed"}, scenarios.Inconclusive: {"control-failed"},
	} {
		c := broken("aa!aa", false)
		if control != "" {
			c.Control = &scenarios.Judgement{Verdict: control}
		}
		j := judge(t, c)
		if !slices.Equal(codes(j), want) || (j.Verdict == scenarios.Pass) != (want == nil) {
			t.Errorf("control %q: %s, reasons %v, want %v", control, j.Verdict, codes(j), want)
		}
		for _, r := range j.Reasons {
			checkReason(t, r)
		}
	}
}

// What failed while there was trouble on purpose is no lack of evidence; what failed
// before it is, with its own error.
func TestExcusedErrors(t *testing.T) {
	l := limiter.Limit{Max: 5, Window: time.Second}
	c := caseOf(l, admitted(0), event{at: ms, outcome: scenarios.Errored}, event{at: 2 * ms, outcome: scenarios.Unknown}, admitted(3*ms))
	c.Plan.Faults = []scenarios.PlannedFault{{Kind: "outage", At: ms, End: 2 * ms}}
	fault := scenarios.FaultResult{Made: true, Begin: 8 * us, Force: 9 * us, Lift: 28 * us, End: 29 * us, Hits: -1}
	c.Faults = []scenarios.FaultResult{fault}
	j := judge(t, c)
	if f := finding(t, j, "evidence"); f.Verdict != scenarios.Pass || f.Message != "all 4 requests were sent, and 2 failed while there was trouble on purpose" || j.Verdict != scenarios.Pass || j.Measures.Excused != 2 {
		t.Errorf("%+v, %s, %d excused", f, j.Verdict, j.Measures.Excused)
	}
	c.Faults[0].Begin, c.Faults[0].Force = 19*us, 19*us // after the first of them
	held(c)[1].Err = errors.New("by itself")
	j = judge(t, c)
	if f := finding(t, j, "evidence"); f.Message != "tested: 1 of 4 requests were not decided: by itself" || !slices.Equal(codes(j), []string{"errors"}) || j.Phases[0].Excused != 1 {
		t.Errorf("%+v, reasons %v", f, codes(j))
	}
}

// Recovery is from the end of the trouble, or from when somebody asks, to the next
// decision of Redis itself.
func TestRecovery(t *testing.T) {
	fault := func(lift, end time.Duration) scenarios.FaultResult {
		return scenarios.FaultResult{Made: true, Begin: 2 * us, Force: 3 * us, Lift: lift, End: end, Hits: -1}
	}
	failed := fault(10*us, 11*us)
	failed.Err = errors.New("no child")
	for _, row := range []struct {
		faults []scenarios.FaultResult
		want   time.Duration // below zero if there is none
		why    string
	}{
		{nil, -1, "no trouble"},
		{[]scenarios.FaultResult{fault(21*us, 22*us)}, 25 * us, "the first one after it is an error, and the next is Redis's"},
		{[]scenarios.FaultResult{fault(20*us, 22*us)}, 25 * us, "who was sent before the end does not ask"},
		{[]scenarios.FaultResult{fault(30*us, 45*us)}, 10 * us, "sent after the lifting began"},
		{[]scenarios.FaultResult{fault(40*us, 60*us)}, 0, "before it was over"},
		{[]scenarios.FaultResult{fault(41*us, 42*us)}, -1, "nobody came any more"},
		{[]scenarios.FaultResult{fault(0, us), fault(30*us, 31*us)}, 15 * us, "the longest of two"},
		{[]scenarios.FaultResult{failed}, -1, "one that was not made"},
		{[]scenarios.FaultResult{{Begin: 1, Lift: 2, End: 3}}, -1, "one whose time never came"},
	} {
		c := caseOf(limiter.Limit{Max: 9, Window: time.Second}, admitted(0), admitted(ms), admitted(2*ms), event{at: 3 * ms, outcome: scenarios.Errored}, denied(4*ms))
		held(c)[2].Decision.Source, held(c)[2].Decision.Cause = limiter.SourceFailOpen, errors.New("away")
		held(c)[4].Done = 55 * us
		c.Faults = row.faults
		c.Plan.Faults = make([]scenarios.PlannedFault, len(row.faults))
		for i := range c.Plan.Faults {
			c.Plan.Faults[i] = scenarios.PlannedFault{Kind: "outage", End: 1}
		}
		got := time.Duration(-1)
		if r := judge(t, c).Measures.Recovery; r != nil {
			got = *r
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}

// What is counted twice shows in what remains, as far as it can be told.
func TestOvercounted(t *testing.T) {
	type told struct {
		event
		remaining int64
	}
	yes := func(key int32, cost, remaining int64) told {
		return told{event{outcome: scenarios.Admitted, key: key, cost: cost}, remaining}
	}
	no := func(remaining int64) told { return told{event{outcome: scenarios.Denied}, remaining} }
	lost := told{event{outcome: scenarios.Unknown}, 0}
	for _, row := range []struct {
		told   []told
		change func(*oracle.Case)
		want   scenarios.Overcount
		why    string
	}{
		{[]told{yes(0, 1, 9), yes(0, 1, 8)}, nil, scenarios.Overcount{Used: 1, Sent: 1}, "each once"},
		{[]told{yes(0, 1, 9), lost, yes(0, 1, 7)}, nil, scenarios.Overcount{Used: 1, Sent: 1}, "the lost one too"},
		{[]told{yes(0, 1, 9), lost, yes(0, 1, 8)}, nil, scenarios.Overcount{Used: 1, Sent: 1}, "or not"},
		{[]told{lost, yes(0, 1, 6)}, nil, scenarios.Overcount{Used: 4, Sent: 2}, "the lost one three times"},
		{[]told{yes(0, 1, 8)}, nil, scenarios.Overcount{Used: 2, Sent: 1}, "sent twice behind our backs"},
		{[]told{yes(0, 3, 7), yes(0, 2, 5)}, nil, scenarios.Overcount{Used: 3, Sent: 3}, "units, not requests"},
		{[]told{yes(0, 3, 4)}, nil, scenarios.Overcount{Used: 6, Sent: 3}, "all units twice"},
		{[]told{yes(0, 1, 9), no(0)}, nil, scenarios.Overcount{Used: 10, Sent: 1}, "a denial tells too"},
		{[]told{yes(0, 1, 9), yes(1, 1, 8), yes(2, 1, 9)}, nil, scenarios.Overcount{Used: 2, Sent: 1}, "the worst of several clients"},
		{[]told{yes(0, 1, 10), yes(0, 1, 10)}, nil, scenarios.Overcount{}, "who says that nothing is used says nothing"},
		{[]told{no(10)}, nil, scenarios.Overcount{}, "nothing was sent that could be counted"},
		{[]told{yes(0, 1, 9), yes(0, 1, 9)}, nil, scenarios.Overcount{Used: 1, Sent: 1}, "what is forgotten is no proof"},
		{[]told{yes(0, 1, 8)}, func(c *oracle.Case) { c.Plan.Phases[1].Limit.Max = 11 }, scenarios.Overcount{}, "a limit that changes gives units another worth"},
		{[]told{yes(0, 1, 8)}, func(c *oracle.Case) { c.Plan.Phases[1].Skew = us }, scenarios.Overcount{}, "several clocks too"},
		{[]told{yes(0, 1, 8)}, func(c *oracle.Case) { c.Plan.Clock = scenarios.Client }, scenarios.Overcount{}, "the callers' clock too"},
		{[]told{yes(0, 1, 8)}, func(c *oracle.Case) { c.Tells.Remaining = false }, scenarios.Overcount{}, "nothing is told"},
		{[]told{yes(0, 1, 9), yes(0, 1, 8)}, func(c *oracle.Case) {
			held(c)[0].Decision.Source, held(c)[0].Decision.Cause = limiter.SourceFailOpen, errors.New("certainly not counted")
		}, scenarios.Overcount{Used: 2, Sent: 1}, "what the policy admitted was not counted"},
		{[]told{yes(0, 1, 9), yes(0, 1, 8)}, func(c *oracle.Case) {
			held(c)[0].Decision.Source, held(c)[0].Decision.Cause = limiter.SourceFailOpen, limiter.ErrUnknown
		}, scenarios.Overcount{Used: 2, Sent: 2}, "unless its reply was lost"},
		{[]told{yes(0, 1, 9), yes(0, 1, 8)}, func(c *oracle.Case) { held(c)[1].Sent = 1 * us; held(c)[0].Done = 8 * us }, scenarios.Overcount{Used: 2, Sent: 2}, "what was under way can have been counted"},
	} {
		var events []event
		for _, one := range row.told {
			events = append(events, one.event)
		}
		c := caseOf(limiter.Limit{Max: 10, Window: time.Minute}, events...)
		c.Tells = scenarios.TellsAll
		for i, one := range row.told {
			if held(c)[i].Outcome != scenarios.Unknown {
				held(c)[i].Decision.Remaining = one.remaining
			}
		}
		if row.change != nil {
			row.change(c)
		}
		if got := judge(t, c).Measures.Overcounted; got != row.want {
			t.Errorf("%s: %+v, want %+v", row.why, got, row.want)
		}
	}
}

// Two names of a client that a limiter is told together are judged as one; without
// being told they are two, and so are their budgets.
func TestSecondNames(t *testing.T) {
	first := int32(1)
	for _, row := range []struct {
		also   *int32
		shared bool // the limiter counts them together
		want   scenarios.Verdict
		why    string
	}{
		{&first, true, scenarios.Pass, "told, and counted together"},
		{nil, false, scenarios.Pass, "not told, and not counted together"},
		{&first, false, scenarios.Fail, "told, and the old one is forgotten"},
		{nil, true, scenarios.Fail, "not told, and guessed"},
	} {
		l := limiter.Limit{Max: 3, Window: time.Minute}
		c := caseOf(l)
		c.Algorithm, c.Tells = &limiter.Log, scenarios.TellsAll
		c.Plan.Phases[0].Pseudonym, c.Plan.Phases[1].Pseudonym, c.Plan.Phases[1].Also = 1, 2, row.also
		state := limiter.Log.Model.Init()
		for i := range 8 {
			at, phase := time.Duration(i)*us, int32(i/4)
			if i == 4 && !row.shared {
				state = limiter.Log.Model.Init()
			}
			var d limiter.Decision
			state, d = limiter.Log.Model.Step(l, state, limiter.Request{At: edge.Add(at), Cost: 1})
			c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{At: at, Cost: 1, Phase: phase})
			c.Results = append(held(c), scenarios.Result{
				Sent: 10 * at, Done: 10*at + 5*us, Decision: d, Outcome: map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed],
			})
			c.Plan.Phases[phase].Planned++
		}
		j := judge(t, c)
		if f := finding(t, j, "conformance"); f.Verdict != row.want {
			t.Errorf("%s: %+v", row.why, f)
		}
		// Two budgets of one identity are more than a log promises.
		if f := finding(t, j, "promise"); (f.Verdict == scenarios.Fail) != (row.also != nil && !row.shared) {
			t.Errorf("%s: %+v", row.why, f)
		}
	}
}
