package oracle

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// partial reports whether the limiter saw less traffic than was planned.
func partial(c *Case, j *scenarios.Judgement) bool {
	m := j.Measures
	return c.Interrupted || c.Lost != nil || m.Missed+accidents(m) > 0
}

// displaced reports whether it saw the traffic at other times than planned.
func displaced(c *Case, j *scenarios.Judgement) bool {
	return c.Misplaced > 0 || j.Lag.Max > latest(c)
}

// evidence says why a verdict could be worth nothing. One reason is enough: the
// first is the cause of those behind it.
func evidence(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	m := j.Measures
	sent := m.Planned - m.Missed
	because := func(code, message, hint string) []scenarios.Finding {
		return []scenarios.Finding{inconclusive(j, "evidence", code, c.Name+": "+message, hint)}
	}
	switch {
	case m.Planned == 0:
		return because("nothing-planned", "the plan has no requests", "raise the limit or a count; rlbench plan "+c.Plan.Scenario+" --limit "+c.Plan.Limit.String()+" shows them")
	case c.Interrupted:
		return because("interrupted", fmt.Sprintf("interrupted after %d of %s", sent, scenarios.Counted(m.Planned, "request")), "run it again and let it finish")
	case c.Stuck != "":
		return because("script-stuck", fmt.Sprintf("a script did not end in time and kept Redis busy; %s", c.Stuck), "look for a loop in the script, or for a reply too large; or raise --timeout")
	case c.Lost != nil:
		return because("target-lost", fmt.Sprintf("the target was lost after %d of %s: %v", sent, scenarios.Counted(m.Planned, "request"), c.Lost), "look at the target's own log and whether it still answers; redis-cli script kill ends a script that does not")
	case c.Curbed:
		return because("retries-curbed", fmt.Sprintf("clients gave up after %d retries", scenarios.MaxRetries), "shorten within, or lengthen the wait of retry")
	case m.Missed > 0:
		return because("missed-schedule", fmt.Sprintf("%d of %s were never sent", m.Missed, scenarios.Counted(m.Planned, "request")), "raise --max-in-flight or lower the rate")
	case c.Control != nil && c.Control.Verdict != scenarios.Pass:
		return because("control-failed", "the run without the faults does not pass, so what this one shows is not theirs", "look at the row of the control run first")
	case m.Admitted+m.Denied == 0 && accidents(m) > 0:
		return because("no-decisions", fmt.Sprintf("none of %s was decided: %s", scenarios.Counted(sent, "request"), firstError(c)), helpWith(c, "look at the target's own log"))
	case accidents(m) > 0:
		return because("errors", fmt.Sprintf("%d of %s were not decided: %s", accidents(m), scenarios.Counted(sent, "request"), firstError(c)), helpWith(c, "look at the target's own log, or raise --timeout"))
	case c.Misplaced > 0:
		return because("boundary-missed", fmt.Sprintf("%s fell on the wrong side of a window edge, or before a phase that was to be over", scenarios.Counted(c.Misplaced, "decision")), fmt.Sprintf("a request is planned %s from an edge; use a longer window, a quieter machine or --clock virtual", closest(c.Plan)))
	case j.Lag.P99 > latest(c):
		return because("late", fmt.Sprintf("one request in a hundred was sent more than %s late; %s is allowed", j.Lag.P99.Round(time.Microsecond), latest(c)), "use a longer window, fewer requests at once, more of them in flight (--max-in-flight), a limiter that is faster (+pipeline), or --clock virtual")
	}
	if n := m.Errored + m.Unknown; n > 0 {
		return passed("evidence", "%s sent, and %d failed while there was trouble on purpose", every(sent, "request"), n)
	}
	return passed("evidence", "%s sent and decided", every(sent, "request"))
}

// every is all of a number, and that they were.
func every(n int64, what string) string {
	if n == 1 {
		return "the one " + what + " was"
	}
	return "all " + scenarios.Counted(n, what) + " were"
}

// closest is how near to the end of its window a request is planned.
func closest(p *scenarios.Plan) time.Duration {
	nearest := p.Limit.Window
	for _, a := range p.Arrivals {
		end := time.Duration(scenarios.WindowOf(a.At, p.Limit.Window)+1) * p.Limit.Window
		nearest = min(nearest, end-a.At)
	}
	return nearest
}

// latest is how late one request in a hundred may be: what the scenario says, or
// a hundredth of the window, which moves a weighted count by at most a hundredth
// of the limit.
func latest(c *Case) time.Duration {
	if c.Plan.Overload > 0 {
		return 2 * c.Plan.Overload // it ends there
	}
	if c.Plan.Late > 0 {
		return c.Plan.Late
	}
	return max(c.Plan.Limit.Window/100, time.Millisecond)
}

func firstError(c *Case) string {
	for _, r := range c.Results.All() {
		if r.Err != nil && !onPurpose(c, r) {
			return r.Err.Error()
		}
	}
	return "no error was recorded"
}

// helpWith is the hint for requests that were not decided: a reply that its
// reader does not understand is no trouble of the server's.
func helpWith(c *Case, otherwise string) string {
	for _, r := range c.Results.All() {
		if _, misread := errors.AsType[*limiter.ReplyError](r.Err); misread {
			return "say in the script's mapping what its reply means: docs/your-own-lua.md, The reply"
		}
	}
	return otherwise
}
