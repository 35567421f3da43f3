package scenarios_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Where nobody retries, an agenda is the plan.
func TestAnAgendaWithoutRetriesIsThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := read("10/1s", drawn(t, "a"), drawn(t, "b"))
		if err != nil {
			t.Fatal(err)
		}
		s.Keys.Count = rapid.IntRange(1, 5).Draw(t, "keys")
		p, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		agenda, n := scenarios.NewAgenda(p), 0
		for at, ok := agenda.Next(); ok; at, ok = agenda.Next() {
			for _, i := range agenda.Take() {
				if i != n || p.Arrivals[n] != agenda.Arrival(i) || agenda.Arrival(i).At != at {
					t.Fatalf("at %s number %d is %+v, want number %d, %+v", at, i, agenda.Arrival(i), n, p.Arrivals[n])
				}
				agenda.Tell(i, at, deny(time.Second)) // nobody cares
				n++
			}
		}
		if n != len(p.Arrivals) || agenda.Plan().Hash() != p.Hash() || p.Retries() {
			t.Errorf("%d of %d taken, hash %s and %s", n, len(p.Arrivals), agenda.Plan().Hash(), p.Hash())
		}
	})
}

// drawnRetry is how clients retry, as YAML.
func drawnRetry(t *rapid.T) string {
	retry := rapid.SampledFrom([]string{
		"mode: obey", "mode: obey, round: 7us", "mode: obey, jitter: 5us", "mode: constant, wait: 3us", "mode: ignore, wait: 4us", "mode: ignore, wait: 1us, jitter: 9us",
	}).Draw(t, "retry")
	return fmt.Sprintf(", retry: {%s, within: %dus}", retry, rapid.IntRange(1, 60).Draw(t, "within"))
}

// Whatever a limiter answers, and however late: instants never decrease, a client
// that does not ignore denials has one request in flight at most, and the plan
// accounts for what was wanted whenever it stops.
func TestAgendasAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := rapid.SampledFrom([]string{"shape: burst, count: 7", "shape: constant, for: 40us, count: 9", "shape: poisson, for: 40us, count: 6", "shape: herd, count: 2"})
		phases := []string{
			"name: a, at: -10us, " + shapes.Draw(t, "a") + drawnRetry(t),
			"name: b, at: 5us, " + shapes.Draw(t, "b") + drawnRetry(t),
			"name: c, at: 0us, " + shapes.Draw(t, "c"),
		}
		s, err := read("10/1s", phases...)
		if err != nil {
			t.Fatal(err)
		}
		s.Keys.Count = rapid.IntRange(1, 3).Draw(t, "keys")
		p, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		w := &walk{T: t, plan: p, agenda: scenarios.NewAgenda(p)}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			w.step()
		}
		w.account()
	})
}

// walk carries an agenda out with answers that come in any order.
type walk struct {
	*rapid.T
	plan   *scenarios.Plan
	agenda *scenarios.Agenda
	now    time.Duration
	taken  int
	open   []int
}

// step takes what is due, or answers one request.
func (w *walk) step() {
	at, ok := w.agenda.Next()
	if ok && (len(w.open) == 0 || rapid.Bool().Draw(w.T, "take")) {
		w.take(at)
		return
	}
	if len(w.open) == 0 {
		return
	}
	n := rapid.IntRange(0, len(w.open)-1).Draw(w.T, "which")
	i := w.open[n]
	w.open = slices.Delete(w.open, n, n+1)
	result := scenarios.Result{
		Outcome:  rapid.SampledFrom([]scenarios.Outcome{scenarios.Admitted, scenarios.Denied, scenarios.Denied, scenarios.Errored, scenarios.Unknown}).Draw(w.T, "outcome"),
		Decision: limiter.Decision{RetryAfter: time.Duration(rapid.Int64Range(-1, 30_000).Draw(w.T, "retry after"))},
	}
	w.agenda.Tell(i, w.agenda.Arrival(i).At+time.Duration(rapid.Int64Range(0, 20_000).Draw(w.T, "later")), result)
}

func (w *walk) take(at time.Duration) {
	if at < w.now && w.taken > 0 {
		w.Errorf("%s comes after %s", at, w.now)
	}
	w.now = at
	for _, i := range w.agenda.Take() {
		a := w.agenda.Arrival(i)
		if i != w.taken || a.At != at {
			w.Errorf("number %d at %s, want %d at %s", i, a.At, w.taken, at)
		}
		w.taken++
		for _, other := range w.open {
			if b := w.agenda.Arrival(other); b.Key == a.Key && w.origin(a) == w.origin(b) && w.alone(a) {
				w.Errorf("key %d has two requests in flight: %+v and %+v", a.Key, b, a)
			}
		}
		w.open = append(w.open, i)
	}
}

func (w *walk) origin(a scenarios.Arrival) string {
	phase := w.plan.Phases[a.Phase]
	if phase.RetryOf != "" {
		return phase.RetryOf
	}
	return phase.Name
}

func (w *walk) alone(a scenarios.Arrival) bool {
	for _, phase := range w.plan.Phases {
		if phase.Name == w.origin(a) {
			return phase.Retry != nil && phase.Retry.Mode != "ignore"
		}
	}
	return false
}

// account compares the plan as it was carried out with the plan.
func (w *walk) account() {
	got := w.agenda.Plan()
	checkPlan(w.T, got)
	wanted := 0
	for i, a := range got.Arrivals {
		if i < w.taken && a != w.agenda.Arrival(i) {
			w.Errorf("number %d is %+v in the plan, and was %+v", i, a, w.agenda.Arrival(i))
		}
		if got.Phases[a.Phase].RetryOf == "" {
			wanted++
		} else if i >= w.taken {
			w.Errorf("a retry that was not sent is planned: %+v", a)
		}
	}
	if wanted+w.agenda.Abandoned() != len(w.plan.Arrivals) {
		w.Errorf("%d wanted and %d abandoned, planned were %d", wanted, w.agenda.Abandoned(), len(w.plan.Arrivals))
	}
}
