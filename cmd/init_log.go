package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/scenarios/crowd"
)

// The files of rlbench init --log; the log is named by its format.
const truthFile = "access.truth.csv"

// logOptions are the flags of rlbench init --log.
type logOptions struct {
	format   string
	requests int64
	seed     uint64
}

const (
	// leastRequests are about those of one scraper and some browsers.
	leastRequests = 8000
	// mostRequests keeps the clients of a log below crowd.MostClients.
	mostRequests = 60_000_000
)

func (o *logOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.format, "log", "", "write an access log of made-up traffic, to tune with, instead: nginx, apache, caddy, cloudflare, alb, envoy, csv or jsonl")
	f.Int64Var(&o.requests, "requests", 130_000, "about how many requests the log has, with --log")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the log, with --log")
	complete(c, "log", crowd.FormatNames)
}

// apart refuses flags of one kind of files beside those of the other.
func (o *logOptions) apart(c *cobra.Command) error {
	others, what := []string{"requests", "seed"}, "only applies to --log"
	hint := "rlbench init --log nginx"
	if o.format != "" {
		others, what = []string{"limit", "algorithm"}, "cannot apply to --log, which writes traffic and no scenario"
		hint = "rlbench init --log " + o.format
	}
	for _, flag := range others {
		if c.Flags().Changed(flag) {
			return usagef(hint, "init: --%s %s", flag, what)
		}
	}
	return nil
}

// write writes a log and what is true of its clients: both or neither.
func (o *logOptions) write(a *app, dir string, force bool) error {
	if err := oneOf("log", o.format, crowd.FormatNames()); err != nil {
		return err
	}
	if o.requests < leastRequests || o.requests > mostRequests {
		return usagef("--requests 130000", "--requests %d: want %d to %d", o.requests, leastRequests, mostRequests)
	}
	var format *crowd.Format
	for i := range crowd.Formats {
		if crowd.Formats[i].Name == o.format {
			format = &crowd.Formats[i]
		}
	}
	config := crowd.Scaled(o.requests)
	config.Seed = o.seed
	if err := config.Validate(); err != nil {
		return internal(err)
	}
	stop := a.watchSignals()
	defer stop.stop()
	err := put(dir, logFiles(stop.ctx, format, config), force)
	if s := stop.signal(); s != nil {
		return &verdictError{signalCode(s)}
	}
	if err != nil {
		return initTrouble(err, dir, "rlbench init --log "+o.format+" DIR")
	}
	log := printable(pathIn(dir, format.File))
	fmt.Fprintf(a.Out, "wrote %s: made-up traffic of %d clients in the format of %s\n", log, config.Clients(), o.format)
	fmt.Fprintf(a.Out, "wrote %s: what each client is\n", printable(pathIn(dir, truthFile)))
	next := ""
	if o.format == "csv" || o.format == "jsonl" {
		next = " --format " + o.format
	}
	fmt.Fprintf(a.Out, "next: rlbench tune %s%s\n", log, next)
	return nil
}

// logFiles are a log and what is true of it, which is known once the log is written. If the
// context ends before, writing fails.
func logFiles(ctx context.Context, format *crowd.Format, config crowd.Config) []starter {
	var truth []crowd.Truth
	return []starter{
		{name: format.File, write: func(w io.Writer) (err error) {
			truth, err = format.Write(w, until(ctx, crowd.Generate(config)))
			return errors.Join(err, ctx.Err())
		}},
		{name: truthFile, write: func(w io.Writer) error { return crowd.WriteTruth(w, truth) }},
	}
}

// until ends events with a context.
func until(ctx context.Context, events iter.Seq[crowd.Event]) iter.Seq[crowd.Event] {
	return func(yield func(crowd.Event) bool) {
		const often = 1 << 12
		n := 0
		for e := range events {
			if n++; n%often == 0 && ctx.Err() != nil {
				return
			}
			if !yield(e) {
				return
			}
		}
	}
}
