package oracle_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// answer is an error that the server answered with.
type answer struct{}

func (answer) Error() string { return "ERR state is gone" }
func (answer) RedisError()   {}

// A limiter that does not come back after a fault is not excused by it: when time
// is virtual by nothing, and in real time not if it is the server that answers so.
func TestNeverComesBack(t *testing.T) {
	for _, row := range []struct {
		clock   scenarios.Clock
		err     error
		excused bool
		why     string
	}{
		{scenarios.Virtual, errors.New("broken pipe"), false, "virtual time waits for everybody"},
		{scenarios.Virtual, answer{}, false, "and for the server"},
		{scenarios.Server, errors.New("broken pipe"), true, "a connection has to be made again"},
		{scenarios.Server, answer{}, false, "it is made, and the limiter does not work"},
	} {
		c := broken("aa!aa", false)
		c.Plan.Clock, c.Algorithm = row.clock, nil
		for i := 2; i < 4; i++ {
			held(c)[i].Outcome, held(c)[i].Decision, held(c)[i].Err = scenarios.Errored, limiter.Decision{}, row.err
		}
		j := judge(t, c)
		if got := !slices.Contains(codes(j), "errors"); got != row.excused {
			t.Errorf("%s clock, %v: excused %t, want %t (%s)", row.clock, row.err, got, row.excused, row.why)
		}
	}
}

// A fault that could not be put in force took nothing away: the limiter has to
// remember, and may not admit more.
func TestFailedFaultLosesNothing(t *testing.T) {
	for _, letters := range []string{"aaa!aa", "a<a>aaa"} {
		for _, remembers := range []bool{true, false} {
			c := broken(letters, remembers)
			c.Faults[0].Failed, c.Faults[0].Err = true, errors.New("no child")
			j := judge(t, c)
			want := map[bool]scenarios.Verdict{true: scenarios.Pass, false: scenarios.Fail}[remembers]
			if f := finding(t, j, "conformance"); f.Verdict != want {
				t.Errorf("%s, remembers %t: %+v, want %s", letters, remembers, f, want)
			}
			if j.Promise.MaxInWindow != 6 || j.Measures.LostTail != 0 || j.Measures.Recovery != nil {
				t.Errorf("%s: promise %d, lost tail %d, recovery %v", letters, j.Promise.MaxInWindow, j.Measures.LostTail, j.Measures.Recovery)
			}
		}
	}
}

// A request whose reply was lost before a failover may be on the replica.
func TestLostReplyBeforeAFailover(t *testing.T) {
	c := broken("aa<a>aa", false)
	held(c)[1].Outcome, held(c)[1].Decision, held(c)[1].Err = scenarios.Unknown, limiter.Decision{}, limiter.ErrUnknown
	c.Plan.Faults = append(c.Plan.Faults, scenarios.PlannedFault{Kind: "lost-reply", At: 15 * us, End: 25 * us})
	c.Faults = append(c.Faults, scenarios.FaultResult{Made: true, Begin: 15 * us, Force: 15 * us, Lift: 25 * us, End: 25*us + time.Nanosecond, Hits: 1})
	if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Pass {
		t.Errorf("%+v", f)
	}
}
