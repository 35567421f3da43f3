package oracle

import (
	"fmt"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// interviewed runs a question over all interviews. ask returns what is wrong, or
// "" if nothing is, and whether it could be asked at all.
func interviewed(c *Case, check string, ask func(scenarios.Interview) (wrong string, asked bool, evidence []string)) []scenarios.Finding {
	if c.Examined == nil {
		return nil
	}
	n := 0
	for _, i := range c.Examined.Interviews {
		wrong, asked, evidence := ask(i)
		if wrong != "" {
			where := fmt.Sprintf("client %d, pseudonym %d, limit %s, asked at %s", i.Identity.Key, i.Identity.Pseudonym, i.Limit, offset(c, i.At))
			return failed(check, c.Name+" "+wrong, append([]string{where}, evidence...)...)
		}
		if asked {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return passed(check, "held for %s, asked again", scenarios.Counted(n, "identity"))
}

// retry demands that a told wait is the earliest one that helps.
func retry(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	return interviewed(c, "retry", func(i scenarios.Interview) (string, bool, []string) {
		if i.Denied == nil || c.Tells.Retry == 0 {
			return "", false, nil
		}
		evidence := []string{"denied:  " + describe(*i.Denied, c.Tells)}
		switch wait := i.Denied.RetryAfter; {
		case wait == limiter.Never && i.Limit.Max > 0:
			return "says that no wait helps a request that fits its limit", true, evidence
		case wait == limiter.Never:
			return "", false, nil
		case wait <= 0:
			return "denied without a wait", true, evidence
		case i.Early != nil && i.Early.Allowed:
			return fmt.Sprintf("admitted %s before the wait was over", c.Tells.Retry), true, append(evidence, "early:   "+describe(*i.Early, c.Tells))
		case i.Due != nil && !i.Due.Allowed:
			return "denied again after its own wait", true, append(evidence, "obeyed:  "+describe(*i.Due, c.Tells))
		}
		return "", i.Due != nil, nil
	})
}

func denies(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	return interviewed(c, "denies", func(i scenarios.Interview) (string, bool, []string) {
		if i.Insatiable > 0 {
			return fmt.Sprintf("admitted %d requests at one instant and denied none", i.Insatiable), true, nil
		}
		return "", i.Denied != nil, nil
	})
}

func recovers(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	return interviewed(c, "recovers", func(i scenarios.Interview) (string, bool, []string) {
		if i.Rested == nil || i.Limit.Max == 0 {
			return "", false, nil
		}
		if !i.Rested.Allowed {
			return "denied a request after ten windows of silence", true, []string{"limiter: " + describe(*i.Rested, c.Tells)}
		}
		return "", true, nil
	})
}

// deniedIsFree is a warning for other people's limiters: that a denial writes says
// nothing about later decisions, which other checks look at. A count of denied
// requests in a window that is full anyway is common, and harmless but for work.
func deniedIsFree(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	found := interviewed(c, "denied-is-free", func(i scenarios.Interview) (string, bool, []string) {
		if i.Denied == nil {
			return "", false, nil
		}
		if i.DenialWrote {
			return "changed its state in a denial", true, []string{"key " + i.WroteKey}
		}
		return "", true, nil
	})
	for n := range found {
		found[n].Warn = !c.Strict
	}
	return found
}

func costs(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	return interviewed(c, "costs", func(i scenarios.Interview) (string, bool, []string) {
		switch {
		case i.Huge != nil && i.Huge.Allowed:
			return fmt.Sprintf("admitted a cost of %d", i.Limit.Max+1), true, []string{"limiter: " + describe(*i.Huge, c.Tells)}
		case i.Huge != nil && c.Tells.Retry > 0 && i.Huge.RetryAfter != limiter.Never:
			return fmt.Sprintf("says that a wait helps a cost of %d", i.Limit.Max+1), true, []string{"limiter: " + describe(*i.Huge, c.Tells)}
		case i.Negative != nil && i.Negative.Allowed:
			return "admitted a cost of -1", true, []string{"limiter: " + describe(*i.Negative, c.Tells)}
		case i.NegativeWrote:
			return "changed its state for a cost of -1", true, nil
		}
		return "", i.Huge != nil, nil
	})
}

func peek(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	return interviewed(c, "peek", func(i scenarios.Interview) (string, bool, []string) {
		if i.Peeked == nil || i.Then == nil {
			return "", false, nil
		}
		evidence := []string{"peek:    " + describe(*i.Peeked, c.Tells), "request: " + describe(*i.Then, c.Tells)}
		switch {
		case i.PeekWrote:
			return "changed its state in a peek", true, evidence
		case !alikeTold(*i.Peeked, *i.Then, c.Tells):
			return "answers a peek differently from the request after it", true, evidence
		}
		return "", true, nil
	})
}

// alikeTold reports whether two decisions say the same, as far as they tell.
func alikeTold(a, b limiter.Decision, t scenarios.Tells) bool {
	return a.Allowed == b.Allowed && a.Limit == b.Limit && (!t.At || a.At.Equal(b.At)) &&
		describe(a, t) == describe(b, t)
}

// heal is no more than a warning for other people's limiters: inside one script a
// time to live is not lost by itself.
func heal(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	found := interviewed(c, "heal", func(i scenarios.Interview) (string, bool, []string) {
		if len(i.Immortal) > 0 {
			return "leaves a key that lost its time to live without one", true, []string{"key " + i.Immortal[0]}
		}
		return "", i.Immortal != nil, nil
	})
	for n := range found {
		found[n].Warn = !c.Strict
	}
	return found
}
