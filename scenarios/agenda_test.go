package scenarios_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// A script answers the requests of a test.
type script func(a scenarios.Arrival, at time.Duration) scenarios.Result

var admit = scenarios.Result{Outcome: scenarios.Admitted}

func deny(retryAfter time.Duration) scenarios.Result {
	return scenarios.Result{Outcome: scenarios.Denied, Decision: limiter.Decision{RetryAfter: retryAfter}}
}

// always is a limiter that never changes its mind.
func always(r scenarios.Result) script {
	return func(scenarios.Arrival, time.Duration) scenarios.Result { return r }
}

// until denies before an instant, and tells how long that is.
func until(end time.Duration) script {
	return func(_ scenarios.Arrival, at time.Duration) scenarios.Result {
		if at < end {
			return deny(end - at)
		}
		return admit
	}
}

// modelled answers as an algorithm's model does.
func modelled(p *scenarios.Plan, a limiter.Algorithm) script {
	states := map[int32]any{}
	return func(arrival scenarios.Arrival, at time.Duration) scenarios.Result {
		if states[arrival.Key] == nil {
			states[arrival.Key] = a.Model.Init()
		}
		state, d := a.Model.Step(p.Limit, states[arrival.Key], limiter.Request{Key: "k", At: p.Edge().Add(at), Cost: arrival.Cost})
		states[arrival.Key] = state
		if d.Allowed {
			return scenarios.Result{Outcome: scenarios.Admitted, Decision: d}
		}
		return scenarios.Result{Outcome: scenarios.Denied, Decision: d}
	}
}

// carried is an agenda that was carried out, each answer told at once.
func carried(p *scenarios.Plan, answer script) (*scenarios.Agenda, []scenarios.Result) {
	agenda := scenarios.NewAgenda(p)
	var results []scenarios.Result
	for at, ok := agenda.Next(); ok; at, ok = agenda.Next() {
		for _, i := range agenda.Take() {
			r := answer(agenda.Arrival(i), at)
			results = append(results, r)
			agenda.Tell(i, at, r)
		}
	}
	return agenda, results
}

// retrying plans one phase of clients that retry.
func retrying(t testing.TB, limit, phase, retry string) *scenarios.Plan {
	t.Helper()
	return planned(t, scenario(t, limit, "name: x, "+phase+", retry: {"+retry+"}"))
}

// What clients do to each algorithm who want 150 at the edge under 100/1m.
func TestRetryStorms(t *testing.T) {
	for _, row := range []struct {
		retry     string
		algorithm limiter.Algorithm
		attempts  int
		done      time.Duration
		why       string
	}{
		{"mode: ignore, wait: 1s", limiter.Fixed, 3150, 60 * time.Second, "150, then the 50 denied ones each second from 1 to 60: 150 + 60×50"},
		{"mode: ignore, wait: 1s", limiter.Log, 3150, 60 * time.Second, "the 100 of the edge leave all at once"},
		{"mode: ignore, wait: 1s", limiter.Counter, 3915, 90 * time.Second, "from 60 s on they leave one by one"},
		{"mode: ignore, wait: 1s", limiter.GCRA, 935, 30 * time.Second, "a slot each 0.6 s: the 50 last until 30 s"},
		{"mode: constant, wait: 30s", limiter.Fixed, 152, 60 * time.Second, "100, a denial at 0 and at 30 s, then the 50 others"},
		{"mode: constant, wait: 30s", limiter.Log, 152, 60 * time.Second, "the same"},
		{"mode: constant, wait: 30s", limiter.Counter, 153, 90 * time.Second, "the third denial is at 60 s, where all 100 still count"},
		{"mode: constant, wait: 30s", limiter.GCRA, 151, 30 * time.Second, "30 s give just the 50"},
		{"mode: obey, round: 1s", limiter.Fixed, 151, 60 * time.Second, "one denial, which tells the truth"},
		{"mode: obey, round: 1s", limiter.Log, 151, 60 * time.Second, "the same"},
		{"mode: obey, round: 1s", limiter.Counter, 180, 90 * time.Second, "1 or 2 a second from 61 to 90 s, a denial at 0 and one in each second but the last: 100 + 50 + 30"},
	} {
		p := retrying(t, "100/1m", "shape: burst, count: 150", row.retry)
		agenda, results := carried(p, modelled(p, row.algorithm))
		admitted, done := 0, time.Duration(0)
		for i, r := range results {
			if r.Outcome == scenarios.Admitted {
				admitted, done = admitted+1, agenda.Arrival(i).At
			}
		}
		if len(results) != row.attempts || done != row.done || admitted != 150 {
			t.Errorf("%s, %s: %d attempts, %d admitted, done after %s; want %d, 150 and %s (%s)",
				row.algorithm.Name, row.retry, len(results), admitted, done, row.attempts, row.done, row.why)
		}
		carriedOut := agenda.Plan()
		checkPlan(t, carriedOut)
		if wanted, again := carriedOut.Phases[0].Planned, carriedOut.Phases[1].Planned; wanted != 150 || again != int64(row.attempts-150) {
			t.Errorf("%s, %s: the plan has %d wanted and %d retries, want 150 and %d", row.algorithm.Name, row.retry, wanted, again, row.attempts-150)
		}
		if agenda.Curbed() || agenda.Abandoned() != 0 {
			t.Errorf("%s, %s: curbed %t, %d abandoned", row.algorithm.Name, row.retry, agenda.Curbed(), agenda.Abandoned())
		}
	}
}

// instants are those of everything issued, with the phase's name.
func instants(p *scenarios.Plan) []string {
	var all []string
	for _, a := range p.Arrivals {
		all = append(all, fmt.Sprintf("%s %s", a.At, p.Phases[a.Phase].Name))
	}
	return all
}

func TestAgenda(t *testing.T) {
	const tick = time.Microsecond
	for _, row := range []struct {
		phase, retry string
		answer       script
		want         []string
		abandoned    int
		why          string
	}{
		{"shape: burst, count: 1", "mode: obey, within: 25s", always(deny(10 * time.Second)), []string{"0s x", "10s x.retry", "20s x.retry"}, 0, "a try at 30 s is too late"},
		{"shape: burst, count: 1", "mode: obey, within: 20s", always(deny(10 * time.Second)), []string{"0s x", "10s x.retry"}, 0, "the end is excluded"},
		{"shape: burst, count: 1", "mode: obey, within: 20s + 1us", always(deny(10 * time.Second)), []string{"0s x", "10s x.retry", "20s x.retry"}, 0, "a tick more, and it fits"},
		{"shape: burst, count: 1", "mode: constant, wait: 10s, within: 20s", always(deny(1)), []string{"0s x", "10s x.retry"}, 0, "the same where the wait is constant"},
		{"shape: burst, count: 2", "mode: ignore, wait: 10s, within: 20s", always(deny(1)), []string{"0s x", "0s x", "10s x.retry", "10s x.retry"}, 0, "and where denials are ignored"},
		{"at: 5s, shape: burst, count: 1", "mode: constant, wait: 10s, within: 11s", always(deny(1)), []string{"5s x", "15s x.retry"}, 0, "counted from the start of the phase"},
		{"shape: burst, count: 3", "mode: obey", always(deny(limiter.Never)), []string{"0s x"}, 2, "who is told never gives up, and what else it wants is not sent"},
		{"shape: burst, count: 1", "mode: obey", always(deny(math.MaxInt64 - 1)), []string{"0s x"}, 0, "a wait that overflows is as good as never"},
		{"shape: drip, for: 3s, every: 1s", "mode: obey", always(deny(limiter.Never)), []string{"0s x"}, 2, "nor what it would have wanted later"},
		{"shape: burst, count: 1", "mode: constant, wait: 10s, within: 11s", always(deny(limiter.Never)), []string{"0s x", "10s x.retry"}, 0, "who does not obey does not care"},
		{"shape: burst, count: 1", "mode: obey, within: 150ms", always(deny(0)), []string{"0s x", "60ms x.retry", "120ms x.retry"}, 0, "at once is a thousandth of a window later"},
		{"shape: burst, count: 1", "mode: obey, within: 150ms", always(deny(-time.Hour)), []string{"0s x", "60ms x.retry", "120ms x.retry"}, 0, "and so is the past"},
		{"shape: burst, count: 1", "mode: obey, within: 3us", always(deny(1500)), []string{"0s x", "2µs x.retry"}, 0, "a fraction of a tick is rounded up"},
		{"shape: burst, count: 1", "mode: obey, round: 1s, within: 3s", always(deny(time.Second + tick)), []string{"0s x", "2s x.retry"}, 0, "rounded up to whole seconds"},
		{"shape: burst, count: 1", "mode: obey, round: 1s, within: 3s", always(deny(time.Second)), []string{"0s x", "1s x.retry", "2s x.retry"}, 0, "what is whole stays"},
		{"shape: burst, count: 1", "mode: obey, round: 1s, within: 3s", always(deny(0)), []string{"0s x", "1s x.retry", "2s x.retry"}, 0, "nothing becomes a second"},
		{"shape: burst, count: 3", "mode: obey", until(7 * time.Second), []string{"0s x", "7s x.retry", "7s x", "7s x"}, 0, "the denied one first, then what piled up behind it"},
		{"shape: drip, for: 9s, every: 3s", "mode: constant, wait: 4s", until(time.Second), []string{"0s x", "4s x.retry", "4s x", "6s x"}, 0, "what became due meanwhile follows at once, the next is on time"},
		{"shape: drip, for: 9s, every: 3s", "mode: ignore, wait: 4s", until(time.Second), []string{"0s x", "3s x", "4s x.retry", "6s x"}, 0, "who ignores a denial is on time"},
		{"shape: drip, for: 2s, every: 1s", "mode: constant, wait: 1s, within: 1500ms", until(2 * time.Second), []string{"0s x", "1s x.retry"}, 1, "what becomes due as a client goes on waits for the answer"},
		{"shape: burst, count: 2", "mode: obey", always(scenarios.Result{Outcome: scenarios.Errored}), []string{"0s x", "0s x"}, 0, "what failed is not sent again"},
		{"shape: burst, count: 2", "mode: ignore, wait: 1s", always(scenarios.Result{Outcome: scenarios.Unknown}), []string{"0s x", "0s x"}, 0, "nor what may have been counted"},
		{"shape: constant, for: 10s, count: 10", "mode: constant, wait: 60s", until(time.Second), append([]string{"0s x", "1m0s x.retry"}, slices.Repeat([]string{"1m0s x"}, 9)...), 0, "by default they try for longer than the phase lasts"},
	} {
		p := retrying(t, "1/1m", row.phase, row.retry)
		agenda, results := carried(p, row.answer)
		got := agenda.Plan()
		checkPlan(t, got)
		if diff := cmp.Diff(row.want, instants(got)); diff != "" || len(results) != len(got.Arrivals) {
			t.Errorf("%s, retry %s: %s, %d results (-want +got):\n%s", row.phase, row.retry, row.why, len(results), diff)
		}
		if agenda.Abandoned() != row.abandoned {
			t.Errorf("%s, retry %s: %d abandoned, want %d (%s)", row.phase, row.retry, agenda.Abandoned(), row.abandoned, row.why)
		}
	}
}

// One client that waits keeps no other waiting; in another phase it is another
// client.
func TestClientsDoNotWaitForEachOther(t *testing.T) {
	p := planned(t, scenario(t, "1/1m",
		"name: x, shape: burst, count: 4, retry: {mode: obey}",
		"name: y, at: 5s, shape: burst, count: 2, retry: {mode: obey}}\nkeys: {count: 2, distribution: cycle"))
	agenda, _ := carried(p, func(a scenarios.Arrival, at time.Duration) scenarios.Result {
		if a.Key == 0 && a.Phase < 2 && at < 10*time.Second {
			return deny(10*time.Second - at)
		}
		return admit
	})
	var got []string
	for _, a := range agenda.Plan().Arrivals {
		got = append(got, fmt.Sprintf("%s %s key %d", a.At, p.Phases[a.Phase].Name, a.Key))
	}
	want := []string{
		"0s x key 0", "0s x key 1", "0s x key 1", "5s y key 0", "5s y key 1", "10s x.retry key 0", "10s x key 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRetryJitter(t *testing.T) {
	gapsOf := func(seed uint64) []time.Duration {
		s := scenario(t, "1/1m", "name: x, shape: burst, count: 1, retry: {mode: constant, wait: 1s, jitter: 4us, within: 100s}")
		s.Seed = seed
		agenda, _ := carried(planned(t, s), always(deny(1)))
		p := agenda.Plan()
		var gaps []time.Duration
		for i := 1; i < len(p.Arrivals); i++ {
			gaps = append(gaps, p.Arrivals[i].At-p.Arrivals[i-1].At)
		}
		return gaps
	}
	seen := map[time.Duration]bool{}
	for _, gap := range gapsOf(1) {
		seen[gap] = true
	}
	// 99 gaps miss one of four values with a chance of (3/4)^99, 4e-13.
	for extra := range time.Duration(4) {
		if gap := time.Second + extra*time.Microsecond; !seen[gap] {
			t.Errorf("there is no gap of %s", gap)
		}
	}
	if len(seen) != 4 {
		t.Errorf("gaps %v, want 1 s and 0 to 3 µs", seen)
	}
	if !slices.Equal(gapsOf(1), gapsOf(1)) || slices.Equal(gapsOf(1), gapsOf(2)) {
		t.Error("the same seed is the same jitter, another one another")
	}
}

// An answer that comes late makes what follows due at once, and not in the past.
func TestLateAnswers(t *testing.T) {
	p := planned(t, scenario(t, "1/1m",
		"name: x, shape: burst, count: 1, retry: {mode: obey}",
		"name: y, at: 5s, shape: burst, count: 1"))
	for _, row := range []struct {
		told, retryAfter, want time.Duration
		why                    string
	}{
		{time.Second, 2 * time.Second, 5 * time.Second, "due at 3 s, which has passed"},
		{time.Second, 6 * time.Second, 7 * time.Second, "due at 7 s, counted from the answer"},
		{time.Second + 1, 6 * time.Second, 7*time.Second + time.Microsecond, "a nanosecond later is the next tick"},
		{-2500, 6 * time.Second, 6*time.Second - 2*time.Microsecond, "before the edge too"},
	} {
		agenda := scenarios.NewAgenda(p)
		agenda.Take() // x
		agenda.Take() // y
		agenda.Tell(0, row.told, deny(row.retryAfter))
		if at, ok := agenda.Next(); !ok || at != row.want {
			t.Errorf("told at %s to wait %s: next is %s, %t, want %s (%s)", row.told, row.retryAfter, at, ok, row.want, row.why)
		}
	}
}

// Whenever it stops, the plan accounts for everything that was wanted.
func TestPlanOfAnAgendaThatWasInterrupted(t *testing.T) {
	p := planned(t, scenario(t, "1/1m", "name: x, shape: burst, count: 3, retry: {mode: obey}", "name: y, at: 5s, shape: burst, count: 1"))
	agenda := scenarios.NewAgenda(p)
	for _, row := range []struct {
		answer scenarios.Result
		want   []string
		why    string
	}{
		{deny(time.Second), []string{"0s x", "0s x", "0s x", "5s y"}, "one is sent, two wait for it"},
		{admit, []string{"0s x", "1s x.retry", "1s x", "1s x", "5s y"}, "its retry is sent, two still wait"},
		{deny(9 * time.Second), []string{"0s x", "1s x.retry", "1s x", "1s x", "5s y"}, "the second is sent, one waits"},
		{admit, []string{"0s x", "1s x.retry", "1s x", "5s y", "5s x"}, "what has to wait is overtaken"},
		{admit, []string{"0s x", "1s x.retry", "1s x", "5s y", "10s x.retry", "10s x"}, "the retry of the second"},
		{admit, []string{"0s x", "1s x.retry", "1s x", "5s y", "10s x.retry", "10s x"}, "and the third: nothing is left"},
	} {
		at, _ := agenda.Next()
		numbers := agenda.Take()
		if len(numbers) != 1 {
			t.Fatalf("%s: %d requests at %s, want 1", row.why, len(numbers), at)
		}
		got := agenda.Plan()
		checkPlan(t, got)
		if diff := cmp.Diff(row.want, instants(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
		agenda.Tell(numbers[0], at, row.answer)
	}
	if before := planned(t, scenario(t, "1/1m", "name: x, shape: burst, count: 3, retry: {mode: obey}", "name: y, at: 5s, shape: burst, count: 1")); !cmp.Equal(before, p) {
		t.Error("the plan itself was changed")
	}
}

// A limiter that never admits comes to an end, and what is planned behind it is
// sent all the same.
func TestALimiterThatNeverAdmits(t *testing.T) {
	t.Parallel()
	p := planned(t, scenario(t, "1/1m",
		"name: x, shape: burst, count: 10, retry: {mode: ignore, wait: 1us, within: 10s}",
		"name: y, at: edge, shape: burst, count: 10, retry: {mode: constant, wait: 1us}",
		"name: z, at: 20s, shape: burst, count: 3"))
	agenda, results := carried(p, always(deny(1)))
	if want := 10 + 1 + scenarios.MaxRetries + 3; len(results) != want || !agenda.Curbed() || agenda.Abandoned() != 9 {
		t.Errorf("%d requests, curbed %t, %d abandoned; want %d and 9", len(results), agenda.Curbed(), agenda.Abandoned(), want)
	}
	got := agenda.Plan().Phases
	if again := got[1].Planned + got[3].Planned; got[0].Planned != 10 || got[2].Planned != 1 || got[4].Planned != 3 || again != scenarios.MaxRetries {
		t.Errorf("x %d, y %d, z %d, retries %d; want 10, 1, 3 and %d", got[0].Planned, got[2].Planned, got[4].Planned, again, scenarios.MaxRetries)
	}
}
