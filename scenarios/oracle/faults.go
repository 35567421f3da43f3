package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// onPurpose reports whether a request can have suffered from a fault that the
// scenario made.
//
// After the end of a fault a connection may still have to be made again, in real
// time. An error that the server answers with then is the limiter's own, and when
// time is virtual everything that comes later is.
func onPurpose(c *Case, r scenarios.Result) bool {
	after := scenarios.Aftermath
	if c.Plan.Clock == scenarios.Virtual || limiter.Answered(r.Err) {
		after = 0
	}
	return slices.ContainsFunc(c.Faults, func(f scenarios.FaultResult) bool { return f.Touches(r, after) })
}

// byPolicy reports whether the failure policy decided, and not the limiter.
func byPolicy(r scenarios.Result) bool {
	switch r.Decision.Source {
	case limiter.SourceFailOpen, limiter.SourceFailClosed, limiter.SourceLocal:
		return r.Outcome.Decided()
	}
	return false
}

// elsewhere reports whether Redis was not asked, or not the one that decided: the
// failure policy or a tier in front did.
func elsewhere(r scenarios.Result) bool {
	return byPolicy(r) || r.Decision.Source == limiter.SourceEdge
}

// accidents counts requests that failed and that no fault of the scenario excuses.
func accidents(m scenarios.Measures) int64 { return m.Errored + m.Unknown - m.Excused }

// span is when something happened, on the stopwatch: at some instant in it.
type span struct{ from, to time.Duration }

// during reports whether an operation was in flight in it, so that nobody knows
// which came first.
func (s span) during(op operation) bool { return !op.lost && op.sent < s.to && op.done > s.from }

// loss is one moment at which state was lost.
type loss struct {
	cut  span // what was decided later is lost, if it was decided before back
	back span // what was sent later meets the state that is left
	all  bool // and not only what came after the cut
}

// losses are those of a case, in order.
func losses(c *Case) []loss {
	var all []loss
	for i, f := range c.Faults {
		if !f.Made || f.Failed {
			continue
		}
		made, lifted := span{f.Begin, f.Force}, span{f.Lift, f.End}
		switch c.Plan.Faults[i].Of().Loss {
		case scenarios.LosesAll:
			all = append(all, loss{cut: made, back: made, all: true})
		case scenarios.LosesTail:
			all = append(all, loss{cut: made, back: lifted})
		}
	}
	slices.SortFunc(all, func(a, b loss) int { return cmp.Compare(a.back.from, b.back.from) })
	return all
}

// lives splits the operations of an identity where state was lost: each life is a
// history that a model has to explain by itself, the last one being what is in
// Redis now. It is exact unless an operation was in flight when state was lost.
func lives(c *Case, ops []operation) (histories [][]operation, exact bool) {
	exact = true
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.sent, b.sent) })
	var kept []operation
	for _, l := range losses(c) {
		exact = exact && !slices.ContainsFunc(ops, l.back.during)
		n := 0
		for n < len(ops) && ops[n].sent < l.back.from {
			n++
		}
		life := slices.Concat(kept, ops[:n])
		histories = append(histories, life)
		ops = ops[n:]
		if kept = nil; !l.all {
			exact = exact && !slices.ContainsFunc(life, l.cut.during)
			kept = slices.DeleteFunc(slices.Clone(life), func(op operation) bool {
				// A request without a reply may have been decided as soon as it was sent.
				return op.done > l.cut.from && (!op.lost || op.sent >= l.cut.from)
			})
		}
	}
	return append(histories, slices.Concat(kept, ops)), exact
}

// faults says what became of the faults that the scenario makes: they have to
// have hit somebody.
func faults(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	var findings []scenarios.Finding
	for i, planned := range c.Plan.Faults {
		if i >= len(c.Faults) || c.Interrupted || c.Lost != nil {
			return findings // which has been told
		}
		f, what := c.Faults[i], fmt.Sprintf("fault %s at %s", planned.Kind, scenarios.Offset(planned.At))
		hit := hits(c, planned, f)
		switch {
		case f.Err != nil && errors.Is(f.Err, errors.ErrUnsupported):
			findings = append(findings, inconclusive(j, "faults", "fault-unsupported", fmt.Sprintf("%s: %s: %v", c.Name, what, f.Err), "use --redis managed"))
		case f.Err != nil:
			findings = append(findings, inconclusive(j, "faults", "fault-failed", fmt.Sprintf("%s: %s: %v", c.Name, what, f.Err), "run it again; if it stays so, report a bug with this line"))
		case hit == 0:
			findings = append(findings, inconclusive(j, "faults", "fault-missed", fmt.Sprintf("%s: %s hit nobody", c.Name, what), "place it where requests are sent: rlbench plan "+c.Plan.Scenario))
		default:
			found := passed("faults", "%s: %s hit %s", c.Name, what, scenarios.Counted(hit, "request"))
			if planned.Of().Loss == scenarios.LosesTail {
				found[0].Message += "; admissions that were lost: " + fmt.Sprint(j.Measures.LostTail)
			}
			findings = append(findings, found...)
		}
	}
	return findings
}

// lostTail is how many admissions were forgotten by faults that lose what comes
// after their beginning.
func lostTail(c *Case) int64 {
	n := int64(0)
	for i, f := range c.Faults {
		if !f.Made || f.Failed || c.Plan.Faults[i].Of().Loss != scenarios.LosesTail {
			continue
		}
		for _, r := range c.Results.All() {
			if r.Outcome == scenarios.Admitted && !elsewhere(r) && r.Done > f.Begin && r.Sent < f.Lift {
				n++
			}
		}
	}
	return n
}

// hits is how many requests a fault met: those that it says, or those that were
// in flight while it was in force, or after an instant those that came later.
func hits(c *Case, planned scenarios.PlannedFault, f scenarios.FaultResult) int64 {
	if f.Hits >= 0 {
		return f.Hits
	}
	until := f.Lift
	if planned.At == planned.End {
		until = 1<<63 - 1
	}
	n := int64(0)
	for _, r := range c.Results.All() {
		if r.Outcome != scenarios.Missed && f.Made && r.Done >= f.Begin && r.Sent <= until {
			n++
		}
	}
	return n
}

// policy demands that what Redis did not decide was decided as was chosen, and that
// it was not asked in vain for no reason.
func policy(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	chosen := c.Plan.OnFailure
	if !scenarios.FallsBack(chosen) {
		return nil
	}
	var decided, strayed, errored, unprovoked int64
	var stray, failure string // the last of each
	for i, r := range c.Results.All() {
		at := func() string { return "at " + scenarios.Offset(c.Plan.Arrivals[i].At) }
		switch {
		case r.Outcome == scenarios.Errored || r.Outcome == scenarios.Unknown:
			errored++
			failure = fmt.Sprintf("%s: %v", at(), r.Err)
		case !byPolicy(r):
		case !follows(chosen, r):
			strayed++
			stray = fmt.Sprintf("%s: %s, decided by %s", at(), describe(r.Decision, scenarios.Tells{}), r.Decision.Source)
		case r.Decision.Cause == nil:
			strayed++
			stray = fmt.Sprintf("%s: decided by %s, and no cause is told", at(), r.Decision.Source)
		default:
			decided++
			if !onPurpose(c, r) {
				unprovoked++
			}
		}
	}
	switch {
	case strayed > 0:
		return failed("policy", fmt.Sprintf("%s does not follow its failure policy %q in %s", c.Name, chosen, scenarios.Counted(strayed, "decision")), stray)
	case errored > 0:
		return failed("policy", fmt.Sprintf("%s returned %s although its failure policy is %q", c.Name, scenarios.Counted(errored, "error"), chosen), failure)
	}
	if chosen == "local" {
		if f := localCap(c); f != nil {
			return f
		}
	}
	if unprovoked > 0 { // nobody has judged them by a model
		return []scenarios.Finding{inconclusive(j, "policy", "policy-unprovoked",
			fmt.Sprintf("%s: %s by the failure policy %q while nothing was broken on purpose", c.Name, scenarios.Counted(unprovoked, "decision"), chosen),
			"look at the target's own log, or raise --timeout")}
	}
	return passed("policy", "%s: %s by the failure policy %q, all as chosen", c.Name, scenarios.Counted(decided, "decision"), chosen)
}

// follows reports whether a decision is one that a policy makes.
func follows(chosen string, r scenarios.Result) bool {
	switch chosen {
	case "open":
		return r.Decision.Source == limiter.SourceFailOpen && r.Outcome == scenarios.Admitted
	case "closed":
		return r.Decision.Source == limiter.SourceFailClosed && r.Outcome == scenarios.Denied
	case "local":
		return r.Decision.Source == limiter.SourceLocal
	}
	return false
}

// localCap demands that the cap of a process keeps its algorithm's promise; nil if
// it does.
func localCap(c *Case) []scenarios.Finding {
	if c.Algorithm == nil {
		return nil
	}
	byIdentity := map[scenarios.Identity][]decided{}
	for i, r := range c.Results.All() {
		if r.Decision.Source != limiter.SourceLocal || r.Outcome != scenarios.Admitted {
			continue
		}
		a := c.Plan.Arrivals[i]
		id := scenarios.Identity{Key: a.Key, Pseudonym: c.pseudonyms()[a.Phase]}
		byIdentity[id] = append(byIdentity[id], decided{at: trueTime(c, a, r).UnixMicro(), cost: a.Cost, admitted: true, phase: a.Phase})
	}
	worst := c.Algorithm.Worst(loosest(c.Plan))
	for _, id := range identities(byIdentity) {
		history := byIdentity[id]
		slices.SortStableFunc(history, func(a, b decided) int { return cmp.Compare(a.at, b.at) })
		if most := peak(history, c.Plan.Limit.Window); most > worst {
			return failed("policy", fmt.Sprintf("the local cap of %s admitted %d to client %d within a window; %s promises at most %d", c.Name, most, id.Key, c.Algorithm.Name, worst))
		}
	}
	return nil
}
