package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// BenchmarkMiddleware is what the middleware adds to a request, the decision
// and the handler aside.
func BenchmarkMiddleware(b *testing.B) {
	admit := limiter.Decision{
		Allowed: true, Limit: 30, Remaining: 12, ResetAfter: time.Minute, At: noon, Source: limiter.SourceRedis,
	}
	deny := limiter.Decision{Limit: 30, RetryAfter: time.Minute, ResetAfter: time.Minute, At: noon, Source: limiter.SourceRedis}
	rows := []struct {
		name     string
		dialects []httplimit.Dialect
		decision limiter.Decision
		target   string
	}{
		{"no-fields", nil, admit, "/api/v1/trending"},
		{"x-ratelimit", []httplimit.Dialect{httplimit.XRateLimit}, admit, "/api/v1/trending"},
		{"draft-11", []httplimit.Dialect{httplimit.Draft11}, admit, "/api/v1/trending"},
		{"draft-11-denied", []httplimit.Dialect{httplimit.Draft11}, deny, "/api/v1/trending"},
		{"several-readings", nil, admit, "/api/v1/%2e/trending/"},
	}
	for _, row := range rows {
		b.Run(row.name, func(b *testing.B) {
			decisions := []limiter.Decision{row.decision, row.decision}
			c := service(deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) { return decisions, nil }))
			c.Dialects = row.dialects
			c.Identify = func(*http.Request, string) (httplimit.Name, error) { return httplimit.Name{Key: "a"}, nil }
			h := newLimit(b, c).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := httptest.NewRequest("GET", row.target, nil)
			w := discard{}
			b.ReportAllocs()
			for b.Loop() {
				clear(w)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// discard is a ResponseWriter that keeps nothing but its header.
type discard http.Header

func (d discard) Header() http.Header         { return http.Header(d) }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
