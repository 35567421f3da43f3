package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

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

// mostRequests keeps the clients of a log below crowd.MostClients.
const mostRequests = 60_000_000

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
	if o.requests < 1000 || o.requests > mostRequests {
		return usagef("--requests 130000", "--requests %d: want 1000 to %d", o.requests, mostRequests)
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
	err := o.put(stop.ctx, dir, format, config, force)
	if s := stop.signal(); s != nil {
		return &verdictError{signalCode(s)}
	}
	if err != nil {
		hint := "choose a folder that can be written: rlbench init --log " + o.format + " DIR"
		if errors.Is(err, errThere) {
			hint = "rlbench init --force replaces what is there; rlbench init DIR writes elsewhere"
		}
		return usage(fmt.Errorf("init: %w", err), hint)
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

// put writes both files beside their places and then moves them there. If that fails, or the
// context ends, everything is as it was.
func (o *logOptions) put(ctx context.Context, dir string, format *crowd.Format, config crowd.Config, force bool) (err error) {
	if err := unobstructed(dir, []starter{{name: format.File}, {name: truthFile}}, force); err != nil {
		return err
	}
	made := false
	if err := os.Mkdir(dir, 0o755); err == nil {
		made = true
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder %s: %w", dir, withoutPath(err))
	}
	var truth []crowd.Truth
	var aside []string
	defer func() {
		for _, path := range aside {
			os.Remove(path)
		}
		if err != nil && made {
			os.Remove(dir)
		}
	}()
	for _, part := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{format.File, func(w io.Writer) (err error) {
			truth, err = format.Write(w, until(ctx, crowd.Generate(config)))
			return errors.Join(err, ctx.Err())
		}},
		{truthFile, func(w io.Writer) error { return crowd.WriteTruth(w, truth) }},
	} {
		f, err := os.CreateTemp(dir, ".rlbench-*")
		if err != nil {
			return fmt.Errorf("write to folder %s: %w", dir, withoutPath(err))
		}
		aside = append(aside, f.Name())
		if err := errors.Join(part.write(f), f.Chmod(0o644), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", pathIn(dir, part.name), withoutPath(err))
		}
	}
	for i, name := range []string{format.File, truthFile} {
		if err := os.Rename(aside[i], pathIn(dir, name)); err != nil {
			return fmt.Errorf("write %s: %w", pathIn(dir, name), withoutPath(err))
		}
	}
	return nil
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
