package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// case of the fields: policies, and what was decided about them.
type fieldsCase struct {
	policies  []limiter.Policy
	decisions []limiter.Decision
	header    http.Header
	status    int
}

// drawCase sends one request through a middleware that writes these dialects,
// with decisions drawn at random.
func drawCase(t *rapid.T, dialects ...httplimit.Dialect) fieldsCase {
	var c fieldsCase
	var charges []httplimit.Charge
	for i := range rapid.IntRange(1, 4).Draw(t, "policies") {
		p := limiter.Policy{
			Name: fmt.Sprintf(`p%d"\ `, i),
			Limit: limiter.Limit{
				Max: rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, limiter.MaxMax)).Draw(t, "max"),
				Window: rapid.OneOf(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 90 * time.Second, 31 * 24 * time.Hour}),
					rapid.Map(rapid.Int64Range(1000, 100_000_000), micros)).Draw(t, "window"),
			},
			Shadow: rapid.Bool().Draw(t, "shadow"),
		}
		wait := rapid.Map(rapid.Int64Range(0, 2*p.Limit.Window.Microseconds()), micros)
		d := limiter.Decision{
			Allowed:    rapid.Bool().Draw(t, "allowed"),
			Limit:      p.Limit.Max,
			Remaining:  rapid.Int64Range(0, p.Limit.Max).Draw(t, "remaining"),
			ResetAfter: wait.Draw(t, "reset"),
			At:         noon.Add(micros(rapid.Int64Range(0, 10_000_000).Draw(t, "at_us"))),
			Source:     rapid.SampledFrom([]limiter.Source{limiter.SourceRedis, "local"}).Draw(t, "source"),
			Shadow:     p.Shadow,
		}
		if !d.Allowed {
			d.RetryAfter = rapid.OneOf(rapid.Just(limiter.Never), rapid.Map(wait, func(w time.Duration) time.Duration { return w + 1000 })).Draw(t, "retry")
		}
		c.policies, c.decisions = append(c.policies, p), append(c.decisions, d)
		charges = append(charges, httplimit.Charge{Policy: p.Name})
	}
	m, err := httplimit.New(httplimit.Config{
		Decider:        deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) { return c.decisions, nil }),
		Policies:       c.policies,
		Default:        httplimit.Route{Charges: charges},
		Identify:       byHeader,
		OnUnidentified: httplimit.Unidentified{Status: 400},
		OnError:        httplimit.ErrorRefuses,
		Dialects:       dialects,
		Jitter:         3 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := send(m.Wrap(ok), "a", "GET", "/")
	c.header, c.status = w.Header(), w.Code
	c.checkRetryAfter(t)
	return c
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// ceil is d in seconds, rounded up another way than the code does.
func ceil(d time.Duration) int64 { return (d.Microseconds() + 999_999) / 1_000_000 }

func (c fieldsCase) allowed() bool { return limiter.Allowed(c.decisions) }

// wait is the joint one.
func (c fieldsCase) wait() time.Duration {
	var wait time.Duration
	for _, d := range c.decisions {
		if !d.Allowed && !d.Shadow {
			wait = max(wait, d.RetryAfter)
		}
	}
	return wait
}

func (c fieldsCase) checkRetryAfter(t *rapid.T) {
	text := c.header.Get("Retry-After")
	switch {
	case c.allowed() && (c.status != 204 || text != ""), !c.allowed() && c.status != 429:
		t.Fatalf("got %d %v", c.status, c.header)
	case c.allowed():
	case c.wait() == limiter.Never:
		if text != "" {
			t.Fatalf("Retry-After %q although no wait helps", text)
		}
	default:
		if s := integer(t, text); s < ceil(c.wait()) || s > ceil(c.wait())+3 || s < 1 {
			t.Fatalf("Retry-After %d for a wait of %s", s, c.wait())
		}
	}
}

// tightest checks that fields with room for one policy tell a right one: nobody
// is tighter. It returns those that the numbers fit.
func (c fieldsCase) tightest(t *rapid.T, limit, remaining int64) []limiter.Decision {
	var inForce, fit []limiter.Decision
	for _, d := range c.decisions {
		if !d.Shadow {
			inForce = append(inForce, d)
		}
	}
	for _, d := range inForce {
		if d.Limit != limit || d.Remaining != remaining || d.Allowed != c.allowed() {
			continue
		}
		if slices.ContainsFunc(inForce, func(o limiter.Decision) bool {
			return !c.allowed() && o.RetryAfter > d.RetryAfter || c.allowed() && o.Remaining < d.Remaining
		}) {
			continue
		}
		fit = append(fit, d)
	}
	if len(fit) == 0 {
		t.Fatalf("limit %d, remaining %d is of no tightest policy of %+v", limit, remaining, c.decisions)
	}
	return fit
}

// checkReset compares a reset of so many seconds with the tightest decisions.
func (c fieldsCase) checkReset(t *rapid.T, reset int64, tightest []limiter.Decision) {
	if retry := c.header.Get("Retry-After"); retry != "" {
		if strconv.FormatInt(reset, 10) != retry {
			t.Fatalf("reset %d points elsewhere than Retry-After %s", reset, retry)
		}
		return
	}
	if !slices.ContainsFunc(tightest, func(d limiter.Decision) bool { return ceil(d.ResetAfter) == reset }) {
		t.Fatalf("reset %d is of none of %+v", reset, tightest)
	}
}

// silent reports whether all policies are in shadow; then no field may be there.
func (c fieldsCase) silent(t *rapid.T) bool {
	for _, p := range c.policies {
		if !p.Shadow {
			return false
		}
	}
	if len(c.header) > 0 {
		t.Fatalf("a shadow shows: %v", c.header)
	}
	return true
}

var digits = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)

func integer(t *rapid.T, s string) int64 {
	if !digits.MatchString(s) {
		t.Fatalf("%q is no whole number", s)
	}
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// one is the value of a field that must be there once.
func (c fieldsCase) one(t *rapid.T, field string) string {
	if values := c.header.Values(field); len(values) != 1 {
		t.Fatalf("%s: %q", field, values)
	}
	return c.header.Get(field)
}

func TestXRateLimitFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch := rapid.Bool().Draw(t, "epoch")
		dialect := httplimit.XRateLimit
		if epoch {
			dialect = httplimit.XRateLimitEpoch
		}
		c := drawCase(t, dialect)
		if c.silent(t) {
			return
		}
		reset := integer(t, c.one(t, "X-RateLimit-Reset"))
		fit := c.tightest(t, integer(t, c.one(t, "X-RateLimit-Limit")), integer(t, c.one(t, "X-RateLimit-Remaining")))
		if !epoch {
			c.checkReset(t, reset, fit)
			return
		}
		if !slices.ContainsFunc(fit, func(d limiter.Decision) bool {
			wait := d.ResetAfter
			if retry := c.header.Get("Retry-After"); retry != "" {
				wait = time.Duration(integer(t, retry)) * time.Second
			}
			return (d.At.Add(wait).UnixMicro()+999_999)/1_000_000 == reset
		}) {
			t.Fatalf("reset %d is no instant of %+v", reset, fit)
		}
	})
}

func TestDraft06And07Fields(t *testing.T) {
	form := regexp.MustCompile(`^limit=([0-9]+), remaining=([0-9]+), reset=([0-9]+)$`)
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t, httplimit.Draft06, httplimit.Draft07)
		if c.silent(t) {
			return
		}
		limit, remaining := integer(t, c.one(t, "RateLimit-Limit")), integer(t, c.one(t, "RateLimit-Remaining"))
		reset := integer(t, c.one(t, "RateLimit-Reset"))
		c.checkReset(t, reset, c.tightest(t, limit, remaining))

		in07 := form.FindStringSubmatch(c.one(t, "RateLimit"))
		if in07 == nil || integer(t, in07[1]) != limit || integer(t, in07[2]) != remaining || integer(t, in07[3]) != reset {
			t.Fatalf("draft 07 says %q, draft 06 %d %d %d", c.header.Get("RateLimit"), limit, remaining, reset)
		}
		c.checkUnnamed(t)
	})
}

// checkUnnamed checks RateLimit-Policy of drafts 06 and 07: for each quota in
// force the longest whole window.
func (c fieldsCase) checkUnnamed(t *rapid.T) {
	want := map[int64]int64{}
	for _, p := range c.policies {
		if !p.Shadow && p.Limit.Window%time.Second == 0 {
			want[p.Limit.Max] = max(want[p.Limit.Max], int64(p.Limit.Window/time.Second))
		}
	}
	list, err := httpsfv.UnmarshalList(c.header.Values("RateLimit-Policy"))
	if err != nil || len(list) != len(want) {
		t.Fatalf("%q: %v, want %v", c.header.Values("RateLimit-Policy"), err, want)
	}
	for _, member := range list {
		item := member.(httpsfv.Item)
		w, _ := item.Params.Get("w")
		if w == nil || want[item.Value.(int64)] != w {
			t.Fatalf("%q, want %v", c.header.Get("RateLimit-Policy"), want)
		}
	}
}

func TestDraft11Fields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t, httplimit.Draft11)
		if c.silent(t) {
			return
		}
		policies, err := httpsfv.UnmarshalList(c.header.Values("RateLimit-Policy"))
		if err != nil {
			t.Fatal(err)
		}
		limits, err := httpsfv.UnmarshalList(c.header.Values("RateLimit"))
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for i, p := range c.policies {
			if p.Shadow {
				continue
			}
			if next >= min(len(policies), len(limits)) {
				t.Fatalf("policy %d is missing in %v", i, c.header)
			}
			checkPolicyItem(t, policies[next].(httpsfv.Item), p)
			c.checkLimitItem(t, limits[next].(httpsfv.Item), p.Name, c.decisions[i])
			next++
		}
		if len(policies) != next || len(limits) != next {
			t.Fatalf("more than the %d policies in force in %v", next, c.header)
		}
	})
}

func checkPolicyItem(t *rapid.T, item httpsfv.Item, p limiter.Policy) {
	q, _ := item.Params.Get("q")
	w, hasWindow := item.Params.Get("w")
	whole := p.Limit.Window%time.Second == 0
	if item.Value != p.Name || q != p.Limit.Max || hasWindow != whole || whole && w != int64(p.Limit.Window/time.Second) {
		t.Fatalf("%q q=%v w=%v, want %+v", item.Value, q, w, p)
	}
	checkParams(t, item, "q", "w")
}

func (c fieldsCase) checkLimitItem(t *rapid.T, item httpsfv.Item, name string, d limiter.Decision) {
	want := int64(0)
	switch {
	case c.allowed():
		want = ceil(d.ResetAfter)
	case !d.Allowed && d.RetryAfter != limiter.Never:
		want = ceil(d.RetryAfter)
	}
	r, _ := item.Params.Get("r")
	got, has := item.Params.Get("t")
	if item.Value != name || r != d.Remaining || has != (want > 0) || has && got != want {
		t.Fatalf("%q r=%v t=%v, want %s, t=%d and %+v", item.Value, r, got, name, want, d)
	}
	if retry := c.header.Get("Retry-After"); has && retry != "" && integer(t, retry) < want {
		t.Fatalf("Retry-After %s points earlier than t=%d", retry, want)
	}
	checkParams(t, item, "r", "t")
}

// checkParams finds parameters that nobody expects: pk would be an identity.
func checkParams(t *rapid.T, item httpsfv.Item, known ...string) {
	for _, name := range item.Params.Names() {
		if !slices.Contains(known, name) {
			t.Fatalf("parameter %s", name)
		}
	}
}

// Drafts 06 and 07 forbid two policies with one quota; the longer window stays.
func TestOneWindowForAQuota(t *testing.T) {
	c := service(nil)
	c.Policies, c.Routes, c.Default = nil, nil, httplimit.Route{}
	for i, window := range []time.Duration{time.Second, time.Hour, time.Minute, 1500 * time.Millisecond, time.Hour} {
		name := "p" + strconv.Itoa(i)
		c.Policies = append(c.Policies, limiter.Policy{Name: name, Algorithm: limiter.Log, Limit: limiter.Limit{Max: 9, Window: window}})
		c.Default.Charges = append(c.Default.Charges, httplimit.Charge{Policy: name})
	}
	c.Decider = newMemory(c.Policies)
	c.Dialects = []httplimit.Dialect{httplimit.Draft07}
	w := send(newLimit(t, c).Wrap(ok), "a", "GET", "/")
	if got := w.Header().Get("RateLimit-Policy"); got != "9;w=3600" {
		t.Errorf("RateLimit-Policy: %s", got)
	}
}

// The fields as people see them.
func TestFieldsByExample(t *testing.T) {
	rows := []struct {
		dialects []httplimit.Dialect
		want     [2]map[string]string // of an admission and of a denial
	}{
		{[]httplimit.Dialect{httplimit.XRateLimit}, [2]map[string]string{
			{"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "6"},
			{"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "6", "Retry-After": "6"},
		}},
		{[]httplimit.Dialect{httplimit.XRateLimitEpoch}, [2]map[string]string{
			{"X-RateLimit-Reset": "1767268806"}, {"X-RateLimit-Reset": "1767268806"},
		}},
		{[]httplimit.Dialect{httplimit.Draft06}, [2]map[string]string{
			{"RateLimit-Limit": "10", "RateLimit-Remaining": "9", "RateLimit-Reset": "6", "RateLimit-Policy": "10;w=60, 120;w=60"},
			{"RateLimit-Limit": "10", "RateLimit-Remaining": "0", "RateLimit-Reset": "6", "RateLimit-Policy": "10;w=60, 120;w=60"},
		}},
		{[]httplimit.Dialect{httplimit.Draft07}, [2]map[string]string{
			{"RateLimit": "limit=10, remaining=9, reset=6", "RateLimit-Policy": "10;w=60, 120;w=60"},
			{"RateLimit": "limit=10, remaining=0, reset=6", "RateLimit-Policy": "10;w=60, 120;w=60"},
		}},
		{[]httplimit.Dialect{httplimit.Draft11}, [2]map[string]string{
			{"RateLimit": `"search";r=9;t=6, "global";r=119;t=60`, "RateLimit-Policy": `"search";q=10;w=60, "global";q=120;w=60`},
			{"RateLimit": `"search";r=0;t=6, "global";r=110`, "RateLimit-Policy": `"search";q=10;w=60, "global";q=120;w=60`},
		}},
		{nil, [2]map[string]string{{}, {"Retry-After": "6"}}},
	}
	for _, row := range rows {
		c := service(newMemory(policies))
		c.Dialects = row.dialects
		h := newLimit(t, c).Wrap(ok)
		for i := range 11 {
			w := send(h, "a", "GET", "/api/v1/search")
			if i > 0 && i < 10 {
				continue
			}
			for field, want := range row.want[i/10] {
				if got := w.Header().Get(field); got != want {
					t.Errorf("%v, request %d: %s: %q, want %q", row.dialects, i+1, field, got, want)
				}
			}
		}
	}
}
