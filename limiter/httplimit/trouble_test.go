package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

func TestErrors(t *testing.T) {
	down := errors.New("dial tcp 10.0.0.1:6379: connection refused")
	fails := deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) { return nil, down })
	miscounts := deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) {
		return []limiter.Decision{{Allowed: true}}, nil
	})
	slots := func(_ *http.Request, policy string) (httplimit.Name, error) {
		return httplimit.Name{Key: "k", Slot: policy}, nil
	}
	rows := []struct {
		why      string
		decider  httplimit.Decider
		identify func(*http.Request, string) (httplimit.Name, error)
	}{
		{"the decider fails", fails, byHeader},
		{"it decides about something else", miscounts, byHeader},
		{"one request in two slots", newMemory(policies), slots},
	}
	for _, row := range rows {
		for on, want := range map[httplimit.ErrorPolicy]int{httplimit.ErrorRefuses: 503, httplimit.ErrorPasses: 204} {
			c := service(row.decider)
			c.OnError, c.Identify = on, row.identify
			m := newLimit(t, c)
			w := send(m.Wrap(ok), "a", "GET", "/api/v1/feed")
			if w.Code != want || w.Header().Get("Retry-After") != "" || w.Header().Get("RateLimit") != "" {
				t.Errorf("%s: %s: got %d %v", row.why, on, w.Code, w.Header())
			}
			if want == 503 && w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: a refusal can be stored", row.why)
			}
			for _, p := range m.Counters().Policies() {
				if (p.Errors == 1) != (p.Policy == "feed" || p.Policy == "global") {
					t.Errorf("%s: policy %s counts %d errors", row.why, p.Policy, p.Errors)
				}
			}
		}
	}
}

// A client that went away costs nothing more and its handler does not run.
func TestClientGone(t *testing.T) {
	for _, when := range []string{"before the decision", "during the decision", "after the decision"} {
		t.Run(when, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			decider := newMemory(policies)
			c := service(deciding(func(ctx context.Context, j limiter.Joint) ([]limiter.Decision, error) {
				if when == "before the decision" {
					t.Error("the decider was asked")
				}
				if when == "during the decision" {
					cancel()
				}
				d, err := decider.Allow(ctx, j)
				cancel()
				return d, err
			}))
			c.OnError = httplimit.ErrorPasses
			m := newLimit(t, c)
			if when == "before the decision" {
				cancel()
			}
			h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }))
			r := httptest.NewRequest("GET", "/api/v1/feed", nil).WithContext(ctx)
			r.Header.Set("Who", "a")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusServiceUnavailable {
				t.Errorf("got %d: whoever still reads it must not take it for a success", w.Code)
			}
			if when != "after the decision" && len(decider.states) > 0 {
				t.Error("the client was charged")
			}
			if m.Counters().Requests(httplimit.OutcomeGone) != 1 {
				t.Error("not counted as gone")
			}
		})
	}
}

// An expired deadline is no client that went away: OnError decides.
func TestDeadline(t *testing.T) {
	c := service(newMemory(policies))
	c.OnError = httplimit.ErrorPasses
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	r := httptest.NewRequest("GET", "/api/v1/feed", nil).WithContext(ctx)
	r.Header.Set("Who", "a")
	w := httptest.NewRecorder()
	newLimit(t, c).Wrap(ok).ServeHTTP(w, r)
	if w.Code != http.StatusNoContent {
		t.Errorf("got %d, want the handler's answer", w.Code)
	}
}

// Decisions of a failure policy: fail-open tells no numbers, fail-closed is no
// exceeded quota and has no known wait.
func TestFailurePolicies(t *testing.T) {
	cause := errors.New("redis is away")
	rows := []struct {
		source  limiter.Source
		allowed bool
		status  int
		tells   bool
	}{
		{limiter.SourceFailOpen, true, 204, false},
		{limiter.SourceFailClosed, false, 503, false},
		{"local", true, 204, true},
		{"local", false, 429, true},
	}
	for _, row := range rows {
		c := service(deciding(func(_ context.Context, j limiter.Joint) ([]limiter.Decision, error) {
			d := limiter.Decision{Allowed: row.allowed, Limit: 30, Source: row.source, Cause: cause, At: noon}
			return slices.Repeat([]limiter.Decision{d}, len(j.Charges)), nil
		}))
		m := newLimit(t, c)
		w := send(m.Wrap(ok), "a", "GET", "/api/v1/feed")
		if w.Code != row.status {
			t.Errorf("%s %t: got %d, want %d", row.source, row.allowed, w.Code, row.status)
		}
		h := w.Header()
		if h.Get("Retry-After") != "" {
			t.Errorf("%s: a wait that nobody knows: %v", row.source, h)
		}
		if tells := h.Get("RateLimit") != "" && h.Get("X-RateLimit-Limit") != ""; tells != row.tells {
			t.Errorf("%s: tells numbers: %t, want %t", row.source, tells, row.tells)
		}
		if h.Get("RateLimit-Policy") != `"feed";q=30;w=60, "global";q=120;w=60` {
			t.Errorf("%s: the policies are known all the same: %v", row.source, h)
		}
		if n := m.Counters().Policies()[1].Failures[row.source]; n != 1 {
			t.Errorf("%s: counted %d times", row.source, n)
		}
	}
}
