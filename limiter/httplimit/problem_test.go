package httplimit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

func TestProblems(t *testing.T) {
	denies := func(retry ...limiter.Decision) httplimit.Decider {
		return deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) { return retry, nil })
	}
	no := func(d limiter.Decision) limiter.Decision { d.Limit, d.Source = 30, limiter.SourceRedis; return d }
	yes := limiter.Decision{Allowed: true, Limit: 120, Remaining: 3, Source: limiter.SourceRedis}
	rows := []struct {
		why     string
		decider httplimit.Decider
		who     string
		want    httplimit.Problem
	}{
		{"a wait", denies(no(limiter.Decision{RetryAfter: 1500e6}), yes), "a", httplimit.Problem{
			Type: httplimit.TypeQuotaExceeded, Title: "Quota exceeded", Status: 429,
			Detail: "Retry in 2 seconds.", ViolatedPolicies: []string{"feed"},
		}},
		{"two waits", denies(no(limiter.Decision{RetryAfter: 1000}), no(limiter.Decision{RetryAfter: 1e9})), "a", httplimit.Problem{
			Type: httplimit.TypeQuotaExceeded, Title: "Quota exceeded", Status: 429,
			Detail: "Retry in 1 second.", ViolatedPolicies: []string{"feed", "global"},
		}},
		{"no wait helps", denies(no(limiter.Decision{RetryAfter: limiter.Never}), no(limiter.Decision{RetryAfter: 1e9})), "a", httplimit.Problem{
			Type: httplimit.TypeQuotaExceeded, Title: "Quota exceeded", Status: 429,
			Detail:           "Do not retry: the request costs more than is ever available (feed).",
			ViolatedPolicies: []string{"feed", "global"},
		}},
		{"a policy in shadow is not named", denies(no(limiter.Decision{RetryAfter: limiter.Never, Shadow: true}), no(limiter.Decision{RetryAfter: 1e9})), "a", httplimit.Problem{
			Type: httplimit.TypeQuotaExceeded, Title: "Quota exceeded", Status: 429,
			Detail: "Retry in 1 second.", ViolatedPolicies: []string{"global"},
		}},
		{"nor is its wait", denies(no(limiter.Decision{RetryAfter: limiter.Never, Shadow: true}), no(limiter.Decision{RetryAfter: limiter.Never})), "a", httplimit.Problem{
			Type: httplimit.TypeQuotaExceeded, Title: "Quota exceeded", Status: 429,
			Detail:           "Do not retry: the request costs more than is ever available (global).",
			ViolatedPolicies: []string{"global"},
		}},
		{"one of two waits is not known", denies(no(limiter.Decision{RetryAfter: 1e9}), no(limiter.Decision{})), "a", httplimit.Problem{
			Type: httplimit.TypeQuotaExceeded, Title: "Quota exceeded", Status: 429,
			ViolatedPolicies: []string{"feed", "global"},
		}},
		{"no decision", deciding(func(context.Context, limiter.Joint) ([]limiter.Decision, error) { return nil, errors.New("no") }), "a", httplimit.Problem{
			Type: httplimit.TypeReducedCapacity, Title: "Temporarily reduced capacity", Status: 503,
			Detail: "The request could not be checked against its quota.",
		}},
		{"no name", denies(), "", httplimit.Problem{
			Type: "about:blank", Title: "Forbidden", Status: 403, Detail: "The request does not say who sent it.",
		}},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			h := newLimit(t, service(row.decider)).Wrap(ok)
			w := send(h, row.who, "GET", "/api/v1/feed")
			var got httplimit.Problem
			dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if w.Code != row.want.Status || w.Header().Get("Content-Type") != "application/problem+json" ||
				w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("got %d %v", w.Code, w.Header())
			}
			head := send(h, row.who, "HEAD", "/api/v1/feed")
			if head.Body.Len() > 0 || head.Code != w.Code || !slices.Equal(head.Header()["Content-Type"], w.Header()["Content-Type"]) {
				t.Errorf("HEAD got %d %v %q", head.Code, head.Header(), head.Body)
			}
		})
	}
}

// A length that was meant for another body would cut this one.
func TestProblemHasItsOwnLength(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "3")
	httplimit.Problem{Status: 429}.Write(w, httptest.NewRequest("GET", "/", nil))
	if got := w.Header().Get("Content-Length"); got != "" {
		t.Errorf("Content-Length %s", got)
	}
}

func TestRefusalOfOnesOwn(t *testing.T) {
	c := service(newMemory(policies))
	c.Refuse = func(w http.ResponseWriter, _ *http.Request, p httplimit.Problem) {
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte("slow down: " + p.Detail))
	}
	h := newLimit(t, c).Wrap(ok)
	for range 10 {
		send(h, "a", "GET", "/api/v1/search")
	}
	w := send(h, "a", "GET", "/api/v1/search")
	if w.Code != 429 || w.Body.String() != "slow down: Retry in 6 seconds." || w.Header().Get("Retry-After") != "6" {
		t.Errorf("got %d %v %q", w.Code, w.Header(), w.Body)
	}
}
