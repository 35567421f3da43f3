package target

import (
	"context"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

const us = time.Microsecond

// t0 is a multiple of ten seconds, and the edge of every plan with such a window.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// scripted is a fixed window in memory, unless a row says otherwise.
type scripted struct {
	limit limiter.Limit
	state any
	calls []limiter.Request
	// before runs with the number of a call, from 1, and may answer in its place;
	// denied runs when it is a denial, after may change a decision.
	before func(n int, r limiter.Request) (limiter.Decision, error, bool)
	denied func(r limiter.Request)
	after  func(d *limiter.Decision)
}

var _ limiter.Limiter = (*scripted)(nil)

func (l *scripted) Allow(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	l.calls = append(l.calls, r)
	if l.before != nil {
		if d, err, instead := l.before(len(l.calls), r); instead {
			return d, err
		}
	}
	if err := r.Validate(); err != nil {
		return limiter.Decision{}, err
	}
	if l.state == nil {
		l.state = limiter.Fixed.Model.Init()
	}
	state, d := limiter.Fixed.Model.Step(l.limit, l.state, r)
	l.state = state
	if !d.Allowed && l.denied != nil {
		l.denied(r)
	}
	if l.after != nil {
		l.after(&d)
	}
	return d, nil
}

// peeking is one that also peeks.
type peeking struct {
	*scripted
	peek func(limiter.Request) (limiter.Decision, error)
}

func (l peeking) Peek(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.peek(r)
}

// foresees is the answer that the next request will get.
func (l *scripted) foresees(r limiter.Request) limiter.Decision {
	if l.state == nil {
		l.state = limiter.Fixed.Model.Init()
	}
	_, d := limiter.Fixed.Model.Step(l.limit, l.state, r)
	return d
}

func embedded(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.Open(t.Context(), "embedded", backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some rows close it earlier
	return s
}

// faked is a target whose identities have one key each.
func faked(l limiter.Limiter) *Target {
	return &Target{
		Strict: true,
		Name:   "fake", Tells: scenarios.TellsAll, Costs: true,
		Limiter: func(limiter.Limit) (limiter.Limiter, error) { return l, nil },
		Keys:    func(identity string, _ time.Time) []string { return []string{"key:" + identity} },
	}
}

// about interviews about one identity that sent one request at t0.
func about(t *testing.T, s *backend.Server, target *Target, limit limiter.Limit) (scenarios.Interview, error) {
	t.Helper()
	r := Traffic{
		Plan: &scenarios.Plan{
			Clock: scenarios.Virtual, Limit: limit, Phases: []scenarios.PlannedPhase{{Limit: limit}}, Arrivals: []scenarios.Arrival{{Cost: 1}},
		},
		Results: scenarios.ResultList{{Outcome: scenarios.Admitted}}, Edge: t0, Attempts: 1,
		Name:      func(scenarios.Identity, int) string { return "k" },
		Stopwatch: func() time.Duration { return 0 },
	}
	traces := r.Traces(target)
	return interview(t.Context(), s, target, r, traces, traces.identities[0])
}

// ten is the window of these tests; three the budget.
var three = limiter.Limit{Max: 3, Window: 10 * time.Second}

// request is one of identity k after t0.
func request(after time.Duration, cost int64) limiter.Request {
	return limiter.Request{Key: "k", At: t0.Add(after), Cost: cost}
}

// rested is when everything else has been asked: ten windows after heal, which
// asks a tick after the wait of a denial is over.
const rested = 10*time.Second + us + 100*time.Second
