package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// diary writes down what is done to Redis and what is sent to it, in order.
type diary struct {
	edge time.Time

	mu      sync.Mutex
	entries []string
	inForce map[int]bool
}

func newDiary(p *scenarios.Plan) *diary { return &diary{edge: p.Edge(), inForce: map[int]bool{}} }

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf(format, args...))
}

// Allow admits everything.
func (d *diary) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	d.write("%s", r.At.Sub(d.edge))
	return admit(ctx, r)
}

func (d *diary) text() string { return strings.Join(d.entries, " ") }

// trouble is a fault in force, as far as the runner can see.
type trouble struct {
	*diary
	fault   int
	hits    int64
	endless error // of End
}

func (f trouble) End(ctx context.Context) error {
	f.write("end%d", f.fault)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inForce[f.fault] = false
	return errors.Join(ctx.Err(), f.endless)
}

func (f trouble) Hits() int64 { return f.hits }

// inject puts any fault in force.
func (d *diary) inject(ctx context.Context, fault int) (runner.Injected, error) {
	d.write("begin%d", fault)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inForce[fault] = true
	return trouble{diary: d, fault: fault, hits: -1}, ctx.Err()
}

func (d *diary) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, is := range d.inForce {
		if is {
			return true
		}
	}
	return false
}

// faulted makes a plan of one phase, a request each quarter of a second, with faults.
func faulted(t testing.TB, clock scenarios.Clock, count int, faults ...string) *scenarios.Plan {
	t.Helper()
	phase := fmt.Sprintf("name: a, for: %dms, shape: constant, count: %d", 250*count, count)
	return plan(t, clock, "10/1m", phase+"}\nfaults:\n- {"+strings.Join(faults, "}\n- {"))
}

// ticking is a stopwatch that never shows the same time twice.
func ticking() func() time.Duration {
	now := time.Duration(0)
	return func() time.Duration { now += time.Microsecond; return now }
}

// In virtual time a fault is in force for whoever is sent from its begin on, and
// before its end.
func TestFaultsInVirtualTime(t *testing.T) {
	for _, row := range []struct {
		faults []string
		want   string
		why    string
	}{
		{[]string{"at: 250ms, for: 250ms, kind: stall"}, "0s begin0 250ms end0 500ms 750ms", "the begin belongs to it, the end does not"},
		{[]string{"at: 250ms, for: 251ms, kind: stall"}, "0s begin0 250ms 500ms end0 750ms", "a tick longer"},
		{[]string{"at: 500ms, kind: restart"}, "0s 250ms begin0 end0 500ms 750ms", "an instant is over for who is sent in it"},
		{[]string{"at: 300ms, for: 100ms, kind: stall"}, "0s 250ms begin0 end0 500ms 750ms", "in between: it is made, and hits nobody"},
		{[]string{"at: -1s, for: 1s, kind: stall"}, "begin0 end0 0s 250ms 500ms 750ms", "before the first request"},
		{[]string{"at: -1s, for: 1h, kind: stall"}, "begin0 0s 250ms 500ms 750ms end0", "before, while and after: it is lifted in the end"},
		{[]string{"at: a, kind: stall"}, "begin0 0s 250ms 500ms 750ms end0", "as long as the phase"},
		{[]string{"at: 751ms, for: 1s, kind: stall"}, "0s 250ms 500ms 750ms", "after the last request: its time never comes"},
		{[]string{"at: 500ms, for: 250ms, kind: stall", "at: 250ms, for: 250ms, kind: pause"}, "0s begin1 250ms end1 begin0 500ms end0 750ms", "one ends before the other begins, whatever the order of the file"},
		{[]string{"at: 250ms, for: 500ms, kind: latency, delay: 1ms", "at: 500ms, for: 500ms, kind: reset"}, "0s begin0 250ms begin1 500ms end0 750ms end1", "two at once"},
		{[]string{"at: 500ms, for: 1h, kind: reset", "at: 500ms, kind: restart", "at: 250ms, for: 250ms, kind: stall"}, "0s begin2 250ms end2 begin1 end1 begin0 500ms 750ms end0", "at one instant: what ends, what is done at once, what begins"},
		{[]string{"at: 500ms, kind: restart", "at: 500ms, kind: script-flush"}, "0s 250ms begin0 end0 begin1 end1 500ms 750ms", "two instants in the order of the file"},
		{[]string{"at: 250ms, for: 1us, kind: stall", "at: 500ms, for: 1us, kind: stall"}, "0s begin0 250ms end0 begin1 500ms end1 750ms", "the shortest"},
	} {
		p := faulted(t, scenarios.Virtual, 4, row.faults...)
		d := newDiary(p)
		c := config(p, d)
		c.Inject, c.Stopwatch = d.inject, ticking()
		h := run(t, t.Context(), c)
		if d.text() != row.want {
			t.Errorf("%q: %s, want %s (%s)", row.faults, d.text(), row.want, row.why)
		}
		if len(h.Faults) != len(row.faults) || h.Interrupted || h.Lost != nil {
			t.Fatalf("%q: history %+v", row.faults, h)
		}
		for i, f := range h.Faults {
			made := strings.Contains(row.want, fmt.Sprintf("begin%d", i))
			if f.Made != made || f.Err != nil || made && (f.Begin >= f.Force || f.Force >= f.Lift || f.Lift >= f.End || f.Hits != -1) {
				t.Errorf("%q, fault %d: %+v, made is %t", row.faults, i, f, made)
			}
		}
	}
}

// The clock of faults is that of results.
func TestFaultsAreOnTheStopwatchOfResults(t *testing.T) {
	p := faulted(t, scenarios.Virtual, 4, "at: 250ms, for: 250ms, kind: stall")
	d := newDiary(p)
	c := config(p, d)
	c.Inject, c.Stopwatch = d.inject, ticking()
	h := run(t, t.Context(), c)
	f := h.Faults[0]
	if r := h.Results; r.At(0).Done >= f.Begin || r.At(1).Sent <= f.Force || r.At(1).Done >= f.Lift || r.At(2).Sent <= f.End {
		t.Errorf("fault %+v, results %+v", f, r)
	}
}

// All of a burst meets what was made for its instant.
func TestABurstMeetsItsFault(t *testing.T) {
	p := plan(t, scenarios.Virtual, "10/1s", "name: a, shape: burst, count: 50", "name: b, at: 1s, shape: burst, count: 50", "name: c, at: 2s, shape: burst, count: 50}\nfaults:\n- {at: b, for: 1s, kind: stall")
	d := newDiary(p)
	var mu sync.Mutex
	met := map[time.Duration]int{}
	c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
		if d.busy() {
			mu.Lock()
			met[r.At.Sub(p.Edge())]++
			mu.Unlock()
		}
		return admit(ctx, r)
	}))
	c.Inject, c.MaxInFlight = d.inject, 16
	run(t, t.Context(), c)
	if len(met) != 1 || met[time.Second] != 50 {
		t.Errorf("met by %v, want the 50 at 1s", met)
	}
}

// What cannot be made or lifted is told, and the rest goes on.
func TestFaultsThatFail(t *testing.T) {
	unmade, unlifted := errors.New("no room"), errors.New("still broken")
	p := faulted(t, scenarios.Virtual, 4, "at: 0s, for: 250ms, kind: stall", "at: 250ms, for: 250ms, kind: outage", "at: 500ms, for: 1h, kind: reset")
	d := newDiary(p)
	c := config(p, d)
	c.Inject = func(_ context.Context, fault int) (runner.Injected, error) {
		d.write("begin%d", fault)
		switch fault {
		case 0:
			return nil, unmade
		case 1:
			return trouble{diary: d, fault: 1, endless: unlifted, hits: -1}, nil
		}
		return trouble{diary: d, fault: 2, hits: 7}, nil
	}
	h := run(t, t.Context(), c)
	if want := "begin0 0s begin1 250ms end1 begin2 500ms 750ms end2"; d.text() != want {
		t.Errorf("%s, want %s", d.text(), want)
	}
	if f := h.Faults; !errors.Is(f[0].Err, unmade) || !errors.Is(f[1].Err, unlifted) || f[2].Err != nil || f[2].Hits != 7 || !f[0].Made || !f[1].Made {
		t.Errorf("faults %+v", f)
	}
	if sent(h) != 4 || h.Lost != nil || h.Interrupted {
		t.Errorf("%d sent, lost %v, interrupted %t", sent(h), h.Lost, h.Interrupted)
	}
}

// While there is trouble on purpose, nobody counts as lost, however much fails;
// who still fails when it is over does.
func TestNobodyIsLostOnPurpose(t *testing.T) {
	for _, row := range []struct {
		faults []string
		heals  bool // with the end of the fault
		sent   int
		why    string
	}{
		{[]string{"at: 0s, for: 5s, kind: outage"}, true, 40, "twenty fail, and then it is over"},
		{[]string{"at: 0s, for: 5s, kind: outage"}, false, 30, "ten more after its end"},
		{[]string{"at: 0s, for: 1h, kind: outage"}, false, 40, "to the last request"},
		{[]string{"at: 1s, for: 1s, kind: outage", "at: 4s, for: 1s, kind: outage"}, true, 40, "twice"},
	} {
		p := faulted(t, scenarios.Virtual, 40, row.faults...)
		d := newDiary(p)
		failing := false
		c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if failing = d.busy() || failing && !row.heals; failing {
				return limiter.Decision{}, io.EOF
			}
			return admit(ctx, r)
		}))
		c.Inject = d.inject
		h := run(t, t.Context(), c)
		if sent(h) != row.sent || (h.Lost != nil) != (row.sent < 40) {
			t.Errorf("%s: %d sent, lost %v", row.why, sent(h), h.Lost)
		}
		if d.busy() {
			t.Errorf("%s: a fault is still in force", row.why)
		}
	}
}

// An interrupt lifts what is in force, by a context that it does not cancel, and
// makes nothing more.
func TestInterruptLiftsFaults(t *testing.T) {
	for _, row := range []struct {
		after int // requests
		want  string
	}{
		{0, ""},
		{1, "0s"},
		{2, "0s begin0 250ms end0"},
		{3, "0s begin0 250ms begin1 500ms end0 end1"},
		{4, "0s begin0 250ms begin1 500ms end0 750ms end1"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p := faulted(t, scenarios.Virtual, 4, "at: 250ms, for: 500ms, kind: reset", "at: 500ms, for: 1h, kind: stall")
		d := newDiary(p)
		calls := 0
		c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if calls++; calls == row.after {
				cancel()
			}
			return d.Allow(ctx, r)
		}))
		c.Inject = d.inject
		if row.after == 0 {
			cancel()
		}
		h := run(t, ctx, c)
		if d.text() != row.want || d.busy() {
			t.Errorf("interrupted at request %d: %s, want %s", row.after, d.text(), row.want)
		}
		for _, f := range h.Faults {
			if f.Err != nil {
				t.Errorf("interrupted at request %d: %+v", row.after, f)
			}
		}
		cancel()
	}
}

// Clients that retry meet faults too, at the instants of their retries.
func TestFaultsAmongRetries(t *testing.T) {
	for _, row := range []struct {
		fault, want, why string
	}{
		{"at: 2s, for: 1s, kind: stall", "0s begin0 end0 7s 7s", "while everybody waits"},
		{"at: 7s, kind: restart", "0s begin0 end0 7s 7s", "before those that come back"},
		{"at: 1s, for: 1h, kind: stall", "0s begin0 7s 7s end0", "until the last of them"},
		{"at: a.retry, kind: stall", "begin0 0s 7s 7s end0", "as long as clients retry"},
	} {
		p := plan(t, scenarios.Virtual, "1/1m", "name: a, shape: burst, count: 2, retry: {mode: obey}}\nfaults:\n- {"+row.fault)
		d := newDiary(p)
		opening := opens(p.Edge().Add(7 * time.Second))
		c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			d.write("%s", r.At.Sub(d.edge))
			return opening(ctx, r)
		}))
		c.Inject = d.inject
		h := run(t, t.Context(), c)
		if d.text() != row.want || len(h.Faults) != 1 || !h.Faults[0].Made {
			t.Errorf("%s: %s, want %s (%s); %+v", row.fault, d.text(), row.want, row.why, h.Faults)
		}
	}
}
