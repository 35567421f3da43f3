package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// judged sends a built-in scenario of rlbench to a contestant in real time, in
// windows of its own, and says what was admitted. Nobody is held to a model: only
// what an exact trailing window says is counted.
func judged(ctx context.Context, s *backend.Server, c contestant, scenario string, l limiter.Limit) (*scenarios.Judgement, error) {
	b, err := scenarios.BuiltinNamed(scenario)
	if err != nil {
		return nil, err
	}
	read, err := b.Read(scenarios.BuiltinDefaults(), scenarios.Assignment{Path: "limit", Value: l.String()}, scenarios.Assignment{Path: "clock", Value: "server"})
	if err != nil {
		return nil, err
	}
	opened, err := c.open(ctx, s, l, scenario+":")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", c.name, err)
	}
	j, err := run(ctx, s, read, opened, oracle.Case{Name: c.name, Tells: c.tells})
	if err != nil {
		return j, fmt.Errorf("%s under %s: %w", c.name, scenario, err)
	}
	return j, s.Clear(ctx)
}

// abuse.yaml is a scenario of abusive traffic: all at once, so that callers send as
// fast as they are answered.
//
//go:embed abuse.yaml
var abusiveScenario string

// conforms judges every decision of a target of rlbench under abusive traffic.
func conforms(ctx context.Context, s *backend.Server, name string) (*scenarios.Judgement, error) {
	read, err := scenarios.Read(strings.NewReader(abusiveScenario), "abuse.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		return nil, err
	}
	t, err := target.Open(ctx, s, name, target.Options{Limit: read.Limit, Clock: read.Clock, Prefix: "exact"})
	if err != nil {
		return nil, err
	}
	opened, err := t.Limiter(read.Limit)
	if err != nil {
		return nil, err
	}
	j, err := run(ctx, s, read, opened, oracle.Case{Name: name, Tells: t.Tells, Algorithm: t.Algorithm, Strict: t.Strict})
	if err != nil {
		return j, fmt.Errorf("%s under %s: %w", name, read.Name, err)
	}
	return j, s.Clear(ctx)
}

// run sends a scenario to a limiter and judges what it did.
func run(ctx context.Context, s *backend.Server, read *scenarios.Scenario, l limiter.Limiter, judged oracle.Case) (*scenarios.Judgement, error) {
	plan, err := scenarios.NewPlan(read)
	if err != nil {
		return nil, err
	}
	limiters := make([]limiter.Limiter, len(plan.Phases))
	for i := range limiters {
		limiters[i] = l
	}
	h, err := runner.Run(ctx, runner.Config{
		Limiters: limiters, Plan: plan, MaxInFlight: 64,
		Identity: func(id scenarios.Identity, attempt int) string { return fmt.Sprintf("k%d-%d", id.Key, attempt) },
		ServerClock: func(ctx context.Context) (time.Duration, error) {
			clock, err := s.Clock(ctx)
			return clock.Offset, err
		},
	})
	if err != nil {
		return nil, err
	}
	if h.Lost != nil {
		return nil, h.Lost
	}
	judged.Plan, judged.Results, judged.Edge = h.Plan, h.Results, h.Edge
	judged.Misplaced, judged.Interrupted = h.Misplaced, h.Interrupted
	j, err := oracle.Judge(&judged)
	if err != nil {
		return nil, err
	}
	if m := j.Measures; m.Unknown+m.Missed > 0 {
		return j, fmt.Errorf("%d of unknown fate, %d missed", m.Unknown, m.Missed)
	}
	return j, nil
}
