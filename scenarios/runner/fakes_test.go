package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// decide is a limiter that is one function.
type decide func(context.Context, limiter.Request) (limiter.Decision, error)

func (f decide) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return f(ctx, r)
}

// admit says yes at the instant of the request.
func admit(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	return limiter.Decision{Allowed: true, At: r.At}, nil
}

// reply is an error that a Redis server answered with.
type reply string

func (r reply) Error() string { return string(r) }

func (reply) RedisError() {}

// modelled is a limiter that decides by a model, one request at a time. Its
// clock stands in for the server's.
type modelled struct {
	algorithm limiter.Algorithm
	limit     limiter.Limit
	clock     func() time.Time

	mu     sync.Mutex
	states map[string]any
}

func newModelled(a limiter.Algorithm, l limiter.Limit) *modelled {
	return &modelled{algorithm: a, limit: l, clock: time.Now, states: map[string]any{}}
}

func (m *modelled) Allow(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	return m.decide(m.limit, r), nil
}

// under enforces another limit on the same budgets.
func (m *modelled) under(l limiter.Limit) limiter.Limiter {
	return decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) { return m.decide(l, r), nil })
}

func (m *modelled) decide(l limiter.Limit, r limiter.Request) limiter.Decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.At.IsZero() {
		r.At = m.clock()
	}
	state, used := m.states[r.Key]
	if !used {
		state = m.algorithm.Model.Init()
	}
	next, d := m.algorithm.Model.Step(l, state, r)
	m.states[r.Key] = next
	return d
}

// plan makes a plan of one-line phases.
func plan(t interface {
	Helper()
	Fatal(...any)
}, clock scenarios.Clock, limit string, phases ...string,
) *scenarios.Plan {
	t.Helper()
	file := "version: 1\nname: test\nlimit: " + limit + "\nclock: " + string(clock) + "\nphases:\n- {" + strings.Join(phases, "}\n- {") + "}\n"
	s, err := scenarios.Read(strings.NewReader(file), "test.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// config is a run with nothing special about it.
func config(p *scenarios.Plan, l limiter.Limiter) runner.Config {
	return runner.Config{
		Limiters: slices.Repeat([]limiter.Limiter{l}, len(p.Phases)), Plan: p, MaxInFlight: 1, Patience: 1, // failures count at once
		Identity: func(id scenarios.Identity, attempt int) string {
			if id.Pseudonym != 0 {
				return fmt.Sprintf("k%d.%d.%d", id.Key, attempt, id.Pseudonym)
			}
			return fmt.Sprintf("k%d.%d", id.Key, attempt)
		},
		ServerClock: func(context.Context) (time.Duration, error) { return 0, nil },
	}
}

func run(t testing.TB, ctx context.Context, c runner.Config) *runner.History {
	t.Helper()
	h, err := runner.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// tally counts outcomes, as "admitted 3, missed 1".
func tally(h *runner.History) map[scenarios.Outcome]int {
	n := map[scenarios.Outcome]int{}
	for _, r := range h.Results.All() {
		n[r.Outcome]++
	}
	return n
}

// sent counts the requests that were sent.
func sent(h *runner.History) int { return h.Results.Len() - tally(h)[scenarios.Missed] }
