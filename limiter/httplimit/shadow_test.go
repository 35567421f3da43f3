package httplimit_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// The same trace gets the same decisions and charges whether they are enforced
// or not (B142).
func TestShadowDecidesAlike(t *testing.T) {
	trace := func(shadow bool) ([]httplimit.Event, []limiter.Joint, []httplimit.PolicyCounts, int) {
		decider, seen, refused := newMemory(policies), &events{}, 0
		c := service(decider)
		c.Shadow, c.Observe = shadow, seen.observe
		c.OnUnidentified = httplimit.Unidentified{Policy: "nobody"}
		m := newLimit(t, c)
		h := m.Wrap(ok)
		for i := range 400 {
			who := []string{"a", "b", ""}[i%3]
			w := send(h, who, "GET", []string{"/api/v1/search", "/api/v1/feed", "/", "/api/v1/trending"}[i%4])
			if w.Code != http.StatusNoContent {
				refused++
			}
			if shadow && len(w.Header()) > 0 {
				t.Fatalf("a shadow sets %v", w.Header())
			}
			decider.sleep(123457 * 1000)
		}
		return seen.all, decider.asked, m.Counters().Policies(), refused
	}
	enforced, charges, counts, refused := trace(false)
	would, wouldCharge, wouldCount, none := trace(true)
	if none != 0 || refused < 100 || refused > 300 {
		t.Fatalf("%d refused, %d in shadow", refused, none)
	}
	if diff := cmp.Diff(charges, wouldCharge); diff != "" {
		t.Error("charges differ", diff)
	}
	if diff := cmp.Diff(enforced, would, cmpopts.IgnoreFields(httplimit.Event{}, "Shadow"), cmpopts.EquateErrors()); diff != "" {
		t.Error("decisions differ", diff)
	}
	for i := range counts {
		counts[i].Denied, counts[i].WouldDeny = counts[i].WouldDeny, counts[i].Denied
	}
	if diff := cmp.Diff(counts, wouldCount); diff != "" {
		t.Error("what would be denied is not what was", diff)
	}
}

// A policy in shadow denies nobody, is counted and is told to nobody.
func TestShadowPolicy(t *testing.T) {
	shadowed := slices.Clone(policies)
	shadowed[2].Shadow = true // search, 10
	c := service(newMemory(shadowed))
	c.Policies = shadowed
	m := newLimit(t, c)
	for i := range 15 {
		w := send(m.Wrap(ok), "a", "GET", "/api/v1/search")
		if w.Code != http.StatusNoContent {
			t.Fatalf("request %d got %d", i+1, w.Code)
		}
		for field, values := range w.Header() {
			if strings.Contains(strings.Join(values, ","), "search") {
				t.Fatalf("%s tells of a policy in shadow: %q", field, values)
			}
		}
		if got := w.Header().Get("X-RateLimit-Limit"); got != "120" {
			t.Fatalf("the tightest limit in force is 120, not %s", got)
		}
	}
	if got := m.Counters().Policies()[2]; got.Admitted != 10 || got.WouldDeny != 5 || got.Denied != 0 {
		t.Errorf("counted %+v", got)
	}
}
