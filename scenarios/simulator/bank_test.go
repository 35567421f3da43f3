package simulator

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// Each decision of each limit is that of the model, for keys that take turns and are
// forgotten now and then.
func TestBanksAreTheModels(t *testing.T) {
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				window := rapid.SampledFrom([]int64{1000, 1009, 60_000_000}).Draw(t, "window")
				limits := rapid.SliceOfNDistinct(rapid.Int64Range(0, 20), 1, 5, rapid.ID).Draw(t, "limits")
				slices.Sort(limits)
				g := Grid{Algorithms: []string{a.Name}, Windows: []time.Duration{time.Duration(window) * time.Microsecond}, Limits: limits, Keys: []Key{PerClient}}
				s, err := New(g, Options{Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				models := map[[2]int64]any{}
				gaps := rapid.OneOf(
					rapid.Just[int64](0), rapid.Int64Range(0, 3), rapid.Int64Range(0, window/10), rapid.Int64Range(0, 3*window),
					rapid.Map(rapid.SampledFrom(limits), func(limit int64) int64 { return window / max(limit, 1) }),
					rapid.Just(window-1), rapid.Just(window), rapid.Just(2*window),
				)
				at := rapid.OneOf(rapid.Int64Range(0, window), rapid.Int64Range(1e15, 1e15+2*window)).Draw(t, "start")
				for range rapid.IntRange(20, 100).Draw(t, "bursts") {
					at += gaps.Draw(t, "gap")
					e := Event{At: at, Client: uint32(rapid.IntRange(0, 1).Draw(t, "client"))}
					for range rapid.IntRange(1, 12).Draw(t, "times") {
						decideBoth(t, s, a, models, e)
					}
				}
			})
		})
	}
}

// decideBoth lets a simulation and the models decide a request.
func decideBoth(t *rapid.T, s *Simulation, a limiter.Algorithm, models map[[2]int64]any, e Event) {
	if err := s.Add([]Event{e}); err != nil {
		t.Fatal(err)
	}
	bank := s.budgets[0].banks[a.Family()]
	for i, max := range s.grid.Limits {
		key := [2]int64{int64(e.Client), max}
		if models[key] == nil {
			models[key] = a.Model.Init()
		}
		state, d := a.Model.Step(limiter.Limit{Max: max, Window: s.grid.Windows[0]}, models[key], limiter.Request{At: time.UnixMicro(e.At)})
		models[key] = state
		if refused := bank.refused[0]>>i&1 == 1; refused == d.Allowed {
			t.Fatalf("limit %d in %s at %d: refused %t, the model says %t", max, s.grid.Windows[0], e.At, refused, !d.Allowed)
		}
	}
}

// However long a log is, what is remembered is of two windows.
func TestMemoryIsOfTheWindow(t *testing.T) {
	g := Grid{Algorithms: []string{"counter", "gcra"}, Windows: []time.Duration{time.Second}, Limits: []int64{0, 1, 5}, Keys: []Key{PerRoute}}
	s, err := New(g, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	// One client asks all the time, and others once each, four a window; each of the
	// first hundred is busy meanwhile.
	at := int64(1e15)
	for client := range uint32(5000) {
		at += 250_000
		more := []Event{{At: at, Client: 0}}
		for range 1 + 100/(client+1) {
			more = append(more, Event{At: at, Client: client + 1})
		}
		if err := s.Add(more); err != nil {
			t.Fatal(err)
		}
	}
	b := s.budgets[0]
	if n := len(b.ledger.slots); n != 9 { // the last eight, and one
		t.Errorf("%d slots", n)
	}
	if n := len(b.ledger.places.pairs); n != 9 {
		t.Errorf("%d pairs", n)
	}
	for name, bank := range b.banks {
		if n := len(bank.rows.all); n != 10 {
			t.Errorf("%s: %d rows", name, n)
		}
		for _, row := range bank.rows.all {
			if len(row.ring) > 64 {
				t.Errorf("%s: a row remembers %d requests", name, len(row.ring))
			}
		}
	}
	for _, slot := range b.ledger.slots {
		if len(slot.ring) > 64 {
			t.Errorf("a slot remembers %d requests", len(slot.ring))
		}
	}
	if n := len(b.banks["gcra"].decider.(*cells).owed) / 3; n > 10 {
		t.Errorf("%d backlogs", n)
	}
}
