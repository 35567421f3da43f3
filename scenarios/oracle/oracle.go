// Package oracle judges what a limiter did. It is pure: histories in, verdicts
// with evidence out, no clock and no I/O.
package oracle

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Case is one history and what is expected of it.
type Case struct {
	Plan    *scenarios.Plan
	Results scenarios.Results // Results.At(i) belongs to Plan.Arrivals[i]; nil is none
	Edge    time.Time         // the instant that the plan's offsets refer to
	// Algorithm is what the limiter claims to be; nil if it claims nothing, and
	// then only what needs no model is checked.
	Algorithm *limiter.Algorithm
	// Name is how the limiter is called in checks and messages.
	Name string
	// Tells is what its decisions say; the zero value says only admitted or denied.
	Tells scenarios.Tells
	// Examined is what was found in Redis afterwards; nil if nobody looked.
	Examined *scenarios.Examination
	// Strict says that it claims more than its algorithm: it gives back a time to
	// live that a key has lost, and a late stamp never turns its time back. Of
	// others that is only told.
	Strict bool
	// LongestTTL is the longest time that one of its keys may live; 0 does not ask.
	LongestTTL time.Duration
	Checks     []scenarios.Check
	// MaxOvershoot is how far the peak may exceed the limit, as a share of it;
	// nil does not ask.
	MaxOvershoot *big.Rat
	// Faults[i] is what became of Plan.Faults[i].
	Faults []scenarios.FaultResult
	// Control is the run without the faults that the plan has; nil if there are
	// none.
	Control *scenarios.Judgement
	// Misplaced, Interrupted, Curbed and Lost are the runner's account of what went
	// wrong with the traffic.
	Misplaced   int
	Interrupted bool
	Curbed      bool
	Lost        error
	// Stuck is what was done about a script that did not end; "" if all did.
	Stuck string

	identities histories // these are made when they are first needed
	first      []int32
}

// A check looks at a case that has been measured and says what it noticed.
type check struct {
	name, doc string
	run       func(*Case, *scenarios.Judgement) []scenarios.Finding
}

// checks is the table of built-in checks, in the order of findings. To add one,
// add its row.
var checks = []check{
	{"faults", "every fault of the scenario hit somebody", faults},
	{"policy", "what Redis did not decide was decided as the failure policy says", policy},
	{"evidence", "enough was sent, on time, in the window it was meant for", evidence},
	{"capacity", "a scenario with overload finds a rate that is kept up with", capacity},
	{"promise", "the most admitted to an identity in any trailing window is at most what the algorithm promises", promise},
	{"conformance", "every decision equals the model's, in some order that the times allow", conformance},
	{"fresh", "the first request of an identity is admitted", fresh},
	{"denies", "more than the limit at one instant is not all admitted", denies},
	{"remaining", "remaining is from 0 to the limit, less than what was denied, and counts down within an instant", remaining},
	{"retry", "who waits for RetryAfter is admitted, who comes one unit earlier is denied", retry},
	{"recovers", "after a silence of ten windows a request is admitted", recovers},
	{"denied-is-free", "a denial changes no state", deniedIsFree},
	{"costs", "a cost above the limit is denied for ever, one of -1 is refused and changes nothing", costs},
	{"peek", "a peek answers as the next request is answered, and writes nothing", peek},
	{"ttl", "every key expires: not before its state is worthless, and in time", ttl},
	{"heal", "a key that lost its time to live gets one with the next call", heal},
	{"members", "a log holds at most limit entries", members},
	{"keys", "only keys that were named are touched, those of a call in one slot", keys},
	{"identity", "no key and no value holds an IP address", identity},
	{"max-overshoot", "the peak exceeds the limit by at most --max-overshoot", overshoot},
	{"checks", "the checks of the scenario and of --check", expectations},
}

// Listed are the built-in checks with a line each.
func Listed() [][2]string {
	rows := make([][2]string, len(checks))
	for i, c := range checks {
		rows[i] = [2]string{c.name, c.doc}
	}
	return rows
}

// Judge measures and checks a case. An error is a bug of rlbench: the outcomes
// do not add up to what was planned.
func Judge(given *Case) (*scenarios.Judgement, error) {
	c := new(*given)
	c.identities, c.first = histories{}, nil
	if c.Results == nil {
		c.Results = scenarios.ResultList(nil)
	}
	j, perIdentity := measure(c)
	all := []scenarios.Measures{j.Measures}
	for _, p := range j.Phases {
		all = append(all, p.Measures)
	}
	for _, m := range all {
		if sum := m.Admitted + m.Denied + m.Errored + m.Unknown + m.Missed; sum != m.Planned {
			return nil, fmt.Errorf("judge %s under %s: outcomes sum to %d, planned were %d", c.Name, c.Plan.Scenario, sum, m.Planned)
		}
	}
	idle := j.Measures.Planned > 0 && j.Measures.Missed == j.Measures.Planned
	if c.Algorithm != nil && !c.Plan.Skewed() {
		// Who forgets everything may admit another limit at once.
		limit := loosest(c.Plan)
		worst := c.Algorithm.Worst(limit) + j.Measures.StateLost*limit.Max
		j.Promise = &scenarios.Promise{MaxInWindow: worst, Admitted: perIdentity.most, Kept: perIdentity.sure <= worst}
	}
	for _, check := range checks {
		j.Findings = append(j.Findings, check.run(c, j)...)
	}
	if idle {
		withhold(j)
	}
	doubtStamps(c, j)
	excuseLateStamps(c, j)
	for _, f := range j.Findings {
		if !f.Warn {
			j.Verdict = j.Verdict.Worse(f.Verdict)
		}
	}
	return j, nil
}

// withhold makes undecided what holds only because nothing was sent.
func withhold(j *scenarios.Judgement) {
	for i := range j.Findings {
		if f := &j.Findings[i]; f.Verdict == scenarios.Pass {
			f.Verdict, f.Message, f.Evidence = scenarios.Inconclusive, scenarios.NothingSent, nil
		}
	}
}

// doubtStamps withdraws a broken promise where callers stamp requests themselves
// and every decision equals the model's, or nobody can tell and requests overtook
// each other: then stamps reached the limiter in another order, or may have, and a
// promise is made for one order only.
func doubtStamps(c *Case, j *scenarios.Judgement) {
	if c.Plan.Clock != scenarios.Client {
		return
	}
	doubtful := slices.ContainsFunc(j.Findings, func(f scenarios.Finding) bool {
		return f.Check == "conformance" && (f.Verdict == scenarios.Pass || f.Verdict == scenarios.Inconclusive && overtaking(c))
	})
	for i, f := range j.Findings {
		if doubtful && f.Check == "promise" && f.Verdict == scenarios.Fail {
			j.Findings[i] = inconclusive(j, "promise", "stamps-out-of-order", f.Message+", for stamps in order", "use --clock server or --clock virtual")
		}
	}
}

// overtaking reports whether a request of an identity may have been decided
// before one with an earlier stamp.
func overtaking(c *Case) bool {
	h := operations(c)
	for _, id := range h.decided {
		ops := h.of(id)
		slices.SortFunc(ops, func(a, b operation) int { return cmp.Compare(a.at, b.at) })
		earlier, same := time.Duration(-1), time.Duration(-1) // when the last with such a stamp was done
		for i, op := range ops {
			if i > 0 && ops[i-1].at < op.at {
				earlier, same = max(earlier, same), -1
			}
			if op.sent <= earlier {
				return true
			}
			same = max(same, op.done)
		}
	}
	return false
}

// excuseLateStamps makes a warning of what depends on how late stamps are treated,
// where the limiter claims nothing about that: its algorithm does not say.
func excuseLateStamps(c *Case, j *scenarios.Judgement) {
	if c.Strict || !c.Plan.Skewed() {
		return
	}
	for i, f := range j.Findings {
		if f.Check == "conformance" || slices.ContainsFunc(c.Checks, func(check scenarios.Check) bool {
			return check.Algorithm != "" && check.Algorithm != c.Name && check.String() == f.Check
		}) {
			j.Findings[i].Warn = true
		}
	}
}

// loosest is the largest of the limits of a plan's phases, to which a promise
// holds when they differ.
func loosest(p *scenarios.Plan) limiter.Limit {
	l := p.Limit
	for i, phase := range p.Phases {
		if i == 0 || phase.Limit.Max > l.Max {
			l.Max = phase.Limit.Max
		}
	}
	return l
}

// inconclusive notes a reason and makes the finding that carries it.
func inconclusive(j *scenarios.Judgement, check, code, message, hint string) scenarios.Finding {
	j.Reasons = append(j.Reasons, scenarios.Reason{Code: code, Message: message, Hint: hint})
	return scenarios.Finding{Check: check, Verdict: scenarios.Inconclusive, Message: message}
}

// offset formats an instant of a history.
func offset(c *Case, at time.Time) string { return fmt.Sprintf("edge%+.6fs", at.Sub(c.Edge).Seconds()) }
