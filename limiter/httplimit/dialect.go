package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/rlbench/rlbench/limiter"
)

// Dialect is a set of response fields that tell limits. The drafts are revisions
// of draft-ietf-httpapi-ratelimit-headers, work in progress that nobody can
// claim to comply with; each constant says which one it was written to.
//
// Those that have room for one policy tell that of the tightest: of a denied
// request the one that denies longest, otherwise the one with the fewest units
// left (draft 07, section 4), and of equals the one that resets last. Reset is
// then the wait until that policy is unused again or, on a refusal with
// Retry-After, the same wait as Retry-After.
type Dialect string

// The dialects.
const (
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset, the latter in
	// seconds from now. No specification; Envoy and Reddit do it like this.
	XRateLimit Dialect = "x-ratelimit"
	// XRateLimitEpoch is XRateLimit with -Reset as Unix time in seconds, by the
	// clock that decided. GitHub does it like this.
	XRateLimitEpoch Dialect = "x-ratelimit-epoch"
	// Draft06 is RateLimit-Limit, -Remaining, -Reset and RateLimit-Policy of
	// revision 06 (December 2022): "100;w=60".
	Draft06 Dialect = "draft-06"
	// Draft07 is RateLimit and RateLimit-Policy of revision 07 (June 2023):
	// "limit=100, remaining=50, reset=5" and "100;w=60".
	//
	// Its policies have no name and must have a window in whole seconds and a
	// quota of their own (section 3.5): others are left out, and of those with
	// equal quotas all but the one with the longest window. Draft06 gets the
	// same list.
	Draft07 Dialect = "draft-07"
	// Draft11 is RateLimit and RateLimit-Policy of revisions 08 to 11 (October
	// 2024 to May 2026), with all policies: `"feed";r=12;t=30` and
	// `"feed";q=30;w=60`. w is absent from windows that are not whole seconds.
	//
	// t is an upper bound of the wait for more units than r: until the request
	// fits if its policy denied it, until the policy is unused again if the
	// request was admitted. It is absent when nothing was used, when no wait
	// helps and, so that Retry-After never points earlier than a t, from
	// policies that admit a request which others deny.
	Draft11 Dialect = "draft-11"
)

// dialect is how one Dialect is written.
type dialect struct {
	name   Dialect
	field  string // that no second dialect can write as well
	policy form
	write  func(http.Header, *answer)
}

var dialects = []dialect{
	{XRateLimit, "X-RateLimit-Reset", noPolicy, writeXRateLimit},
	{XRateLimitEpoch, "X-RateLimit-Reset", noPolicy, writeXRateLimitEpoch},
	{Draft06, "RateLimit-Reset", unnamedPolicy, writeDraft06},
	{Draft07, "RateLimit", unnamedPolicy, writeDraft07},
	{Draft11, "RateLimit", namedPolicy, writeDraft11},
}

// form is how RateLimit-Policy is written.
type form int

const (
	noPolicy form = iota
	unnamedPolicy
	namedPolicy
)

func (d dialect) collides(other dialect) bool {
	return d.field == other.field || d.policy != noPolicy && other.policy != noPolicy && d.policy != other.policy
}

// newFields looks dialects up and refuses those that do not go together.
func newFields(names []Dialect, policies []limiter.Policy) (*fields, error) {
	var f fields
	var errs []error
	var picked []dialect
	for _, name := range names {
		at := slices.IndexFunc(dialects, func(d dialect) bool { return d.name == name })
		if at < 0 {
			errs = append(errs, fmt.Errorf("dialect %q: no such dialect", name))
			continue
		}
		d := dialects[at]
		for _, other := range picked {
			if other.collides(d) {
				errs = append(errs, fmt.Errorf("dialects %q and %q write the same field", other.name, name))
			}
		}
		picked = append(picked, d)
		f.policy = max(f.policy, d.policy)
		f.write = append(f.write, d.write)
	}
	for _, p := range policies {
		text, err := newPolicyText(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("policy %q: %w", p.Name, err))
		}
		f.texts = append(f.texts, text)
	}
	return &f, errors.Join(errs...)
}

func writeXRateLimit(h http.Header, a *answer) {
	a.writeTightest(h, "X-Ratelimit-")
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(a.reset(), 10))
}

func writeXRateLimitEpoch(h http.Header, a *answer) {
	a.writeTightest(h, "X-Ratelimit-")
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(a.resetAt(), 10))
}

func writeDraft06(h http.Header, a *answer) {
	a.writeTightest(h, "Ratelimit-")
	h.Set("Ratelimit-Reset", strconv.FormatInt(a.reset(), 10))
}

func writeDraft07(h http.Header, a *answer) {
	d := a.tightest
	b := make([]byte, 0, 64)
	b = append(b, "limit="...)
	b = strconv.AppendInt(b, d.Limit, 10)
	b = append(b, ", remaining="...)
	b = strconv.AppendInt(b, d.Remaining, 10)
	b = append(b, ", reset="...)
	b = strconv.AppendInt(b, a.reset(), 10)
	h.Set("Ratelimit", string(b))
}

func writeDraft11(h http.Header, a *answer) {
	b := make([]byte, 0, 128)
	for i, d := range a.event.Decisions {
		if !tells(d) {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = append(b, a.texts[a.policies[i]].name...)
		b = append(b, ";r="...)
		b = strconv.AppendInt(b, d.Remaining, 10)
		if t := a.untilMore(d); t > 0 {
			b = append(b, ";t="...)
			b = strconv.AppendInt(b, t, 10)
		}
	}
	h.Set("Ratelimit", string(b))
}
