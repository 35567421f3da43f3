package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/rlbench/rlbench/limiter"
)

// fields writes the response fields of the chosen dialects.
type fields struct {
	write  []func(http.Header, *answer)
	policy form
	texts  []policyText // of Config.Policies
}

// policyText is all of a policy that never changes, serialised once.
type policyText struct {
	name    string // `"feed"`
	named   string // `"feed";q=30;w=60`
	unnamed string // "30;w=60"; empty unless the window is whole seconds
	limit   limiter.Limit
}

// newPolicyText fails on names that a Structured Fields String cannot hold.
func newPolicyText(p limiter.Policy) (policyText, error) {
	t := policyText{limit: p.Limit}
	bare, named, unnamed := httpsfv.NewItem(p.Name), httpsfv.NewItem(p.Name), httpsfv.NewItem(p.Limit.Max)
	named.Params.Add("q", p.Limit.Max)
	whole := p.Limit.Window%time.Second == 0
	if whole {
		window := int64(p.Limit.Window / time.Second)
		named.Params.Add("w", window)
		unnamed.Params.Add("w", window)
	}
	var err error
	if t.name, err = httpsfv.Marshal(bare); err != nil {
		return t, err
	}
	if t.named, err = httpsfv.Marshal(named); err != nil || !whole {
		return t, err
	}
	t.unnamed, err = httpsfv.Marshal(unnamed)
	return t, err
}

// answer is a decided request on its way into fields.
type answer struct {
	event    *Event
	policies []int // places in texts
	texts    []policyText
	tightest *limiter.Decision
	retry    int64 // Retry-After, 0 for none
}

// set writes all fields but those of a body.
func (f *fields) set(h http.Header, e *Event, policies []int, retry int64) {
	if retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(retry, 10))
	}
	if len(e.Decisions) == 0 || len(f.write) == 0 {
		return
	}
	a := answer{event: e, policies: policies, texts: f.texts, tightest: tightest(e.Decisions), retry: retry}
	if text := a.policyList(f.policy); text != "" {
		h.Set("Ratelimit-Policy", text)
	}
	if a.tightest == nil {
		return
	}
	for _, write := range f.write {
		write(h, &a)
	}
}

// tells reports whether a decision has numbers for clients.
func tells(d limiter.Decision) bool {
	return !d.Shadow && d.Source != limiter.SourceFailOpen && d.Source != limiter.SourceFailClosed
}

// tightest is the decision for fields that have room for one, nil if none tells.
func tightest(decisions []limiter.Decision) *limiter.Decision {
	var first *limiter.Decision
	for i := range decisions {
		if d := &decisions[i]; tells(*d) && (first == nil || tighter(d, first)) {
			first = d
		}
	}
	return first
}

func tighter(a, b *limiter.Decision) bool {
	switch {
	case a.Allowed != b.Allowed:
		return !a.Allowed
	case a.RetryAfter != b.RetryAfter:
		return a.RetryAfter > b.RetryAfter
	case a.Remaining != b.Remaining:
		return a.Remaining < b.Remaining
	default:
		return a.ResetAfter > b.ResetAfter
	}
}

// writeTightest writes what three dialects have in common.
func (a *answer) writeTightest(h http.Header, prefix string) {
	h.Set(prefix+"Limit", strconv.FormatInt(a.tightest.Limit, 10))
	h.Set(prefix+"Remaining", strconv.FormatInt(a.tightest.Remaining, 10))
}

// reset is in seconds from now.
func (a *answer) reset() int64 {
	if a.retry > 0 {
		return a.retry
	}
	return seconds(a.tightest.ResetAfter)
}

// resetAt is in seconds since 1970.
func (a *answer) resetAt() int64 {
	wait := a.tightest.ResetAfter
	if a.retry > 0 {
		wait = time.Duration(a.retry) * time.Second
	}
	at := a.tightest.At.Add(wait)
	if at.Nanosecond() > 0 {
		return at.Unix() + 1
	}
	return at.Unix()
}

// untilMore is t of Draft11, 0 for none.
func (a *answer) untilMore(d limiter.Decision) int64 {
	switch {
	case d.Allowed && a.event.Outcome == OutcomeAdmitted:
		return seconds(d.ResetAfter)
	case d.RetryAfter == limiter.Never:
		return 0
	default:
		return seconds(d.RetryAfter) // 0 when it admits
	}
}

// policyList is the value of RateLimit-Policy.
func (a *answer) policyList(f form) string {
	if f == noPolicy {
		return ""
	}
	list := make([]string, 0, len(a.policies))
	for i, p := range a.policies {
		switch text := &a.texts[p]; {
		case a.event.Decisions[i].Shadow:
		case f == namedPolicy:
			list = append(list, text.named)
		case text.unnamed != "" && !a.outdone(i):
			list = append(list, text.unnamed)
		}
	}
	return strings.Join(list, ", ")
}

// outdone reports whether another policy in force has the same quota and a
// longer window, or the same window and comes first.
func (a *answer) outdone(i int) bool {
	own := a.texts[a.policies[i]].limit
	for j, p := range a.policies {
		other := a.texts[p]
		if j == i || a.event.Decisions[j].Shadow || other.unnamed == "" || other.limit.Max != own.Max {
			continue
		}
		if other.limit.Window > own.Window || other.limit.Window == own.Window && j < i {
			return true
		}
	}
	return false
}

// seconds rounds up.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}
