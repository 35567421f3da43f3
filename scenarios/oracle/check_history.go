package oracle

import (
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

// fresh demands that an identity that nobody has used has its budget. The first
// request to be decided is one of those that were sent before any was done.
func fresh(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	histories, doubtful := operations(c)
	for id, ops := range histories {
		if doubtful[id] {
			continue
		}
		earliest := slices.MinFunc(ops, func(a, b operation) int { return int(a.done - b.done) }).done
		var first []operation
		for _, op := range ops {
			if op.sent <= earliest {
				first = append(first, op)
			}
		}
		refused := func(op operation) bool { return !op.decision.Allowed && op.cost <= op.limit.Max }
		if !slices.ContainsFunc(first, func(op operation) bool { return !refused(op) }) {
			return failed("fresh", fmt.Sprintf("%s denied an identity that nobody had used", c.Name),
				fmt.Sprintf("client %d, pseudonym %d, cost %d at %s", id.Key, id.Pseudonym, first[0].cost, offset(c, first[0].decision.At)),
				"limiter: "+describe(first[0].decision, c.Tells))
		}
	}
	if len(histories) == 0 {
		return nil
	}
	return passed("fresh", "the first request of %d identities was admitted, or could not be", len(histories))
}

// remaining looks at what limiters say is left, without a model.
func remaining(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	if !c.Tells.Remaining || j.Measures.Admitted+j.Measures.Denied == 0 {
		return nil
	}
	type instant struct {
		id    scenarios.Identity
		at    int64
		left  int64
		limit int64
	}
	seen := map[instant]bool{}
	histories, _ := operations(c)
	for id, ops := range histories {
		for _, op := range ops {
			d := op.decision
			said := instant{id, op.at, d.Remaining, op.limit.Max}
			wrong := ""
			switch {
			case d.Remaining < 0 || d.Remaining > op.limit.Max:
				wrong = fmt.Sprintf("%s says that %d of %d remain", c.Name, d.Remaining, op.limit.Max)
			case !d.Allowed && d.Remaining >= op.cost:
				wrong = fmt.Sprintf("%s denied a cost of %d and says that %d remain", c.Name, op.cost, d.Remaining)
			case d.Allowed && c.Tells.At && seen[said]:
				wrong = fmt.Sprintf("%s told two admitted requests of one instant that %d remain", c.Name, d.Remaining)
			}
			if wrong != "" {
				return failed("remaining", wrong, fmt.Sprintf("client %d, cost %d at %s: %s", id.Key, op.cost, offset(c, d.At), describe(d, c.Tells)))
			}
			seen[said] = seen[said] || d.Allowed
		}
	}
	return passed("remaining", "what remained was told consistently")
}

// needed is how long after its last admission an identity's state matters, by
// the model, and when that admission was done; false if nothing was admitted.
func needed(c *Case, ops []operation) (reset, done time.Duration, ok bool) {
	state := c.Algorithm.Model.Init()
	for _, op := range ops {
		if !op.decision.Allowed {
			continue
		}
		var d limiter.Decision
		state, d = c.Algorithm.Model.Step(op.limit, state, op.request())
		reset, done, ok = d.ResetAfter, op.done, true
	}
	return reset, done, ok
}
