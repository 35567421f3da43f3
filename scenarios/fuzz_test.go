package scenarios_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Accepted text means the same when it is read again, whatever the limit; a
// refusal is one line that is not much longer than the text.
func FuzzParseExpr(f *testing.F) {
	for _, seed := range []string{
		"", "0", "0.1+0.2", "edge - window/60", "2*limit", "0.8*limit/window", "100/s", "1/10s", "floor(limit/60)", "ceil(-1.5)",
		"((((1))))", "-(-(-1))", "1/0", "1/(limit-100)", "window*window", "limit + window", "31d", "1h30m", "1µs", "1ns", "s", "1e9",
		"\xff", "1\x002", "limit limit", strings.Repeat("9", 200), strings.Repeat("(", 40), strings.Repeat("-", 40) + "1", "1..2", "٣",
	} {
		f.Add(seed)
	}
	limits := []limiter.Limit{
		{Max: 100, Window: time.Minute}, {Max: 0, Window: time.Millisecond}, {Max: 1, Window: limiter.MaxWindow}, {Max: limiter.MaxMax, Window: time.Second},
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := scenarios.ParseExpr(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 10*len(text)+300 || e.Present() {
				t.Errorf("%q: present %t, %q", text, e.Present(), err)
			}
			return
		}
		if !e.Present() || e.String() != text {
			t.Fatalf("%q: present %t, reads %q", text, e.Present(), e)
		}
		again, err := scenarios.ParseExpr(e.String())
		if err != nil {
			t.Fatalf("%q is accepted once, and then not: %v", text, err)
		}
		for _, l := range limits {
			a, errA := e.Eval(l)
			b, errB := again.Eval(l)
			if fmt.Sprint(errA) != fmt.Sprint(errB) {
				t.Fatalf("%q for %s: %v, and then %v", text, l, errA, errB)
			}
			if errA == nil && (a.Cmp(b) != 0 || a.String() != b.String()) {
				t.Fatalf("%q for %s: %s, and then %s", text, l, a, b)
			}
		}
	})
}

// A file is refused with problems that have a place, or it becomes the same plan
// each time.
func FuzzRead(f *testing.F) {
	for _, b := range scenarios.Builtins() {
		f.Add(string(b.Source))
	}
	for _, seed := range []string{
		"", "# nothing\n", "---\n", "a", "- a\n", "version: 1\n---\nversion: 1\n", "\ufeffversion: 1\r\nname: x\r\n", "version: 1\rname: x y\r",
		"name: \"a\u2028b\"\nlimit: 5\n", "version: 1\n\tname: x\n", "name: \xff\n", "phases: &p [*p]\n", "a: &a {*a : b}\n", "? [a]\n: b\n", ": \n0",
		"\uffff: x", "a: *" + strings.Repeat("a", 5000),
		"version: 1\nname: x\nlimit: 7/1s\nphases:\n- {name: a, shape: burst, count: limit/7}\n",
		"version: 1\nname: x\nphases:\n- {name: a, shape: constant, for: window, rate: 3/s}\n- {name: b, shape: poisson, for: 1ms, count: 9}\n",
		"version: 1\nname: x\nphases:\n- {name: a, shape: poisson, for: 3650d, rate: 1/3650d}\n- {name: b, at: -3650d, shape: burst, count: 0}\n",
		"version: 1\nname: x\nkeys: {count: 3}\nseed: 18446744073709551615\nphases:\n- {name: a, shape: burst, count: 9, cost: 2}\nchecks:\n- {metric: sent, op: ==, value: 9, level: warn}\n",
		"version: 1\nname: x\nkeys: {count: 3, zipf: {s: 0.9}}\ndrain: 0s\nphases:\n- {name: a, shape: ramp, for: 1s, from: 0/s, to: 9/s, jitter: 1s}\n- {name: b, shape: drip, for: 1s, every: 100ms, skew: -1s}\n",
		"version: 1\nname: x\nkeys: {count: 3, distribution: cycle}\nphases:\n- {name: a, shape: herd, count: 2, limit: 5, pseudonym: 1, repeat: {times: 2, every: window}}\n- {name: b, shape: saturate, for: 1s}\n",
		"version: 1\nname: x\nphases:\n- {name: a, shape: burst, count: 2, retry: {mode: obey, round: 1s, jitter: 1s, within: 9s}}\n- {name: b, shape: burst, count: 2, retry: {mode: ignore, wait: 1s}}\nchecks:\n- {metric: first_admitted, phase: b.retry, op: <, value: 5s}\n",
		"version: 1\nname: x\non_failure: local\ntimeout: 5ms\nphases:\n- {name: a, shape: constant, for: 1s, count: 9}\n- {name: b, shape: burst, count: 2, pseudonym: 2, also: 0}\nfaults:\n- {at: a, kind: latency, delay: 5ms, jitter: 1ms, every: 2, hits: limit}\n- {at: edge - 1s, for: 2s, kind: outage}\n- {at: b, kind: restart}\n",
		"version: 1\nname: x\nphases:\n- {name: a, shape: burst, count: 2, retry: {mode: obey}}\nfaults:\n- {at: a.retry, kind: failover}\n- {at: -3650d, for: 3650d, kind: stall}\n- {at: edge, kind: oom}\n- {kind: acl, for: 0s, hits: 1}\n",
		"version: 1\nname: x\nphases:\n- {name: a, shape: replay, trace: [a.log, b.log], format: combined, speed: 10x, since: 10:00, until: 5m, spread: poisson, count: 5}\n- {name: b, at: -3650d, shape: replay, speed: 0.1}\n",
		"version: 2\nname: two words\nlimit: 1\nphases:\n- {name: a, shape: brust, for: 1}\n- {name: a, shape: burst, for: 1s, rate: 1/s}\nchecks: [{op: !=}]\nfaults: [1]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		s, err := scenarios.Read(strings.NewReader(file), "f.yaml", scenarios.BuiltinDefaults())
		if err != nil {
			checkProblems(t, file, err)
			return
		}
		if !small(s) {
			return
		}
		checkPlanOf(t, s)
	})
}

// small reports whether a scenario is quick to plan.
func small(s *scenarios.Scenario) bool {
	for _, p := range s.Phases {
		if !smallPhase(s, p) {
			return false
		}
	}
	return len(s.Phases) < 100 && s.Keys.Count <= few
}

const few = 5_000

func smallPhase(s *scenarios.Scenario, p scenarios.Phase) bool {
	times, senders, limit := "1", 1, "limit"
	if p.Repeat != nil {
		times = p.Repeat.Times.String()
	}
	if p.Shape == "herd" {
		senders = s.Keys.Count
	}
	if p.Limit.Present() {
		limit = p.Limit.String()
	}
	// below is true of what has an absent part.
	below := func(format string, parts ...scenarios.Expr) bool {
		texts := []any{times}
		for _, part := range parts {
			if !part.Present() {
				return true
			}
			texts = append(texts, part.String())
		}
		e, err := scenarios.ParseExpr(fmt.Sprintf("(%s)*"+format, texts...))
		if err != nil {
			return false
		}
		q, err := e.Eval(s.Limit)
		return err == nil && q.Cmp(scenarios.Count(few)) <= 0
	}
	saturates := p.Shape == "saturate" && !p.Count.Present() && !p.Rate.Present()
	return below("1") && below("(%s)*"+strconv.Itoa(senders), p.Count) &&
		below("(%s)*(%s)", p.Rate, p.For) && below("(%s)*(%s)", p.From, p.For) && below("(%s)*(%s)", p.To, p.For) &&
		below("(%s)/(%s)", p.For, p.Every) && (!saturates || below("10*("+limit+")/window*(%s)", p.For))
}

// checkPlanOf plans a scenario that Read accepted.
func checkPlanOf(t *testing.T, s *scenarios.Scenario) {
	t.Helper()
	for _, p := range s.Phases {
		if p.Replay != nil {
			p.Replay.Requests = logged(tenOClock, 1_000_000, 9, 3)
		}
	}
	plan, err := scenarios.NewPlan(s)
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" {
			t.Error("the plan is refused without a word")
		}
		return
	}
	checkPlan(t, plan)
	checkFaults(t, s, plan)
	checkPlan(t, stopped(plan))
	again, err := scenarios.NewPlan(s)
	if err != nil || again.Hash() != plan.Hash() {
		t.Errorf("the same scenario: plan %s, and then %s and %v", plan.Hash(), again.Hash(), err)
	}
}

// stopped is a plan as it is carried out by a limiter that denies everything,
// until somebody loses patience.
func stopped(p *scenarios.Plan) *scenarios.Plan {
	agenda, sent := scenarios.NewAgenda(p), 0
	for at, ok := agenda.Next(); ok && sent < 2*few; at, ok = agenda.Next() {
		for _, i := range agenda.Take() {
			agenda.Tell(i, at, deny(time.Second))
			sent++
		}
	}
	return agenda.Plan()
}

// An accepted check prints as what it was read from.
func FuzzParseCheck(f *testing.F) {
	for _, seed := range []string{
		"", "admitted == 100", "log: peak_in_window <= limit", "admitted@after-edge <= 2", "lua:./x.lua: errored@a.b > 0", "error_rate<0.1",
		"admitted <= ", "admitted <= = 1", "admitted <= 5s", "admitted <= 1/0", "admited <= 5", "admitted < < 1", "admitted <= 1\n", "\xff: admitted < 1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := scenarios.ParseCheck(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q: a refusal of several lines: %q", text, err)
			}
			return
		}
		again, err := scenarios.ParseCheck(c.String())
		if err != nil {
			t.Fatalf("%q prints as %q, which is refused: %v", text, c, err)
		}
		if again.String() != c.String() || again.Algorithm != c.Algorithm || again.Phase != c.Phase ||
			again.Metric != c.Metric || again.Op != c.Op || again.Value.String() != c.Value.String() {
			t.Errorf("%q prints as %q, which reads as %q", text, c, again)
		}
		if _, known := (scenarios.Measures{Planned: 1, Admitted: 1, Limit: 1}).Measure(c.Metric); !known {
			t.Errorf("%q: metric %q cannot be measured", text, c.Metric)
		}
	})
}

// An accepted assignment is the text, split at the first "="; made to a
// scenario, it gives a scenario or problems.
func FuzzParseAssignment(f *testing.F) {
	for _, seed := range []string{
		"", "=", "a", "limit=5/1s", "name=x=y", "phases.0.count=limit/2", "phases.before-edge.shape=burst", "phases.9.count=1", "phases..count=1",
		"phases=[]", "phases=&p [*p]", "checks=*x", "keys={count: 2, count: 3}", "seed=", "limit.max=5", "clock=[virtual]", "description=a\nb", "x=\xff",
	} {
		f.Add(seed)
	}
	builtin, err := scenarios.BuiltinNamed("boundary-burst")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := scenarios.ParseAssignment(text)
		if err != nil {
			return
		}
		if a.Path+"="+a.Value != text || a.Path == "" || strings.Contains(a.Path, "=") {
			t.Fatalf("%q is split into %+v", text, a)
		}
		s, err := builtin.Read(scenarios.BuiltinDefaults(), a)
		switch problems := scenarios.Problems(nil); {
		case err == nil && small(s):
			checkPlanOf(t, s)
		case err != nil && !errors.As(err, &problems):
			t.Errorf("%q: the error is %T: %v", text, err, err)
		case err != nil && utf8.ValidString(text) && !utf8.ValidString(err.Error()):
			t.Errorf("%q: the error is no text: %q", text, err)
		}
	})
}
