package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// quiet is a log without times.
func quiet(b *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLog(t *testing.T) {
	var log bytes.Buffer
	c := service(newMemory(policies))
	c.Observe = httplimit.Log(quiet(&log, slog.LevelInfo))
	h := newLimit(t, c).Wrap(ok)
	for range 11 {
		send(h, "a", "GET", "/api/v1/search")
	}
	send(h, "", "GET", "/else")
	want := `level=INFO msg="rate limit" route=/api/v1/search outcome=denied status=429 shadow=false denied_by=[search] retry_after=6s
level=INFO msg="rate limit" route="" outcome=unidentified status=403 shadow=false
`
	if log.String() != want {
		t.Errorf("logged\n%swant\n%s", &log, want)
	}
}

// Nothing that the package writes holds the key, the address or the path of a
// client, not even when they are in an error.
func TestNothingTellsWhoItWas(t *testing.T) {
	const who, address, path = "key-of-jane", "192.0.2.7", "/api/v1/users/jane"
	leak := fmt.Errorf("%s at %s: %w", who, address, limiter.ErrUnknown)
	named := func(*http.Request, string) (httplimit.Name, error) { return httplimit.Name{Key: who, Also: who}, nil }
	nameless := func(*http.Request, string) (httplimit.Name, error) { return httplimit.Name{}, leak }
	fails := deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) { return nil, leak })
	open := deciding(func(_ context.Context, j limiter.Joint) ([]limiter.Decision, error) {
		d := limiter.Decision{Allowed: true, Source: limiter.SourceFailOpen, Cause: leak}
		return []limiter.Decision{d}, nil
	})
	slots := func(_ *http.Request, policy string) (httplimit.Name, error) {
		return httplimit.Name{Key: who, Slot: who + policy}, nil
	}
	rows := []struct {
		why      string
		decider  httplimit.Decider
		identify func(*http.Request, string) (httplimit.Name, error)
		want     string // of the log
	}{
		{"decisions", newMemory(policies), named, "outcome=denied"},
		{"errors", fails, named, `error="fate unknown"`},
		{"a failure policy", open, named, "decided_by=fail-open"},
		{"no name", newMemory(policies), nameless, "outcome=unidentified"},
		{"different slots", newMemory(policies), slots, "different slots"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			var told bytes.Buffer
			c := service(row.decider)
			c.Identify = row.identify
			c.Routes = append(c.Routes, httplimit.Route{Pattern: "/api/v1/users/{user}", Charges: []httplimit.Charge{{Policy: "search"}}})
			if row.why == "different slots" {
				c.Routes[3].Charges = append(c.Routes[3].Charges, httplimit.Charge{Policy: "global"})
			}
			c.Dialects = []httplimit.Dialect{httplimit.XRateLimitEpoch, httplimit.Draft11}
			c.Observe = httplimit.Log(quiet(&told, slog.LevelDebug))
			m := newLimit(t, c)
			for range 11 {
				w := send(m.Wrap(ok), "", "GET", path)
				fmt.Fprintln(&told, w.Header(), w.Body)
			}
			if err := m.Counters().WriteOpenMetrics(&told); err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{who, address, "jane"} {
				if strings.Contains(told.String(), secret) {
					t.Errorf("%q is told in\n%s", secret, &told)
				}
			}
			if !strings.Contains(told.String(), row.want) {
				t.Errorf("no %s in\n%s", row.want, &told)
			}
		})
	}
}

// Levels: what needs a person is a warning, what was refused is worth a line.
func TestLogLevels(t *testing.T) {
	event := func(o httplimit.Outcome, ds ...limiter.Decision) httplimit.Event {
		return httplimit.Event{Outcome: o, Policies: []string{"feed"}, Decisions: ds, Err: errors.New("x")}
	}
	rows := []struct {
		event httplimit.Event
		want  string
	}{
		{event(httplimit.OutcomeAdmitted, limiter.Decision{Allowed: true}), "DEBUG"},
		{event(httplimit.OutcomeAdmitted, limiter.Decision{Shadow: true}), "INFO"},
		{event(httplimit.OutcomeAdmitted, limiter.Decision{Allowed: true, Source: limiter.SourceFailOpen, Cause: errors.New("x")}), "DEBUG"},
		{event(httplimit.OutcomeDenied, limiter.Decision{}), "INFO"},
		{event(httplimit.OutcomeErrored), "WARN"},
		{event(httplimit.OutcomeUnpriced), "WARN"},
		{event(httplimit.OutcomeGone), "DEBUG"},
	}
	for _, row := range rows {
		var log bytes.Buffer
		httplimit.Log(quiet(&log, slog.LevelDebug))(t.Context(), row.event)
		if !strings.HasPrefix(log.String(), "level="+row.want+" ") {
			t.Errorf("%s: want %s, got %s", row.event.Outcome, row.want, &log)
		}
	}
}
