// Command peers compares rate limiters that can be had as Go modules, and the
// article's two scripts, with those of rlbench: on one Redis, in one run, in turns.
// It prints Markdown.
//
//	go run . [-rounds 9] [scoreboard] [speed] [abuse] [flat]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
)

// A part is one comparison.
type part struct {
	name string
	run  func(ctx context.Context, s *backend.Server, p *page, rounds int) error
}

// parts is the table of all comparisons, in the order in which they run.
var parts = []part{
	{"scoreboard", func(ctx context.Context, s *backend.Server, p *page, _ int) error { return scoreboard(ctx, s, p) }},
	{"speed", speed},
	{"abuse", abuse},
	{"flat", flat},
}

func main() {
	rounds := flag.Int("rounds", 9, "of each timing")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run . [-rounds N] [PART...], each of scoreboard, speed, abuse and flat; all without one\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, &page{Writer: os.Stdout}, *rounds, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "peers: %v\n", err)
		os.Exit(1)
	}
}

// compare runs the named parts, or all.
func compare(ctx context.Context, p *page, rounds int, names []string) error {
	if rounds < 1 {
		return fmt.Errorf("%d rounds: want at least 1", rounds)
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("unknown part %q", name)
		}
	}
	s, err := backend.Open(ctx, "managed", backend.Options{Timeout: 10 * time.Second, PoolSize: 512})
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := s.Describe(ctx)
	if err != nil {
		return err
	}
	p.line("%s %s, %s", d.Name, d.Version, time.Now().UTC().Format(time.DateOnly))
	for _, c := range parts {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		if err := c.run(ctx, s, p, rounds); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
