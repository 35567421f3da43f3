package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

func TestOutcomes(t *testing.T) {
	p := plan(t, scenarios.Virtual, "10/1s", "name: a, shape: burst, count: 1")
	for _, row := range []struct {
		d    limiter.Decision
		err  error
		want scenarios.Outcome
		why  string
	}{
		{limiter.Decision{Allowed: true}, nil, scenarios.Admitted, "a yes"},
		{limiter.Decision{}, nil, scenarios.Denied, "a no is no error"},
		{limiter.Decision{}, io.EOF, scenarios.Errored, "an error: certainly not counted"},
		{limiter.Decision{}, limiter.ErrUnknown, scenarios.Unknown, "a lost reply: perhaps counted"},
		{limiter.Decision{}, fmt.Errorf("decide in Redis: %w: %w", limiter.ErrUnknown, io.EOF), scenarios.Unknown, "however deep it is wrapped"},
		{limiter.Decision{}, reply("OOM command not allowed"), scenarios.Errored, "an answer that is an error"},
		{limiter.Decision{}, context.DeadlineExceeded, scenarios.Errored, "a timeout that was not marked is not guessed to be unknown"},
		{limiter.Decision{Allowed: true}, io.EOF, scenarios.Errored, "an error counts, whatever else is said"},
	} {
		h := run(t, t.Context(), config(p, decide(func(context.Context, limiter.Request) (limiter.Decision, error) { return row.d, row.err })))
		r := h.Results.At(0)
		if r.Outcome != row.want || !errors.Is(r.Err, row.err) || (r.Err == nil) != (row.err == nil) {
			t.Errorf("%s: outcome %d with error %v, want %d", row.why, r.Outcome, r.Err, row.want)
		}
		if decided := r.Outcome == scenarios.Admitted || r.Outcome == scenarios.Denied; !decided && r.Decision != (limiter.Decision{}) {
			t.Errorf("%s: a decision of a request that was not decided: %+v", row.why, r.Decision)
		}
	}
}

func TestRequestsAreWhatWasPlanned(t *testing.T) {
	p := plan(t, scenarios.Virtual, "10/1s", "name: a, at: edge - 2us, shape: burst, count: 2, cost: 3", "name: b, at: edge, for: 30us, shape: constant, count: 3}\nkeys: {count: 4")
	var got []limiter.Request
	h := run(t, t.Context(), config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
		got = append(got, r)
		return admit(ctx, r)
	})))
	if len(got) != len(p.Arrivals) {
		t.Fatalf("%d requests, planned are %d", len(got), len(p.Arrivals))
	}
	for i, a := range p.Arrivals {
		want := limiter.Request{Key: fmt.Sprintf("k%d.1", a.Key), At: p.Edge().Add(a.At), Cost: a.Cost}
		if !got[i].At.Equal(want.At) || got[i].Key != want.Key || got[i].Cost != want.Cost {
			t.Errorf("request %d is %+v, want %+v", i, got[i], want)
		}
		if r := h.Results.At(i); r.Planned != 0 || r.Sent > r.Done {
			t.Errorf("request %d: planned %s, sent %s, done %s", i, r.Planned, r.Sent, r.Done)
		}
	}
	if !h.Edge.Equal(p.Edge()) || h.Attempts != 1 || h.Misplaced != 0 || h.Interrupted || h.Lost != nil {
		t.Errorf("history %+v", h)
	}
}

func TestNothingPlanned(t *testing.T) {
	none := plan(t, scenarios.Virtual, "0/1s", "name: a, shape: burst, count: limit")
	if h := run(t, t.Context(), config(none, decide(admit))); h.Results.Len() != 0 || h.Interrupted {
		t.Errorf("nothing planned: %+v", h)
	}
}

func TestMaxInFlightHasToBePositive(t *testing.T) {
	for _, clock := range []scenarios.Clock{scenarios.Virtual, scenarios.Server, scenarios.Client} {
		c := config(plan(t, clock, "10/1s", "name: a, shape: burst, count: 1"), decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
			t.Error("something was sent")
			return limiter.Decision{}, nil
		}))
		for _, n := range []int{0, -1} {
			c.MaxInFlight = n
			if h, err := runner.Run(t.Context(), c); err == nil || h != nil || !strings.Contains(err.Error(), "max in flight is "+fmt.Sprint(n)) {
				t.Errorf("%s clock, %d in flight: %v and %v", clock, n, h, err)
			}
		}
	}
}

// Requests of one instant are really concurrent: this limiter answers nobody
// before k are inside, and in a bubble a wait for ever is an error.
func TestAGroupIsConcurrent(t *testing.T) {
	for _, row := range []struct {
		count, inFlight, inside int
		why                     string
	}{
		{8, 8, 8, "as many callers as requests"},
		{8, 64, 8, "no more callers than requests"},
		{24, 8, 8, "three rounds of eight"},
		{1000, 250, 250, "a wide one"},
	} {
		synctest.Test(t, func(t *testing.T) {
			rounds := make(chan chan struct{}, 1)
			rounds <- make(chan struct{})
			var inside, most atomic.Int64
			c := config(plan(t, scenarios.Virtual, "10/1s", fmt.Sprintf("name: a, shape: burst, count: %d", row.count)), decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
				round := <-rounds
				n := inside.Add(1)
				most.Store(max(most.Load(), n))
				if n == int64(row.inside) {
					inside.Store(0)
					close(round)
					rounds <- make(chan struct{})
				} else {
					rounds <- round
				}
				<-round
				return admit(ctx, r)
			}))
			c.MaxInFlight = row.inFlight
			if h := run(t, t.Context(), c); tally(h)[scenarios.Admitted] != row.count || most.Load() != int64(row.inside) {
				t.Errorf("%s: %v, at most %d inside", row.why, tally(h), most.Load())
			}
		})
	}
}

// Never more than MaxInFlight are inside, and never two of different instants.
func TestGroupsDoNotOverlap(t *testing.T) {
	for _, inFlight := range []int{1, 2, 7, 64} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, scenarios.Virtual, "10/1s",
				"name: a, shape: burst, count: 20", "name: b, at: 1us, shape: burst, count: 3", "name: c, at: 1us, for: 40us, shape: constant, count: 10", "name: d, at: 5us, shape: burst, count: 50")
			type door struct {
				inside int
				at, to time.Time
			}
			doors := make(chan door, 1)
			doors <- door{}
			most := 0
			c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
				d := <-doors
				switch {
				case d.inside > 0 && !d.at.Equal(r.At):
					t.Errorf("a request of %s while one of %s is inside", r.At, d.at)
				case r.At.Before(d.to):
					t.Errorf("a request of %s after one of %s: time runs backwards", r.At, d.to)
				}
				d.inside, d.at, d.to = d.inside+1, r.At, r.At
				most = max(most, d.inside)
				doors <- d
				time.Sleep(time.Millisecond) // lets the others in
				d = <-doors
				d.inside--
				doors <- d
				return admit(ctx, r)
			}))
			c.MaxInFlight = inFlight
			h := run(t, t.Context(), c)
			// 50 of phase d, and the one of phase c that falls on the same microsecond.
			if want := min(inFlight, 51); most != want || sent(h) != len(p.Arrivals) {
				t.Errorf("%d in flight: at most %d inside, want %d; %d of %d sent", inFlight, most, want, sent(h), len(p.Arrivals))
			}
		})
	}
}

// How many callers there are changes no count.
func TestCountsDoNotDependOnMaxInFlight(t *testing.T) {
	for _, b := range scenarios.Scripted() {
		s, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if s.Service != "" || s.Overload.Present() {
			continue // it has no virtual time
		}
		s.Clock, s.Drain = scenarios.Virtual, scenarios.Expr{}
		p, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		p = p.Faultless() // a model breaks in no way
		for _, a := range limiter.Algorithms {
			var counts []map[scenarios.Outcome]int
			for _, inFlight := range []int{1, 64} {
				c := config(p, nil)
				m := newModelled(a, p.Limit)
				for i, phase := range p.Phases {
					c.Limiters[i] = m.under(phase.Limit)
				}
				c.MaxInFlight = inFlight
				counts = append(counts, tally(run(t, t.Context(), c)))
			}
			if !maps.Equal(counts[0], counts[1]) || counts[0][scenarios.Admitted] == 0 {
				t.Errorf("%s with %s: %v with one caller, %v with 64", b.Name, a.Name, counts[0], counts[1])
			}
		}
	}
}

// Whatever fails and whenever it is interrupted, every request has one outcome,
// and what was handled is what was sent.
func TestEveryRequestIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plan(t, scenarios.Virtual, "10/1s",
			fmt.Sprintf("name: a, shape: burst, count: %d", rapid.IntRange(0, 30).Draw(t, "burst")),
			fmt.Sprintf("name: b, for: 1s, shape: poisson, count: %d", rapid.IntRange(0, 30).Draw(t, "count")))
		fates := rapid.SliceOfN(rapid.SampledFrom([]error{nil, nil, nil, io.EOF, limiter.ErrUnknown, reply("ERR")}), 1, 20).Draw(t, "fates")
		stopAt := rapid.Int64Range(0, 80).Draw(t, "stop at")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var calls, handled atomic.Int64
		c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			n := calls.Add(1)
			if n == stopAt {
				cancel()
			}
			if ctx.Err() != nil {
				t.Error("what was sent is cancelled")
			}
			return limiter.Decision{Allowed: n%2 == 0, At: r.At}, fates[int(n)%len(fates)]
		}))
		if stopAt == 0 {
			cancel()
		}
		c.MaxInFlight = rapid.IntRange(1, 8).Draw(t, "in flight")
		c.Handled = &handled
		h, err := runner.Run(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		n := tally(h)
		sum := n[scenarios.Admitted] + n[scenarios.Denied] + n[scenarios.Errored] + n[scenarios.Unknown] + n[scenarios.Missed]
		if sum != len(p.Arrivals) || h.Results.Len() != len(p.Arrivals) {
			t.Errorf("%v sum to %d of %d results, planned are %d", n, sum, h.Results.Len(), len(p.Arrivals))
		}
		if int64(sent(h)) != calls.Load() || handled.Load() != calls.Load() {
			t.Errorf("%d calls, %d count as sent, %d as handled", calls.Load(), sent(h), handled.Load())
		}
		if want := ctx.Err() != nil && n[scenarios.Missed] > 0; h.Interrupted != want {
			t.Errorf("%v: interrupted %t", n, h.Interrupted)
		}
		if failed := n[scenarios.Errored] + n[scenarios.Unknown]; h.Lost != nil && failed < 10 && failed < sent(h) {
			t.Errorf("%v: lost %v, although not even ten failed, nor all", n, h.Lost)
		}
		for i, r := range h.Results.All() {
			failed := r.Outcome == scenarios.Errored || r.Outcome == scenarios.Unknown
			if (r.Err != nil) != failed || r.Outcome == scenarios.Missed && r != (scenarios.Result{}) {
				t.Errorf("result %d: %+v", i, r)
			}
		}
	})
}
