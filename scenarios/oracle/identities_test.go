package oracle_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// A client that changes its name is still one client: what it got in all is
// measured, while a promise is made to a name.
func TestPseudonyms(t *testing.T) {
	l := limiter.Limit{Max: 2, Window: time.Minute}
	second := func(e event) event { e.phase = 1; return e }
	c := caseOf(l, admitted(0), admitted(0), second(admitted(ms)), second(admitted(ms)), second(denied(ms)))
	c.Plan.Phases[1].Pseudonym = 7
	a := limiter.Log
	c.Algorithm = &a
	j := judge(t, c)
	if m := j.Measures; m.PeakInWindow != 4 || m.PeakInShort != 4 || m.WrongAdmissions != 2 || m.WrongDenials != 0 {
		t.Errorf("the client: peak %d, short %d, wrong %d and %d; want 4, 4, 2 and 0", m.PeakInWindow, m.PeakInShort, m.WrongAdmissions, m.WrongDenials)
	}
	if p := j.Promise; *p != (scenarios.Promise{MaxInWindow: 2, Admitted: 2, Kept: true}) {
		t.Errorf("each name: %+v, want 2 of 2", p)
	}
	c.Plan.Phases[1].Pseudonym = 0
	if p := judge(t, c).Promise; *p != (scenarios.Promise{MaxInWindow: 2, Admitted: 4, Kept: false}) {
		t.Errorf("one name: %+v, want 4 of 2", p)
	}
}

// A caller's clock is wrong by its skew: what it stamps is not when it was.
func TestSkewIsTakenOffStamps(t *testing.T) {
	l := limiter.Limit{Max: 1, Window: time.Minute}
	for _, row := range []struct {
		clock scenarios.Clock
		peak  int64
		first time.Duration // of the second phase's decision
		why   string
	}{
		{scenarios.Virtual, 2, time.Second, "stamped 61 s, by a clock that is a minute ahead"},
		{scenarios.Client, 2, time.Second, "the same in real time"},
		{scenarios.Server, 1, 61 * time.Second, "by the server's clock it really was 61 s"},
	} {
		c := caseOf(l, admitted(0), event{at: 61 * time.Second, outcome: scenarios.Admitted, phase: 1})
		c.Plan.Clock, c.Plan.Phases[1].Skew = row.clock, time.Minute
		a := limiter.Log
		c.Algorithm = &a
		j := judge(t, c)
		if j.Measures.PeakInWindow != row.peak || j.Phases[1].First != row.first || j.Measures.LastAdmitted != row.first || j.Phases[1].FirstAdmitted != row.first {
			t.Errorf("%s: peak %d, decided at %s, last admitted at %s; want %d and %s",
				row.why, j.Measures.PeakInWindow, j.Phases[1].First, j.Measures.LastAdmitted, row.peak, row.first)
		}
		if promised := j.Promise != nil; promised != (row.clock == scenarios.Server) {
			t.Errorf("%s: promise %+v; it holds for one clock only", row.why, j.Promise)
		}
	}
}

// Each decision is held against the limit of its phase.
func TestLimitsOfPhases(t *testing.T) {
	second := func(e event) event { e.phase = 1; return e }
	for _, row := range []struct {
		first, second int64
		events        []event
		wrong         [2]int64
		promised      int64
		over          scenarios.Verdict
		why           string
	}{
		{3, 1, []event{admitted(0), admitted(0), second(denied(ms))}, [2]int64{0, 0}, 3, scenarios.Pass, "cut from three to one: two are too many already"},
		{3, 1, []event{admitted(0), admitted(0), second(admitted(ms))}, [2]int64{1, 0}, 3, scenarios.Pass, "so another is wrong, though three were allowed before"},
		{1, 3, []event{admitted(0), second(denied(ms))}, [2]int64{0, 1}, 3, scenarios.Pass, "raised from one to three: there is room for two"},
		{1, 3, []event{admitted(0), second(admitted(ms)), second(admitted(ms))}, [2]int64{0, 0}, 3, scenarios.Pass, "and both get it"},
		{1, 3, []event{admitted(0), second(admitted(ms)), second(admitted(ms)), second(admitted(ms))}, [2]int64{1, 0}, 3, scenarios.Fail, "a third does not"},
	} {
		c := caseOf(limiter.Limit{Max: 1, Window: time.Minute}, row.events...)
		c.Plan.Phases[0].Limit.Max, c.Plan.Phases[1].Limit.Max = row.first, row.second
		a := limiter.Log
		c.Algorithm, c.MaxOvershoot = &a, new(big.Rat)
		j := judge(t, c)
		if got := [2]int64{j.Measures.WrongAdmissions, j.Measures.WrongDenials}; got != row.wrong {
			t.Errorf("%s: wrong %v, want %v", row.why, got, row.wrong)
		}
		if j.Promise.MaxInWindow != row.promised || j.Phases[0].Limit != row.first || j.Phases[1].Limit != row.second || j.Measures.Limit != 1 {
			t.Errorf("%s: promise %+v, limits %d, %d and %d", row.why, j.Promise, j.Phases[0].Limit, j.Phases[1].Limit, j.Measures.Limit)
		}
		if f := finding(t, j, "max-overshoot"); f.Verdict != row.over {
			t.Errorf("%s: %+v, want %s of the larger limit", row.why, f, row.over)
		}
	}
}

// Retries are requests, but not what was wanted.
func TestWanted(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 1, Window: time.Minute}, admitted(0), denied(0), event{outcome: scenarios.Missed}, event{at: ms, outcome: scenarios.Denied, phase: 1})
	c.Plan.Phases[1].RetryOf = "first"
	j := judge(t, c)
	if j.Measures.Planned != 4 || j.Measures.Wanted != 3 || j.Phases[0].Wanted != 3 || j.Phases[1].Wanted != 0 {
		t.Errorf("planned %d, wanted %d: %d and %d; want 4, 3: 3 and 0", j.Measures.Planned, j.Measures.Wanted, j.Phases[0].Wanted, j.Phases[1].Wanted)
	}
}

// Without a model's help nobody accuses a limiter that does not tell when it
// decided: two admissions can be as much further apart as each took.
func TestPromiseOfWhoTellsNoInstant(t *testing.T) {
	for _, row := range []struct {
		tells bool
		clock scenarios.Clock
		took  time.Duration
		want  scenarios.Verdict
		why   string
	}{
		{true, scenarios.Server, 20 * ms, scenarios.Fail, "it told that they were 10 ms less than a window apart"},
		{false, scenarios.Server, 20 * ms, scenarios.Inconclusive, "they can have been a window apart"},
		{false, scenarios.Server, 10 * ms, scenarios.Inconclusive, "exactly a window"},
		{false, scenarios.Server, 10*ms - us, scenarios.Fail, "they cannot"},
		{false, scenarios.Client, 20 * ms, scenarios.Fail, "callers said when"},
		{false, scenarios.Virtual, 20 * ms, scenarios.Fail, "the plan said when"},
	} {
		c := caseOf(limiter.Limit{Max: 1, Window: time.Second}, admitted(0), admitted(990*ms))
		a := limiter.Log
		c.Algorithm, c.Tells.At, c.Plan.Clock = &a, row.tells, row.clock
		for i := range held(c) {
			r := &held(c)[i]
			r.Planned, r.Sent, r.Done = c.Plan.Arrivals[i].At, c.Plan.Arrivals[i].At, c.Plan.Arrivals[i].At+row.took
		}
		j := judge(t, c)
		if f := finding(t, j, "promise"); f.Verdict != row.want || j.Promise.Kept != (row.want != scenarios.Fail) || j.Promise.Admitted != 2 {
			t.Errorf("%s: %+v, %+v, want %s", row.why, f, j.Promise, row.want)
		}
		if doubted := slices.Contains(codes(j), "instants-unknown"); doubted != (row.want == scenarios.Inconclusive) {
			t.Errorf("%s: reasons %v", row.why, codes(j))
		}
		for _, reason := range j.Reasons {
			checkReason(t, reason)
		}
	}
}

// What a limiter tells is judged, to its unit, and nothing else.
func TestConformanceToWhatIsTold(t *testing.T) {
	l := limiter.Limit{Max: 1, Window: time.Minute}
	// Admitted at 0, and denied 500.1 ms later: 59.4999 s are left, 60 in seconds.
	told := func(tells scenarios.Tells, retry, reset time.Duration, remaining int64) *oracle.Case {
		c := answered(limiter.Log, l, request{}, request{at: 500100 * us, sent: us, done: us})
		c.Tells = tells
		d := &held(c)[1].Decision
		d.RetryAfter, d.ResetAfter, d.Remaining = retry, reset, remaining
		return c
	}
	const wait = 59499900 * us
	everything := scenarios.Tells{At: true, Remaining: true, Retry: us, Reset: us}
	for _, row := range []struct {
		c    *oracle.Case
		want string
		why  string
	}{
		{told(everything, wait, wait, 0), passes, "all of it"},
		{told(scenarios.Tells{At: true}, 7, 7, 0), passes, "waits that are not told"},
		{told(scenarios.Tells{At: true, Remaining: true, Retry: us}, wait, 0, 0), passes, "no reset"},
		{told(scenarios.Tells{At: true, Retry: time.Second}, time.Minute, 0, 0), passes, "rounded up to seconds"},
		{told(scenarios.Tells{At: true, Retry: time.Second}, 59*time.Second, 0, 0), fails, "rounded down: it would be denied again"},
		{told(scenarios.Tells{At: true, Retry: time.Second}, wait, 0, 0), fails, "not rounded"},
		{told(scenarios.Tells{At: true, Retry: ms}, 59500*ms, 0, 0), passes, "to milliseconds"},
		{told(scenarios.Tells{At: true, Reset: time.Second}, 0, 61*time.Second, 0), fails, "a second too much"},
		{told(scenarios.Tells{At: true, Reset: time.Second}, 0, time.Minute, 0), passes, "reset in seconds"},
		{told(scenarios.Tells{At: true, Retry: time.Second}, limiter.Never, 0, 0), fails, "never"},
		{told(scenarios.Tells{At: true}, wait, wait, 1), passes, "a remainder that is not told"},
	} {
		only(t, row.why, row.c, "conformance", row.want)
	}
	blind := told(scenarios.Tells{}, 0, 0, 0)
	f := finding(t, judge(t, blind), "conformance")
	if j := judge(t, blind); j.Verdict != scenarios.Pass || f.Verdict != scenarios.Inconclusive || !f.Warn {
		t.Errorf("no instant is told: verdict %s, %+v, want a doubt that decides nothing", j.Verdict, f)
	}
	if text := strings.Join(finding(t, judge(t, told(scenarios.Tells{At: true, Retry: time.Second}, wait, 0, 0)), "conformance").Evidence, "\n"); strings.Contains(text, "remaining") || strings.Contains(text, "reset") {
		t.Errorf("the evidence tells what nobody told:\n%s", text)
	}
}

func TestMoreEvidence(t *testing.T) {
	for _, row := range []struct {
		change func(*oracle.Case)
		code   string
		text   string
		why    string
	}{
		{func(*oracle.Case) {}, "", "", "nothing"},
		{func(c *oracle.Case) { c.Curbed = true }, "retries-curbed", "gave up after 1000000 retries", "nobody knows what would have come after"},
		{func(c *oracle.Case) { c.Curbed, c.Interrupted = true, true }, "interrupted", "interrupted after 1 of 1", "who stopped it did not wait for that"},
		{func(c *oracle.Case) { c.Stuck, c.Lost = "Redis was told to end it", errors.New("BUSY") }, "script-stuck", "Redis was told to end it", "a loop in a script, which is why it was lost"},
	} {
		c := caseOf(limiter.Limit{Max: 3, Window: time.Minute}, admitted(0))
		row.change(c)
		j := judge(t, c)
		var want []string
		if row.code != "" {
			want = []string{row.code}
		}
		if diff := cmp.Diff(want, codes(j)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
			continue
		}
		for _, reason := range j.Reasons {
			checkReason(t, reason)
			if !strings.Contains(reason.Message, row.text) {
				t.Errorf("%s: %q, want %q", row.why, reason.Message, row.text)
			}
		}
	}
}

// Latencies are collected where somebody asks for them.
func TestLatencies(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 9, Window: time.Second}, admitted(0), denied(0), event{outcome: scenarios.Unknown}, event{outcome: scenarios.Admitted, phase: 1})
	for i := range held(c) {
		r := &held(c)[i]
		r.Planned, r.Sent, r.Done = 0, time.Duration(i)*us, time.Duration(i)*us+time.Duration(9-i)*ms
	}
	if m := judge(t, c).Measures; m.Service != nil || m.Response != nil {
		t.Errorf("nobody asks: %v, %v", m.Service, m.Response)
	}
	c.Checks = []scenarios.Check{parsed(t, "service_max <= 9ms")}
	j := judge(t, c)
	if want := []time.Duration{6 * ms, 8 * ms, 9 * ms}; !slices.Equal(j.Measures.Service, want) || j.Measures.Response != nil {
		t.Errorf("in virtual time: %v, %v, want %v of those that were decided, and no response times", j.Measures.Service, j.Measures.Response, want)
	}
	c.Plan.Clock = scenarios.Server
	j = judge(t, c)
	if want := []time.Duration{6*ms + 3*us, 8*ms + us, 9 * ms}; !slices.Equal(j.Measures.Response, want) || len(j.Phases[1].Response) != 1 {
		t.Errorf("in real time: %v, want %v; and %v of the second phase", j.Measures.Response, want, j.Phases[1].Response)
	}
}

// A crowd counts whoever came, whatever became of it, and of all clients.
func TestCrowd(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 9, Window: ms}, admitted(0), event{at: 32 * us, outcome: scenarios.Errored, key: 1}, event{at: 33 * us, outcome: scenarios.Denied, phase: 1},
		event{at: 33 * us, outcome: scenarios.Missed})
	j := judge(t, c)
	if j.Measures.Crowd != 2 || j.Phases[0].Crowd != 2 || j.Phases[1].Crowd != 1 {
		t.Errorf("crowds of %d, %d and %d; want 2, 2 and 1: the short span is (t-33µs, t]", j.Measures.Crowd, j.Phases[0].Crowd, j.Phases[1].Crowd)
	}
	c.Plan.Clock = scenarios.Server // sent at 0, 10 and 20 µs
	if got := judge(t, c).Measures.Crowd; got != 3 {
		t.Errorf("in real time a crowd of %d, want 3: what counts is when they were sent", got)
	}
}

// A promise is made for stamps in order. Where callers stamp, and requests of
// other stamps overlapped, a promise that seems broken may have been kept.
func TestPromiseWhereStampsMayBeOutOfOrder(t *testing.T) {
	for _, row := range []struct {
		at         []time.Duration // of an instant each
		sent, done []time.Duration
		want       scenarios.Verdict
		why        string
	}{
		{[]time.Duration{0, ms}, []time.Duration{0, 10 * us}, []time.Duration{9 * us, 20 * us}, scenarios.Fail, "one after the other"},
		{[]time.Duration{0, ms}, []time.Duration{0, 10 * us}, []time.Duration{10 * us, 20 * us}, scenarios.Inconclusive, "the second may have been decided first"},
		{[]time.Duration{ms, 0}, []time.Duration{0, 10 * us}, []time.Duration{9 * us, 20 * us}, scenarios.Inconclusive, "a stamp went back"},
		{[]time.Duration{0, 0}, []time.Duration{0, 10 * us}, []time.Duration{15 * us, 20 * us}, scenarios.Fail, "of equal stamps the order is no question"},
		{[]time.Duration{0, 0, ms}, []time.Duration{0, 0, 10 * us}, []time.Duration{15 * us, 5 * us, 20 * us}, scenarios.Inconclusive, "one of two equal stamps was still on its way"},
		{[]time.Duration{0, 0, ms}, []time.Duration{0, 0, 10 * us}, []time.Duration{5 * us, 15 * us, 20 * us}, scenarios.Inconclusive, "or the other"},
	} {
		c := caseOf(limiter.Limit{Max: 1, Window: time.Second})
		a := limiter.Log
		c.Algorithm, c.Plan.Clock = &a, scenarios.Client
		for i := range row.at {
			one := caseOf(c.Plan.Limit, admitted(row.at[i]))
			held(one)[0].Planned, held(one)[0].Sent, held(one)[0].Done = row.sent[i], row.sent[i], row.done[i]
			c.Plan.Arrivals, c.Results = append(c.Plan.Arrivals, one.Plan.Arrivals...), append(held(c), held(one)...)
		}
		// It does not tell by which instant it decides, so no model can tell more.
		if f := finding(t, judge(t, c), "promise"); f.Verdict != row.want {
			t.Errorf("%s: %+v, want %s", row.why, f, row.want)
		}
	}
}
