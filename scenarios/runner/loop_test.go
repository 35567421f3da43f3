package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// notebook is a limiter that writes down what it is asked, relative to the edge.
type notebook struct {
	limiter.Limiter
	edge time.Time
	mu   sync.Mutex
	all  []string
}

func (n *notebook) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	n.mu.Lock()
	n.all = append(n.all, fmt.Sprintf("%s %s", r.Key, r.At.Sub(n.edge)))
	n.mu.Unlock()
	return n.Limiter.Allow(ctx, r)
}

// opens denies before an instant of the request, and tells how long that is.
func opens(at time.Time) decide {
	return func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
		if r.At.Before(at) {
			return limiter.Decision{At: r.At, RetryAfter: at.Sub(r.At)}, nil
		}
		return limiter.Decision{Allowed: true, At: r.At}, nil
	}
}

// What 150 requests at the edge come to under 100/1m, for clients that ignore a
// denial, wait a constant time, or obey.
func TestRetryStorms(t *testing.T) {
	for _, row := range []struct {
		retry     string
		algorithm limiter.Algorithm
		attempts  int
		last      time.Duration // admission
	}{
		{"mode: ignore, wait: 1s", limiter.Fixed, 3150, 60 * time.Second},
		{"mode: ignore, wait: 1s", limiter.Log, 3150, 60 * time.Second},
		{"mode: ignore, wait: 1s", limiter.Counter, 3915, 90 * time.Second},
		{"mode: ignore, wait: 1s", limiter.GCRA, 935, 30 * time.Second},
		{"mode: constant, wait: 30s", limiter.Fixed, 152, 60 * time.Second},
		{"mode: constant, wait: 30s", limiter.Log, 152, 60 * time.Second},
		{"mode: constant, wait: 30s", limiter.Counter, 153, 90 * time.Second},
		{"mode: constant, wait: 30s", limiter.GCRA, 151, 30 * time.Second},
		{"mode: obey, round: 1s", limiter.Fixed, 151, 60 * time.Second},
		{"mode: obey, round: 1s", limiter.Log, 151, 60 * time.Second},
		{"mode: obey, round: 1s", limiter.Counter, 180, 90 * time.Second},
		{"mode: obey, round: 1s", limiter.GCRA, 180, 30 * time.Second},
	} {
		for _, inFlight := range []int{1, 64} {
			p := plan(t, scenarios.Virtual, "100/1m", "name: a, shape: burst, count: 150, retry: {"+row.retry+"}")
			c := config(p, newModelled(row.algorithm, p.Limit))
			c.MaxInFlight, c.Handled = inFlight, new(atomic.Int64)
			h := run(t, t.Context(), c)
			last := time.Duration(0)
			for i, r := range h.Results.All() {
				if r.Outcome == scenarios.Admitted {
					last = max(last, h.Plan.Arrivals[i].At)
				}
			}
			n := tally(h)
			if h.Results.Len() != row.attempts || n[scenarios.Admitted] != 150 || n[scenarios.Denied] != row.attempts-150 || last != row.last {
				t.Errorf("%s, %s, %d in flight: %v, last at %s; want %d attempts and %s", row.algorithm.Name, row.retry, inFlight, n, last, row.attempts, row.last)
			}
			if len(h.Plan.Arrivals) != row.attempts || h.Plan.Phases[0].Planned != 150 || c.Handled.Load() != int64(row.attempts) || h.Interrupted || h.Lost != nil {
				t.Errorf("%s, %s, %d in flight: %d handled, phases %+v", row.algorithm.Name, row.retry, inFlight, c.Handled.Load(), h.Plan.Phases)
			}
			if len(p.Arrivals) != 150 || p.Phases[1].Planned != 0 {
				t.Errorf("the plan itself was changed: %+v", p.Phases)
			}
		}
	}
}

// Who is asked what and when, in virtual time.
func TestClosedLoop(t *testing.T) {
	for _, row := range []struct {
		phase string
		want  []string
		why   string
	}{
		{"shape: burst, count: 3, retry: {mode: obey}", []string{"k0.1 0s", "k0.1 7s", "k0.1 7s", "k0.1 7s"}, "one denial, and then all that it wants at once"},
		{"shape: burst, count: 2, retry: {mode: ignore, wait: 4s}", []string{"k0.1 0s", "k0.1 0s", "k0.1 4s", "k0.1 4s", "k0.1 8s", "k0.1 8s"}, "each on its own"},
		{"shape: drip, for: 9s, every: 3s, retry: {mode: constant, wait: 4s}", []string{"k0.1 0s", "k0.1 4s", "k0.1 8s", "k0.1 8s", "k0.1 8s"}, "what is wanted meanwhile waits"},
		{"shape: herd, count: 1, retry: {mode: obey}}\nkeys: {count: 2", []string{"k0.1 0s", "k1.1 0s", "k0.1 7s", "k1.1 7s"}, "clients wait for themselves only"},
	} {
		p := plan(t, scenarios.Virtual, "1/1m", "name: a, "+row.phase)
		n := &notebook{Limiter: opens(p.Edge().Add(7 * time.Second)), edge: p.Edge()}
		h := run(t, t.Context(), config(p, n))
		if diff := cmp.Diff(row.want, n.all); diff != "" || sent(h) != len(row.want) {
			t.Errorf("%s: %d sent (-want +got):\n%s", row.why, sent(h), diff)
		}
		for i, r := range h.Results.All() {
			if want := p.Edge().Add(h.Plan.Arrivals[i].At); !r.Decision.At.Equal(want) {
				t.Errorf("%s: result %d was decided at %s and belongs to an arrival of %s", row.why, i, r.Decision.At, want)
			}
		}
	}
}

// In a loop too, requests of one instant are really concurrent.
func TestAClosedLoopIsConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, scenarios.Virtual, "1/1m", "name: a, shape: burst, count: 6, retry: {mode: ignore, wait: 1s, within: 1500ms}")
		var inside, most atomic.Int64
		c := config(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			return limiter.Decision{At: r.At}, nil
		}))
		c.MaxInFlight = 4
		if h := run(t, t.Context(), c); sent(h) != 12 || most.Load() != 4 {
			t.Errorf("%d sent, at most %d inside; want 12 and 4", sent(h), most.Load())
		}
	})
}

// An interrupt leaves retries unsent that are in no plan; they count as missed,
// or a run that was cut short would look complete.
func TestInterruptInAClosedLoop(t *testing.T) {
	for _, row := range []struct {
		retry string
		after int64
		want  map[scenarios.Outcome]int
		stops bool
		why   string
	}{
		{"mode: ignore, wait: 1s", 4, map[scenarios.Outcome]int{scenarios.Denied: 4, scenarios.Missed: 4}, true, "all four are to be sent again"},
		{"mode: ignore, wait: 1s", 6, map[scenarios.Outcome]int{scenarios.Denied: 6, scenarios.Missed: 4}, true, "two of the second round are not sent, nor the two that were sent again"},
		{"mode: obey", 1, map[scenarios.Outcome]int{scenarios.Denied: 1, scenarios.Missed: 4}, true, "one again, and three behind it"},
		{"mode: obey", 2, map[scenarios.Outcome]int{scenarios.Denied: 1, scenarios.Admitted: 1, scenarios.Missed: 3}, true, "three behind it"},
		{"mode: obey", 5, map[scenarios.Outcome]int{scenarios.Denied: 1, scenarios.Admitted: 4}, false, "with the last request: nothing is cut short"},
		{"mode: obey, within: 1s", 1, map[scenarios.Outcome]int{scenarios.Denied: 1}, false, "whose client gives up all the same"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p := plan(t, scenarios.Virtual, "1/1m", "name: a, shape: burst, count: 4, retry: {"+row.retry+"}")
		var calls atomic.Int64
		opened := opens(p.Edge().Add(7 * time.Second))
		h := run(t, ctx, config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if calls.Add(1) == row.after {
				cancel()
			}
			return opened(ctx, r)
		})))
		cancel()
		if diff := cmp.Diff(row.want, tally(h)); diff != "" || h.Interrupted != row.stops || calls.Load() != row.after {
			t.Errorf("%s: interrupted %t after %d calls (-want +got):\n%s", row.why, h.Interrupted, calls.Load(), diff)
		}
		checkLoop(t, h)
	}
}

// checkLoop holds what is true of every run whose clients retry.
func checkLoop(t *testing.T, h *runner.History) {
	t.Helper()
	if h.Results.Len() != len(h.Plan.Arrivals) {
		t.Errorf("%d results of %d arrivals", h.Results.Len(), len(h.Plan.Arrivals))
	}
	planned := make([]int64, len(h.Plan.Phases))
	for i, a := range h.Plan.Arrivals {
		planned[a.Phase]++
		if r := h.Results.At(i); r.Outcome == scenarios.Missed && r != (scenarios.Result{}) {
			t.Errorf("result %d: %+v, although it was not sent", i, r)
		}
	}
	for i, p := range h.Plan.Phases {
		if p.Planned != planned[i] {
			t.Errorf("phase %s has %d arrivals, %d are planned", p.Name, planned[i], p.Planned)
		}
	}
}

func TestLostTargetInAClosedLoop(t *testing.T) {
	for _, clock := range []scenarios.Clock{scenarios.Virtual, scenarios.Client} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, clock, "1/1m", "name: a, shape: burst, count: 40, retry: {mode: ignore, wait: 1s, within: 10s}")
			var calls atomic.Int64
			h := run(t, t.Context(), bubbled(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
				if calls.Add(1) > 3 {
					return limiter.Decision{}, limiter.ErrUnknown
				}
				return limiter.Decision{At: r.At}, nil
			})))
			// Three denied, ten lost, 27 and the retries of the three not sent.
			n := tally(h)
			if n[scenarios.Denied] != 3 || n[scenarios.Unknown] != 10 || h.Lost == nil || h.Interrupted || h.Plan.Phases[0].Planned != 40 || n[scenarios.Missed] < 27 {
				t.Errorf("%s: %v, lost %v, interrupted %t", clock, n, h.Lost, h.Interrupted)
			}
			checkLoop(t, h)
		})
	}
}

// A request that was not decided is not sent again: nobody knows whether it was
// counted.
func TestErrorsAreNotRetried(t *testing.T) {
	p := plan(t, scenarios.Virtual, "1/1m", "name: a, shape: burst, count: 6, retry: {mode: ignore, wait: 1s, within: 1500ms}")
	var calls atomic.Int64
	h := run(t, t.Context(), config(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
		return limiter.Decision{At: r.At}, []error{nil, limiter.ErrUnknown, reply("ERR")}[calls.Add(1)%3]
	})))
	retried := slices.IndexFunc(h.Plan.Phases, func(p scenarios.PlannedPhase) bool { return p.RetryOf == "a" })
	if h.Plan.Phases[retried].Planned != 2 || h.Results.Len() != 8 {
		t.Errorf("%v, phases %+v; want the two that were denied again", tally(h), h.Plan.Phases)
	}
}

// Clients that gave up because there may be no more retries are told of.
func TestCurbedClients(t *testing.T) {
	for within, retries := range map[string]int64{"10us": 9, "1001ms": scenarios.MaxRetries} { // one each tick, as long as there may be one
		p := plan(t, scenarios.Virtual, "1/1m", "name: a, shape: burst, count: 1, retry: {mode: constant, wait: 1us, within: "+within+"}")
		h := run(t, t.Context(), config(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
			return limiter.Decision{At: r.At}, nil
		})))
		if h.Curbed != (retries == scenarios.MaxRetries) || h.Interrupted || h.Plan.Phases[1].Planned != retries {
			t.Errorf("within %s: curbed %t after %d retries, want %d", within, h.Curbed, h.Plan.Phases[1].Planned, retries)
		}
	}
}
