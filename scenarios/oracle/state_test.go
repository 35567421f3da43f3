package oracle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

const (
	minute = time.Minute
	read   = 10 * ms // when keys were read
)

// left is a case with keys that were found after it.
func left(c *oracle.Case, keys ...scenarios.KeyState) *oracle.Case {
	c.Examined = &scenarios.Examination{Keys: keys, Read: read, Total: len(keys)}
	for key := range c.Plan.Keys {
		c.Examined.Sample = append(c.Examined.Sample, scenarios.Identity{Key: int32(key)})
	}
	for i := range c.Examined.Keys {
		k := &c.Examined.Keys[i]
		if k.Read == 0 {
			k.Read = read
		}
		if k.Name == "" {
			k.Name = "k"
		}
	}
	c.LongestTTL = minute + time.Second
	return c
}

func TestTTL(t *testing.T) {
	l := limiter.Limit{Max: 3, Window: minute}
	once := func() *oracle.Case { return answered(limiter.Log, l, request{done: 5 * us}) }
	claimless := func() *oracle.Case { return caseOf(l, admitted(0)) }
	lives := func(ttl time.Duration) scenarios.KeyState { return scenarios.KeyState{TTL: ttl} }
	for _, row := range []struct {
		c    *oracle.Case
		want string
		text string
		why  string
	}{
		{once(), silent, "", "nobody looked"},
		{claimless(), silent, "", "nobody looked, nothing claimed"},
		{left(claimless()), silent, "", "no keys, and no claim that there should be any"},
		{left(once(), lives(minute)), passes, "1 key expires", "a window: what a log needs"},
		{left(claimless(), lives(us)), passes, "", "nobody knows how long it has to live"},
		{left(once(), lives(scenarios.NoTTL)), fails, "never expires", "no time to live"},
		{left(claimless(), lives(scenarios.NoTTL)), fails, "never expires", "which is wrong whatever is claimed"},
		{left(once(), lives(minute), lives(scenarios.NoTTL)), fails, "never expires", "one of two"},
		{left(once(), lives(61*time.Second+2*ms)), passes, "", "a second more than a window, to the precision of the reading"},
		{left(once(), lives(61*time.Second+3*ms)), fails, "at most 1m1s are of use", "a millisecond more than that"},
		{left(claimless(), lives(61*time.Second+3*ms)), warns, "at most 1m1s are of use", "a warning without a claim"},
		{changed(left(once(), lives(time.Hour)), func(c *oracle.Case) { c.LongestTTL = 0 }), passes, "", "nobody asks for how long"},

		{left(once(), lives(minute-10*ms)), passes, "", "ten milliseconds later it has ten less"},
		{left(once(), lives(minute-12*ms)), passes, "", "to the precision of the reading"},
		{left(once(), lives(minute-13*ms)), fails, "3ms too early", "a millisecond beyond it"},
		{left(once(), lives(minute/2)), fails, "29.99s too early", "half of a window"},
		{left(once()), fails, "59.99s too early", "the key is gone after ten milliseconds"},
		{changed(left(once()), func(c *oracle.Case) { c.Examined.Read = minute - 2*ms }), silent, "", "it is gone after a window"},
		{changed(left(once()), func(c *oracle.Case) { c.Examined.Read = minute - 3*ms }), fails, "3ms too early", "a little before that"},
		{left(once(), lives(ms), lives(minute)), passes, "", "of several keys the longest counts"},
		{left(once(), lives(minute), lives(ms)), passes, "", "in any order"},
		{left(once(), scenarios.KeyState{TTL: minute, Identity: scenarios.Identity{Key: 1}}), fails, "too early", "but not somebody else's"},
		{left(answered(limiter.Log, limiter.Limit{Max: 0, Window: minute}, request{})), silent, "", "where nothing was admitted nothing has to be kept"},
		{left(answered(limiter.Fixed, l, request{at: 50 * time.Second, done: us}), lives(10*time.Second-10*ms)), passes, "", "a fixed window is over at its edge"},
	} {
		if f := only(t, row.why, row.c, "ttl", row.want); !strings.Contains(f.Message, row.text) {
			t.Errorf("%s: %q, want %q", row.why, f.Message, row.text)
		}
	}
}

// One unit at the edge of a counter's window counts fully until the next edge,
// and then weighs floor(1 × (W-e)/W), which is 0 from the first tick on: it
// matters for a window and a tick.
func TestTTLOfACounter(t *testing.T) {
	for ttl, want := range map[time.Duration]string{minute + us - 12*ms: passes, minute - 13*ms: fails} {
		c := left(answered(limiter.Counter, limiter.Limit{Max: 3, Window: minute}, request{done: us}), scenarios.KeyState{TTL: ttl})
		only(t, ttl.String(), c, "ttl", want)
	}
	// Ten of them still weigh floor(10 × (W-e)/W) >= 1 until e = 54 s.
	ten := make([]request, 10)
	for i := range ten {
		ten[i].done = us
	}
	for ttl, want := range map[time.Duration]string{minute + 54*time.Second + us - 12*ms: passes, minute + 54*time.Second - 13*ms: fails, minute: fails} {
		c := left(answered(limiter.Counter, limiter.Limit{Max: 10, Window: minute}, ten...), scenarios.KeyState{TTL: ttl})
		c.LongestTTL = 2 * minute
		only(t, "ten: "+ttl.String(), c, "ttl", want)
	}
}

// Some set a time to live when they create a key and not again. In real time it
// has to last all the same; in virtual time only the run itself took real time.
func TestTTLThatIsSetOnce(t *testing.T) {
	run := func(clock scenarios.Clock) *oracle.Case {
		c := answered(limiter.Log, limiter.Limit{Max: 3, Window: minute},
			request{at: 0, sent: 0, done: us}, request{at: 5 * ms, sent: 5 * ms, done: 5*ms + us})
		c.Plan.Clock = clock
		return left(c, scenarios.KeyState{TTL: minute - read})
	}
	only(t, "in virtual time", run(scenarios.Virtual), "ttl", passes)
	for _, clock := range []scenarios.Clock{scenarios.Server, scenarios.Client} {
		if f := only(t, "in real time", run(clock), "ttl", fails); !strings.Contains(f.Message, "5ms too early") {
			t.Errorf("%s: %q", clock, f.Message)
		}
	}
}

// A slow reply does not make a life short: it began before the reply came.
func TestTTLAfterASlowReply(t *testing.T) {
	c := answered(limiter.Log, limiter.Limit{Max: 3, Window: minute}, request{done: 9 * ms})
	c.Plan.Clock = scenarios.Server
	only(t, "set when it was sent", left(c, scenarios.KeyState{TTL: minute - read}), "ttl", passes)
}

// Where nobody knows until when a state matters, nobody is accused of losing it.
func TestTTLThatIsNotKnown(t *testing.T) {
	for why, change := range map[string]func(*oracle.Case){
		"several clocks":  func(c *oracle.Case) { c.Plan.Phases[1].Skew = time.Second },
		"half examined":   func(c *oracle.Case) { c.Examined.Incomplete = "i/o timeout" },
		"unknown instant": func(c *oracle.Case) { c.Tells.At = false },
		"not in the sample": func(c *oracle.Case) {
			c.Examined.Sample = nil
		},
	} {
		c := left(answered(limiter.Log, limiter.Limit{Max: 3, Window: minute}, request{}), scenarios.KeyState{TTL: ms})
		change(c)
		if f := finding(t, judge(t, c), "ttl"); f.Verdict != scenarios.Pass {
			t.Errorf("%s: %+v", why, f)
		}
	}
	c := left(answered(limiter.Log, limiter.Limit{Max: 3, Window: minute}, request{}), scenarios.KeyState{TTL: ms})
	c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{Cost: 1})
	c.Results = append(held(c), scenarios.Result{Outcome: scenarios.Unknown, Err: errors.New("timeout")})
	if f := finding(t, judge(t, c), "ttl"); f.Verdict != scenarios.Pass {
		t.Errorf("unknown fate: %+v", f)
	}
}

func TestMembers(t *testing.T) {
	l := limiter.Limit{Max: 3, Window: minute}
	set := func(n int64) scenarios.KeyState {
		return scenarios.KeyState{TTL: minute, Elements: n, Collection: true}
	}
	log := func(keys ...scenarios.KeyState) *oracle.Case {
		return left(answered(limiter.Log, l, request{}), keys...)
	}
	for _, row := range []struct {
		c    *oracle.Case
		want string
		why  string
	}{
		{answered(limiter.Log, l, request{}), silent, "nobody looked"},
		{log(set(3)), passes, "as many as the limit"},
		{log(set(4)), fails, "one more"},
		{log(set(1), set(4)), fails, "in any key"},
		{log(scenarios.KeyState{TTL: minute, Elements: 4}), passes, "what is no collection has no members"},
		{left(caseOf(l, admitted(0)), set(4)), silent, "who claims nothing may keep what it wants"},
		{left(answered(limiter.Fixed, l, request{}), set(4)), silent, "who claims to be something else too"},
		{changed(log(set(9)), func(c *oracle.Case) { c.Plan.Phases[1].Limit.Max = 9 }), passes, "the limit was cut: as many as the larger one"},
		{changed(log(set(10)), func(c *oracle.Case) { c.Plan.Phases[1].Limit.Max = 9 }), fails, "one more than that"},
		{changed(log(set(3)), func(c *oracle.Case) { c.Plan.Limit.Max = 1 }), passes, "what counts are the limits of the phases"},
	} {
		only(t, row.why, row.c, "members", row.want)
	}
	gone := left(answered(limiter.Log, l, request{}))
	gone.Examined.Read = minute
	only(t, "all keys are gone", gone, "members", silent)
}

func TestKeys(t *testing.T) {
	for _, row := range []struct {
		e    *scenarios.Examination
		want string
		text string
		why  string
	}{
		{nil, silent, "", "nobody looked"},
		{&scenarios.Examination{}, silent, "", "no keys at all"},
		{&scenarios.Examination{Total: 2}, passes, "2 keys, all of them named", "two that were named"},
		{&scenarios.Examination{Undeclared: []string{"b", "c"}}, fails, "key b", "one that was not"},
		{&scenarios.Examination{Total: 2, Split: []string{"{1}", "{2}"}}, fails, "{1}\n{2}", "two of one call in different slots"},
	} {
		c := caseOf(limiter.Limit{Max: 3, Window: minute}, admitted(0))
		c.Examined = row.e
		f := only(t, row.why, c, "keys", row.want)
		if text := f.Message + "\n" + strings.Join(f.Evidence, "\n"); !strings.Contains(text, row.text) {
			t.Errorf("%s: %q, want %q", row.why, text, row.text)
		}
	}
}

func TestIdentity(t *testing.T) {
	for _, row := range []struct {
		keys []scenarios.KeyState
		want string
		why  string
	}{
		{nil, silent, "no keys"},
		{[]scenarios.KeyState{{TTL: us}}, passes, "no address"},
		{[]scenarios.KeyState{{TTL: us}, {TTL: us, Name: "rl:203.0.113.7", Address: "203.0.113.7"}}, fails, "an address in the second"},
	} {
		f := only(t, row.why, left(caseOf(limiter.Limit{Max: 3, Window: minute}, admitted(0)), row.keys...), "identity", row.want)
		if row.want == fails && f.Evidence[0] != "203.0.113.7 in key rl:203.0.113.7" {
			t.Errorf("got %q", f.Evidence)
		}
	}
	only(t, "nobody looked", caseOf(limiter.Limit{Max: 3, Window: minute}, admitted(0)), "identity", silent)
}
