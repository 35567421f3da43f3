package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// failed is a finding of a check that has seen something wrong.
func failed(check, message string, evidence ...string) []scenarios.Finding {
	return []scenarios.Finding{{Check: check, Verdict: scenarios.Fail, Message: message, Evidence: evidence}}
}

func passed(check, format string, args ...any) []scenarios.Finding {
	return []scenarios.Finding{{Check: check, Verdict: scenarios.Pass, Message: fmt.Sprintf(format, args...)}}
}

// fresh demands that an identity that nobody has used has its budget. What is
// denied because it costs more than there is at all uses nothing; of the rest the
// first to be decided is one of those that were sent before any was done.
func fresh(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	h := operations(c)
	asked := 0
	for _, id := range h.decided {
		first := firstToBeDecided(h.of(id))
		if h.doubtful[id] || len(first) == 0 {
			continue
		}
		if !slices.ContainsFunc(first, func(op operation) bool { return op.decision.Allowed }) {
			return failed("fresh", fmt.Sprintf("%s denied an identity that nobody had used", c.Name),
				fmt.Sprintf("client %d, pseudonym %d, cost %d at %s", id.Key, id.Pseudonym, first[0].cost, offset(c, first[0].decision.At)),
				"limiter: "+describe(first[0].decision, c.Tells))
		}
		asked++
	}
	if asked == 0 {
		return nil
	}
	return passed("fresh", "the first request of %s was admitted", scenarios.Counted(asked, "identity"))
}

// firstToBeDecided are those of an identity's requests of which one was decided
// before all others, in the order of sending.
func firstToBeDecided(ops []operation) []operation {
	var mine []operation
	for _, op := range ops {
		if op.decision.Allowed || op.cost <= op.limit.Max {
			mine = append(mine, op)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	earliest := slices.MinFunc(mine, func(a, b operation) int { return cmp.Compare(a.done, b.done) }).done
	mine = slices.DeleteFunc(mine, func(op operation) bool { return op.sent > earliest })
	slices.SortStableFunc(mine, func(a, b operation) int { return cmp.Compare(a.sent, b.sent) })
	return mine
}

// remaining looks at what limiters say is left, without a model.
func remaining(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	if !c.Tells.Remaining || j.Measures.Admitted+j.Measures.Denied == 0 {
		return nil
	}
	h := operations(c)
	for _, id := range h.decided {
		if wrong, op := wrongRemaining(c, h.of(id)); wrong != "" {
			return failed("remaining", c.Name+" "+wrong, fmt.Sprintf("client %d, pseudonym %d, cost %d at %s: %s",
				id.Key, id.Pseudonym, op.cost, offset(c, op.decision.At), describe(op.decision, c.Tells)))
		}
	}
	return passed("remaining", "what remained was told consistently")
}

// wrongRemaining is what is wrong with one identity's decisions, and the first
// that shows it; "" if nothing is.
func wrongRemaining(c *Case, ops []operation) (string, operation) {
	type said struct{ at, left, limit int64 }
	seen := map[said]bool{}
	// With one clock that does not go back, what is left within an instant can only
	// decrease. A caller's stamps can meet the limiter in any order: another one in
	// between may have led to a new window.
	ordered := c.Tells.At && c.Plan.Clock != scenarios.Client && !c.Plan.Skewed()
	for _, op := range ops {
		d := op.decision
		this := said{op.at, d.Remaining, op.limit.Max}
		switch {
		case d.Remaining < 0 || d.Remaining > op.limit.Max:
			return fmt.Sprintf("says that %d of %d remain", d.Remaining, op.limit.Max), op
		case !d.Allowed && d.Remaining >= op.cost:
			return fmt.Sprintf("denied a cost of %d and says that %d remain", op.cost, d.Remaining), op
		case d.Allowed && ordered && seen[this]:
			return fmt.Sprintf("told two admitted requests of one instant that %d remain", d.Remaining), op
		}
		seen[this] = seen[this] || d.Allowed
	}
	return "", operation{}
}

// needed is how long after its last admission an identity's state matters, by
// the model, and when it was certainly not written yet for the last time; false
// if nothing was admitted.
func needed(c *Case, ops []operation) (reset, since time.Duration, ok bool) {
	state := c.Algorithm.Model.Init()
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.sent, b.sent)) })
	for _, op := range ops {
		if !op.decision.Allowed {
			continue
		}
		var d limiter.Decision
		state, d = c.Algorithm.Model.Step(op.limit, state, op.request())
		reset = d.ResetAfter
		// Real time passes while virtual time stands still, and some only set a
		// time to live when they create a key: then it counts from there.
		if !ok || c.Plan.Clock != scenarios.Virtual {
			since = op.sent
		}
		ok = true
	}
	return reset, since, ok
}
