package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// ours are the limiters that everybody is compared with.
const (
	plain     = "rlbench log-packed"
	pipelined = "rlbench log-packed+pipeline"
)

// enter opens all contestants for a workload.
func enter(ctx context.Context, s *backend.Server, w workload, chosen func(contestant) bool) ([]entrant, error) {
	var entrants []entrant
	for _, c := range contestants {
		if !chosen(c) {
			continue
		}
		l, err := c.open(ctx, s, w.limit, "speed:")
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", c.name, err)
		}
		entrants = append(entrants, entrant{c.name, l})
	}
	return entrants, nil
}

// speed prints decisions in a second and the p99 of a call, at 1, 64 and 512 callers,
// when everybody is admitted.
func speed(ctx context.Context, s *backend.Server, p *page, rounds int) error {
	for _, w := range []workload{admitted(1, 4000), admitted(64, 20_000), admitted(512, 20_000)} {
		entrants, err := enter(ctx, s, w, func(contestant) bool { return true })
		if err != nil {
			return err
		}
		timings, err := race(ctx, s, w, entrants, rounds)
		if err != nil {
			return err
		}
		p.timings(w, timings, plain, pipelined)
	}
	return nil
}

// abuse prints the same for abusive traffic, and what a cache of denials changes.
func abuse(ctx context.Context, s *backend.Server, p *page, rounds int) error {
	w := abusive(64, 100_000)
	entrants, err := enter(ctx, s, w, func(c contestant) bool { return !c.own || c.name == plain || c.name == pipelined })
	if err != nil {
		return err
	}
	cached, err := openTarget("log-packed+deny-cache")(ctx, s, w.limit, "speed:")
	if err != nil {
		return err
	}
	entrants = append(entrants, entrant{withCache, cached})
	timings, err := race(ctx, s, w, entrants, rounds)
	if err != nil {
		return err
	}
	for _, t := range timings {
		if t.denied+t.errors < rounds*w.decisions*99/100 {
			return fmt.Errorf("%s denied %d of %d: this was to be abuse", t.name, t.denied, rounds*w.decisions)
		}
	}
	p.timings(w, timings, withCache)
	return exact(ctx, s, p)
}

const withCache = "rlbench log-packed+deny-cache"

// exact judges every decision of the cache: abusive traffic as fast as it goes.
func exact(ctx context.Context, s *backend.Server, p *page) error {
	j, err := conforms(ctx, s, "log-packed+deny-cache")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(j.Findings, func(f scenarios.Finding) bool { return f.Check == "conformance" })
	if at < 0 {
		return fmt.Errorf("nobody compared the decisions with the model's: %+v", j.Findings)
	}
	p.line("%s, %d requests of the same kind, judged by rlbench's oracle: %s: %s.", withCache, j.Measures.Planned, j.Findings[at].Verdict, j.Findings[at].Message)
	return nil
}

// flat prints what more identities cost.
func flat(ctx context.Context, s *backend.Server, p *page, rounds int) error {
	p.title("Identities: decisions in a second by 64 callers, all admitted, and memory")
	p.row("limiter", "1", "10,000", "1,000,000", "bytes each, of the first 100,000", "of the next 900,000")
	for _, name := range []string{"rlbench counter", plain} {
		row, err := crowds(ctx, s, contestantNamed(name), rounds)
		if err != nil {
			return err
		}
		p.row(row...)
	}
	return nil
}

func contestantNamed(name string) contestant {
	return contestants[slices.IndexFunc(contestants, func(c contestant) bool { return c.name == name })]
}
