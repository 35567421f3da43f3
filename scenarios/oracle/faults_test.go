package oracle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// broken is a history of single requests, 10 µs apart, under a limit of 3. Of its
// letters "a" is a request; "!" loses everything; "<" begins and ">" ends a failover,
// which loses what came in between. The limiter forgets what it is said to forget,
// unless it remembers.
func broken(letters string, remembers bool) *oracle.Case {
	l := limiter.Limit{Max: 3, Window: time.Minute}
	c := caseOf(l)
	c.Algorithm, c.Tells = &limiter.Fixed, scenarios.TellsAll
	state, before := limiter.Fixed.Model.Init(), limiter.Fixed.Model.Init()
	now := time.Duration(0)
	for _, letter := range letters {
		now += 10 * us
		switch letter {
		case 'a':
			var d limiter.Decision
			state, d = c.Algorithm.Model.Step(l, state, limiter.Request{At: edge.Add(now), Cost: 1})
			c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{At: now, Cost: 1})
			c.Results = append(held(c), scenarios.Result{
				Planned: now, Sent: now, Done: now + 5*us, Decision: d, Outcome: map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed],
			})
		case '!':
			if !remembers {
				state = c.Algorithm.Model.Init()
			}
			c.Plan.Faults = append(c.Plan.Faults, scenarios.PlannedFault{Kind: "restart", At: now, End: now})
			c.Faults = append(c.Faults, scenarios.FaultResult{Made: true, Begin: now, Force: now + 3*us, Lift: now + 4*us, End: now + 5*us, Hits: -1})
		case '<':
			before = state
			c.Plan.Faults = append(c.Plan.Faults, scenarios.PlannedFault{Kind: "failover", At: now, End: now + 1})
			c.Faults = append(c.Faults, scenarios.FaultResult{Made: true, Begin: now, Force: now + 5*us, Hits: -1})
		case '>':
			if !remembers {
				state = before
			}
			f := &c.Faults[len(c.Faults)-1]
			f.Lift, f.End = now, now+5*us
			c.Plan.Faults[len(c.Faults)-1].End = now
		}
	}
	c.Plan.Phases[0].Planned = int64(len(held(c)))
	return c
}

// What was lost begins anew, and only that: each life has to be a history of the
// model by itself.
func TestLives(t *testing.T) {
	for _, row := range []struct {
		letters    string
		remembered scenarios.Verdict // of a limiter that forgets nothing, though it had to
		why        string
	}{
		{"aaaa!aaaa", scenarios.Fail, "all is lost in the middle"},
		{"!aaaa", scenarios.Pass, "nothing was there to lose"},
		{"aaaa!", scenarios.Pass, "nobody came after it"},
		{"a!a!a!a", scenarios.Fail, "again and again"},
		{"aa!!aa", scenarios.Fail, "twice in a row"},
		{"a<a>aaa", scenarios.Fail, "the second is lost, the first is not"},
		{"<aa>aaaa", scenarios.Fail, "all of it came after the cut"},
		{"aa<>aaa", scenarios.Pass, "nothing was written meanwhile"},
		{"aaa<aa>a", scenarios.Pass, "only denials were lost"},
		{"a<a>a<a>aa", scenarios.Fail, "twice: what was kept by the first can be lost by the second"},
		{"aa<a>a!aaa", scenarios.Fail, "and then everything"},
	} {
		for _, clock := range []scenarios.Clock{scenarios.Virtual, scenarios.Server, scenarios.Client} {
			c := broken(row.letters, false)
			c.Plan.Clock = clock
			if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Pass {
				t.Errorf("%s, %s clock: %+v (%s)", row.letters, clock, f, row.why)
			}
			c = broken(row.letters, true)
			c.Plan.Clock = clock
			if f := finding(t, judge(t, c), "conformance"); f.Verdict != row.remembered {
				t.Errorf("%s, %s clock, nothing forgotten: %+v, want %s (%s)", row.letters, clock, f, row.remembered, row.why)
			}
		}
		// Without a fault that explains it, forgetting is wrong.
		c := broken(row.letters, false)
		c.Plan.Faults, c.Faults = nil, nil
		if f := finding(t, judge(t, c), "conformance"); f.Verdict != row.remembered {
			t.Errorf("%s, no fault is told: %+v, want %s", row.letters, f, row.remembered)
		}
		// Nor does one whose time never came.
		c = broken(row.letters, false)
		for i := range c.Faults {
			c.Faults[i] = scenarios.FaultResult{}
		}
		if f := finding(t, judge(t, c), "conformance"); f.Verdict != row.remembered {
			t.Errorf("%s, no fault was made: %+v, want %s", row.letters, f, row.remembered)
		}
	}
}

// Who was in flight while state was lost may have been before it or after it: that
// is no proof against anybody, and no reason to doubt the rest.
func TestLivesOfWhoWasInFlight(t *testing.T) {
	for _, row := range []struct {
		letters string
		change  func(*oracle.Case)
		want    scenarios.Verdict // of a decision that contradicts the lives
		why     string
	}{
		{"aaaa!aaaa", func(*oracle.Case) {}, scenarios.Fail, "nobody was"},
		{"aaaa!aaaa", func(c *oracle.Case) { held(c)[3].Done = c.Faults[0].Begin }, scenarios.Fail, "one was just over"},
		{"aaaa!aaaa", func(c *oracle.Case) { held(c)[3].Done = c.Faults[0].Begin + us }, scenarios.Inconclusive, "one was sent before it and over after it"},
		{"aaaa!aaaa", func(c *oracle.Case) { held(c)[4].Sent = c.Faults[0].Begin + us }, scenarios.Inconclusive, "one was sent while the old server still answered"},
		{"aaaa!aaaa", func(c *oracle.Case) { held(c)[4].Sent = c.Faults[0].Force }, scenarios.Fail, "one was sent when it was done"},
		{"aa<aa>aa", func(c *oracle.Case) { held(c)[1].Done = c.Faults[0].Begin + us }, scenarios.Inconclusive, "one was over after the cut: perhaps the replica has it"},
		{"aa<aa>aa", func(c *oracle.Case) { held(c)[3].Done = c.Faults[0].Lift + us }, scenarios.Inconclusive, "one was in flight while the replica took over"},
		{"aa<aa>aa", func(c *oracle.Case) { held(c)[4].Sent = c.Faults[0].End - us }, scenarios.Inconclusive, "the same, sent while it did"},
		{"aa<aa>aa", func(c *oracle.Case) { held(c)[4].Sent = c.Faults[0].End }, scenarios.Fail, "it was there"},
	} {
		c := broken(row.letters, true)
		c.Plan.Clock = scenarios.Client
		row.change(c)
		j := judge(t, c)
		f := finding(t, j, "conformance")
		if f.Verdict != row.want || row.want == scenarios.Inconclusive && (!f.Warn || j.Verdict != scenarios.Pass) {
			t.Errorf("%s: %+v and %s, want %s (%s)", row.letters, f, j.Verdict, row.want, row.why)
		}
	}
}

// In real time nobody knows by which instant a lost request would have been
// decided. If it was lost on purpose that is a warning; if not, it is a doubt.
func TestLostRepliesInRealTime(t *testing.T) {
	for _, row := range []struct {
		made    bool
		verdict scenarios.Verdict
		reasons []string
	}{
		{true, scenarios.Pass, nil},
		{false, scenarios.Inconclusive, []string{"fault-missed", "errors", "unknown-outcomes"}},
	} {
		c := broken("aaaa", false)
		c.Plan.Clock = scenarios.Server
		c.Plan.Faults = []scenarios.PlannedFault{{Kind: "lost-reply", End: time.Second}}
		c.Faults = []scenarios.FaultResult{{Made: row.made, End: time.Second, Hits: map[bool]int64{true: 1}[row.made]}}
		held(c)[1].Outcome, held(c)[1].Decision, held(c)[1].Err = scenarios.Unknown, limiter.Decision{}, limiter.ErrUnknown
		j := judge(t, c)
		f := finding(t, j, "conformance")
		if f.Verdict != scenarios.Inconclusive || f.Warn != row.made {
			t.Errorf("made %t: %+v", row.made, f)
		}
		if j.Verdict != row.verdict || !slices.Equal(codes(j), row.reasons) {
			t.Errorf("made %t: %s, reasons %v, want %s and %v", row.made, j.Verdict, codes(j), row.verdict, row.reasons)
		}
	}
}

// Every way in which a fault can have gone, and what is said of it.
func TestFaults(t *testing.T) {
	const never = time.Duration(0)
	kill := func(err error) func(*oracle.Case) { return func(c *oracle.Case) { c.Faults[0].Err = err } }
	for _, row := range []struct {
		letters string
		change  func(*oracle.Case)
		verdict scenarios.Verdict
		code    string
		message string
		why     string
	}{
		{"aa!aaa", nil, scenarios.Pass, "", "tested: fault restart at edge+30µs hit 3 requests", "an instant is met by all who come later"},
		{"aa<a>aaa", nil, scenarios.Pass, "", "tested: fault failover at edge+30µs hit 1 request; admissions that were lost: 1", "one that lasts by those who come meanwhile"},
		{"aa<a>aaa", func(c *oracle.Case) { c.Faults[0].Hits = 7 }, scenarios.Pass, "", "tested: fault failover at edge+30µs hit 7 requests; admissions that were lost: 1", "what knows its hits is believed"},
		{"aa<a>aaa", func(c *oracle.Case) { c.Faults[0].Hits = 0 }, scenarios.Inconclusive, "fault-missed", "tested: fault failover at edge+30µs hit nobody", "also if it says none"},
		{"aa!", nil, scenarios.Inconclusive, "fault-missed", "tested: fault restart at edge+30µs hit nobody", "nobody came later"},
		{"aa<>aa", nil, scenarios.Inconclusive, "fault-missed", "tested: fault failover at edge+30µs hit nobody", "nobody came meanwhile"},
		{"aa!aa", func(c *oracle.Case) { c.Faults[0] = scenarios.FaultResult{Hits: -1, Begin: never} }, scenarios.Inconclusive, "fault-missed", "tested: fault restart at edge+30µs hit nobody", "its time never came"},
		{"aa!aa", kill(errors.New("no child")), scenarios.Inconclusive, "fault-failed", "tested: fault restart at edge+30µs: no child", "it could not be made"},
		{"aa!aa", kill(fmt.Errorf("inject: %w", errors.ErrUnsupported)), scenarios.Inconclusive, "fault-unsupported", "tested: fault restart at edge+30µs: inject: unsupported operation", "it cannot be made here"},
		{"aa!aa", func(c *oracle.Case) { c.Interrupted = true }, "", "interrupted", "", "an interrupt has been told"},
		{"aa!aa", func(c *oracle.Case) { c.Lost = errors.New("gone") }, "", "target-lost", "", "a lost target too"},
		{"aa!aa", func(c *oracle.Case) { c.Faults = nil; c.Interrupted = true }, "", "interrupted", "", "a case that had no turn has no faults"},
	} {
		c := broken(row.letters, false)
		if row.change != nil {
			row.change(c)
		}
		if row.code == "fault-missed" || strings.HasPrefix(row.code, "fault-") {
			c.Algorithm = nil // what was lost is another matter
		}
		j := judge(t, c)
		f := finding(t, j, "faults")
		if f.Verdict != row.verdict || f.Message != row.message {
			t.Errorf("%s: %+v, want %s %q (%s)", row.letters, f, row.verdict, row.message, row.why)
		}
		if got := codes(j); row.code == "" && len(got) > 0 || row.code != "" && !slices.Equal(got, []string{row.code}) {
			t.Errorf("%s: reasons %v, want %q (%s)", row.letters, got, row.code, row.why)
		}
		for _, r := range j.Reasons {
			checkReason(t, r)
		}
	}
}

// byPolicy is a decision of a failure policy.
func byPolicy(source limiter.Source, cause error) scenarios.Result {
	allowed := source == limiter.SourceFailOpen
	return scenarios.Result{
		Decision: limiter.Decision{Allowed: allowed, Source: source, Cause: cause, At: edge},
		Outcome:  map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[allowed],
	}
}

// What Redis did not decide has to be decided as was chosen.
func TestPolicy(t *testing.T) {
	away := errors.New("dial: refused")
	open, closed, local := byPolicy(limiter.SourceFailOpen, away), byPolicy(limiter.SourceFailClosed, away), byPolicy(limiter.SourceLocal, away)
	turned := func(r scenarios.Result) scenarios.Result { // the opposite, by the same source
		r.Decision.Allowed = !r.Decision.Allowed
		r.Outcome = map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[r.Decision.Allowed]
		return r
	}
	failed := scenarios.Result{Outcome: scenarios.Errored, Err: away}
	unknown := scenarios.Result{Outcome: scenarios.Unknown, Err: limiter.ErrUnknown}
	for _, row := range []struct {
		chosen string
		result scenarios.Result
		want   string
		text   string // of the message or of the evidence
		why    string
	}{
		{"open", open, passes, `1 decision by the failure policy "open", all as chosen`, "open admits"},
		{"closed", closed, passes, "all as chosen", "closed denies"},
		{"local", local, passes, "all as chosen", "local denies"},
		{"local", turned(local), passes, "all as chosen", "or admits"},
		{"open", closed, fails, `tested does not follow its failure policy "open" in 1 decision`, "another policy"},
		{"closed", open, fails, "at edge+100ms: allowed, decided by fail-open", "told to deny, it admits"},
		{"open", turned(open), fails, "denied, decided by fail-open", "it says that it is open, and denies"},
		{"closed", turned(closed), fails, "allowed, decided by fail-closed", "it says that it is closed, and admits"},
		{"local", open, fails, "decided by fail-open", "no cap at all"},
		{"open", byPolicy(limiter.SourceFailOpen, nil), fails, "decided by fail-open, and no cause is told", "why was Redis not asked?"},
		{"open", failed, fails, `tested returned 1 error although its failure policy is "open"`, "an error in spite of it"},
		{"closed", unknown, fails, "at edge+100ms: fate unknown", "a lost reply in spite of it"},
		{"", open, silent, "", "nothing was chosen"},
		{"error", closed, silent, "", "errors are what was chosen"},
	} {
		c := caseOf(limiter.Limit{Max: 5, Window: time.Second}, admitted(0), admitted(100*ms), admitted(200*ms))
		c.Plan.OnFailure = row.chosen
		c.Plan.Faults = []scenarios.PlannedFault{{Kind: "outage", At: 100 * ms, End: 150 * ms}}
		c.Faults = []scenarios.FaultResult{{Made: true, Begin: 8 * us, Force: 9 * us, Lift: 18 * us, End: 19 * us, Hits: -1}}
		row.result.Sent, row.result.Done = held(c)[1].Sent, held(c)[1].Done
		held(c)[1] = row.result
		f := only(t, row.why, c, "policy", row.want)
		if all := f.Message + strings.Join(f.Evidence, ""); !strings.Contains(all, row.text) {
			t.Errorf("%s: %q, want %q", row.why, all, row.text)
		}
	}
}

// A policy decides when Redis cannot; if nobody broke it, nobody knows what the
// limiter would have done.
func TestPolicyUnprovoked(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 5, Window: time.Second}, admitted(0), admitted(100*ms))
	c.Plan.OnFailure = "open"
	held(c)[1].Decision = limiter.Decision{Allowed: true, Source: limiter.SourceFailOpen, Cause: errors.New("dial: refused"), At: edge}
	j := judge(t, c)
	if f := finding(t, j, "policy"); f.Verdict != scenarios.Inconclusive || !slices.Equal(codes(j), []string{"policy-unprovoked"}) {
		t.Errorf("%+v, reasons %v", f, codes(j))
	}
	for _, r := range j.Reasons {
		checkReason(t, r)
	}
}

// The cap of a process is one: its algorithm's promise holds for what it admits,
// client by client.
func TestLocalCap(t *testing.T) {
	l := limiter.Limit{Max: 2, Window: time.Second}
	for _, row := range []struct {
		at   []time.Duration
		keys []int32
		want string
		why  string
	}{
		{[]time.Duration{0, 0}, []int32{0, 0}, passes, "two of two"},
		{[]time.Duration{0, 0, 0, 0}, []int32{0, 1, 0, 1}, passes, "two of two, of two clients"},
		{[]time.Duration{0, 0, 0}, []int32{0, 0, 0}, fails, "three of two"},
		{[]time.Duration{0, 0, time.Second}, []int32{0, 0, 0}, passes, "in the next window"},
		{[]time.Duration{0, 0, time.Second - us}, []int32{0, 0, 0}, fails, "a tick too early"},
	} {
		var events []event
		for i, at := range row.at {
			events = append(events, event{at: at, outcome: scenarios.Admitted, key: row.keys[i]})
		}
		c := caseOf(l, events...)
		c.Algorithm, c.Plan.OnFailure, c.Tells.At = &limiter.Log, "local", true
		c.Plan.Faults, c.Faults = []scenarios.PlannedFault{{Kind: "outage", End: 1}}, []scenarios.FaultResult{{Made: true, End: time.Hour, Lift: time.Hour, Hits: -1}}
		for i := range held(c) {
			held(c)[i].Decision.Source, held(c)[i].Decision.Cause = limiter.SourceLocal, errors.New("away")
		}
		only(t, row.why, c, "policy", row.want)
	}
}
