package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlbench/rlbench/cmd/tuning"
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// tuneOptions are the flags of rlbench tune.
type tuneOptions struct {
	runOptions          // outputs, quiet, progress, color, redis, timeout
	names      []string // of algorithms
	windows    []string
	keys       []string
	limits     []string
	untouched  string
	memory     string
	heavy      int64
	spread     string
	format     string
	reorder    time.Duration
	maxBad     string
	emit       string
	force      bool
	accuracy   bool
	schema     bool
}

func tuneCommand(a *app) *cobra.Command {
	var o tuneOptions
	c := &cobra.Command{
		Use:   "tune LOG...",
		Short: "Recommend a limit, a window and an algorithm for the traffic of an access log",
		Long: `Tune reads an access log (nginx, Apache, Caddy, Cloudflare, AWS ALB, Envoy, CSV, JSON
lines; plain, gzip or zstd; - is stdin), plays it through algorithms, limits and
windows at once, and recommends the smallest limit that leaves nearly all ordinary
clients untouched, with what each policy would have refused, let through and cost.
No Redis is needed. Clients are pseudonyms from the first moment on: no address of
the log is in any output.`,
		Example: `  rlbench tune access.log
  rlbench tune access.log.2.gz access.log.1 access.log --window 1m,10s --untouched 99.5%
  rlbench tune access.log --emit conf -o html=tuning.html
  rlbench tune --accuracy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !o.schema && !o.accuracy {
				return usagef("rlbench tune access.log; rlbench init --log nginx writes one to try", "tune: no log is named")
			}
			if len(args) > 0 && (o.schema || o.accuracy) {
				return usagef("rlbench tune --accuracy", "tune: --schema and --accuracy take no log, there are %d", len(args))
			}
			return nil
		},
		Annotations: map[string]string{judges: "yes"},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.alone(a, c); err != nil {
				return err
			}
			switch {
			case o.schema:
				_, err := a.Out.Write(report.TuningJSONSchema)
				return err
			case o.accuracy:
				return a.accuracy(&o)
			}
			t, err := o.prepare(a, args)
			if err != nil {
				return err
			}
			return t.run()
		},
	}
	o.flags(c)
	return c
}

func (o *tuneOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVarP(&o.names, "algorithm", "a", limiter.Names(), "algorithms to try")
	f.StringSliceVar(&o.windows, "window", []string{"1m"}, "windows to try; the first is preferred")
	f.StringSliceVar(&o.keys, "key", []string{string(simulator.PerClient)}, "what a budget is kept for: ip, ip+route, prefix (a /24 or a /48)")
	f.StringSliceVar(&o.limits, "limits", nil, "limits to try, up to 64; by default round ones around what clients ask for")
	f.StringVar(&o.untouched, "untouched", "99.9%", "share of ordinary clients that nothing is to be refused")
	f.StringVar(&o.memory, "memory", "256MiB", "what the state of all clients may take of Redis")
	f.Int64Var(&o.heavy, "heavy", 0, "peak in a window above which a client is heavy, and so not ordinary; 0 looks for a gap")
	f.StringVar(&o.spread, "spread", string(trace.Even), "where within a second requests came, if stamps are of whole seconds: front, even, back or poisson; all are tried")
	f.Uint64Var(&o.seed, "seed", 1, "seed of --spread poisson")
	f.StringVar(&o.format, "format", "", "format of the log, by default the one that it has: "+strings.Join(trace.Formats(), ", ")+", a log_format of nginx, a LogFormat of Apache, csv:time=...")
	f.DurationVar(&o.reorder, "reorder", time.Minute, "how far a line may be from its place in time")
	f.StringVar(&o.maxBad, "max-bad", "1%", "share of lines that may be broken; the first ones are shown")
	f.StringVar(&o.redis, "measure", "", "a Redis to measure bytes and script times on (managed or a URL), instead of taking those that come with rlbench")
	f.DurationVar(&o.timeout, "timeout", time.Second, "longest wait for each step of a decision, with --measure")
	f.StringVar(&o.emit, "emit", "", "folder for the recommendation: policies for httplimit, nginx, Envoy, and a scenario that replays the riskiest window")
	f.BoolVar(&o.force, "force", false, "replace files that are there, with --emit")
	f.BoolVar(&o.accuracy, "accuracy", false, "print how often a counter decides otherwise than a log, on made-up traffic")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of tunings")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: "+strings.Join(report.TuningFormats.Names(), ", ")+" (default table)")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "a table of everything: other limits and algorithms, routes, the riskiest window, memory")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress, and no table unless asked for")
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	complete(c, "algorithm", limiter.Names)
	complete(c, "key", keyNames)
	complete(c, "spread", spreadNames)
	complete(c, "format", trace.Formats)
	complete(c, "output", report.TuningFormats.Names)
	complete(c, "progress", func() []string { return progressModes })
	complete(c, "color", func() []string { return colorModes })
}

// alone refuses flags that --accuracy and --schema have no use for.
func (o *tuneOptions) alone(a *app, c *cobra.Command) (err error) {
	flag, others := "schema", []string{"schema"}
	if o.accuracy {
		flag, others = "accuracy", []string{"accuracy", "seed", "color", "progress"}
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if (o.accuracy || o.schema) && err == nil && a.given(c, f.Name) && !slices.Contains(others, f.Name) {
			err = usagef("rlbench tune --"+flag, "tune: --%s cannot apply to --%s", f.Name, flag)
		}
	})
	return err
}

func keyNames() []string {
	var all []string
	for _, k := range simulator.Keys {
		all = append(all, string(k))
	}
	return all
}

func spreadNames() []string {
	var all []string
	for _, s := range trace.Spreads {
		all = append(all, string(s))
	}
	return all
}

// config reads the flags, and refuses what cannot be asked.
func (o *tuneOptions) config(a *app, files []string) (tuning.Config, error) {
	if slices.Contains(o.names, "all") {
		o.names = limiter.Names()
	}
	c := tuning.Config{
		Files: files, Algorithms: o.names, Heavy: o.heavy, Spread: trace.Spread(o.spread), Seed: o.seed,
		Trace: trace.Options{Format: o.format, Reorder: o.reorder, Stdin: a.In},
	}
	for _, text := range o.windows {
		d, err := limiter.ParseDuration(text)
		if err != nil {
			return c, usage(fmt.Errorf("--window: %w", err), "--window 1m,10s")
		}
		c.Windows = append(c.Windows, d)
	}
	for _, text := range o.keys {
		c.Keys = append(c.Keys, simulator.Key(text))
	}
	for _, text := range o.limits {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			hint := "--limits 50,100,200"
			if l, err := limiter.ParseLimit(text); err == nil {
				hint = fmt.Sprintf("--limits %d --window %s", l.Max, limiter.FormatDuration(l.Window))
			}
			return c, usagef(hint, "--limits %q: want whole numbers from 1 on", text)
		}
		c.Limits = append(c.Limits, n)
	}
	var err error
	if c.Untouched, err = shareOf("untouched", o.untouched, "99.9%"); err != nil {
		return c, err
	}
	if c.Trace.MaxBad, err = shareOf("max-bad", o.maxBad, "1%"); err != nil {
		return c, err
	}
	if c.Trace.MaxBad == 0 {
		c.Trace.MaxBad = 1e-12 // none; 0 is the default of the reader
	}
	if c.Memory, err = parseBytes(o.memory); err != nil {
		return c, err
	}
	if o.reorder < 0 {
		return c, usagef("--reorder 1m", "--reorder %s: want 0s or more", o.reorder)
	}
	if err := c.Validate(); err != nil {
		return c, usage(fmt.Errorf("tune: %w", err), "rlbench tune --help")
	}
	return c, nil
}

// shareOf reads a percentage up to 100.
func shareOf(flag, text, example string) (float64, error) {
	share, err := parsePercent(text)
	if err != nil || share == nil {
		if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1 { // meant as a share
			example = strconv.FormatFloat(math.Round(n*1e8)/1e6, 'f', -1, 64) + "%"
		}
		return 0, usagef("--"+flag+" "+example, "--%s %q: want a percentage, such as %s", flag, text, example)
	}
	f, _ := share.Float64()
	if f > 1 {
		return 0, usagef("--"+flag+" 100%", "--%s %q: want at most 100%%", flag, text)
	}
	return f, nil
}

// byteUnits are those of sizes; the empty one is last.
var byteUnits = []struct {
	name string
	size int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}

// parseBytes reads "256MiB".
func parseBytes(text string) (int64, error) {
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 1 || n > (1<<62)/u.size {
			break
		}
		return n * u.size, nil
	}
	return 0, usagef("--memory 256MiB", "--memory %q: want a size, such as 256MiB or 2GB", text)
}

// tuningRun is one invocation.
type tuningRun struct {
	*app
	*tuneOptions
	config   tuning.Config
	document *report.Tuning
	sinks    sinks
}

// prepare refuses everything that cannot be before the log is opened.
func (o *tuneOptions) prepare(a *app, files []string) (*tuningRun, error) {
	for _, err := range []error{oneOf("progress", o.progress, progressModes), oneOf("color", o.color, colorModes), oneOf("spread", o.spread, spreadNames())} {
		if err != nil {
			return nil, err
		}
	}
	c, err := o.config(a, files)
	if err != nil {
		return nil, err
	}
	t := &tuningRun{app: a, tuneOptions: o, config: c, document: &report.Tuning{}}
	if err := t.unobstructed(); err != nil {
		return nil, err
	}
	if t.sinks, err = sinksFor(a, &o.runOptions, report.TuningFormats, already(t.document)); err != nil {
		return t, err
	}
	return t, errors.Join(t.sinks.spares("the log", files...), t.sinks.spares("a file of --emit", t.emitted()...))
}

func (t *tuningRun) run() error {
	if err := t.sinks.open(); err != nil {
		return err
	}
	defer t.sinks.discard()
	started, watch := t.Now(), time.Now()
	redis, measured, err := t.costs()
	if err != nil {
		return err
	}
	t.config.Measured = measured
	stop := t.watchSignals()
	defer stop.stop()
	p := t.startReading()
	t.config.Progress = p.tell
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop.onSecond(cancel)
	study, err := tuning.Tune(ctx, stop.ctx, t.config)
	p.stop()
	if err != nil {
		if stop.signal() != nil {
			return &verdictError{signalCode(stop.signal())}
		}
		return logTrouble(err, t.format)
	}
	*t.document = *study.Document
	d := t.document
	d.Command, d.Started, d.ElapsedUS, d.Env = t.command, started.UTC(), time.Since(watch).Microseconds(), t.Machine()
	d.Memory.Redis, d.Memory.BuiltIn = redis, t.redis == ""
	t.verdict = d.Verdict
	if err := t.sinks.write(nil); err != nil {
		return err
	}
	if s := stop.signal(); s != nil {
		if err := t.writeIfAny(study); err != nil {
			printError(t.Err, err)
		}
		return &verdictError{signalCode(s)}
	}
	if err := t.write(study); err != nil {
		return err
	}
	if d.Verdict == scenarios.Inconclusive {
		return &verdictError{exitInconclusive}
	}
	return nil
}

// costs are what keys take of Redis: measured there, or what is built in.
func (t *tuningRun) costs() (report.Redis, []report.MeasuredKey, error) {
	if t.redis == "" {
		redis, all := tuning.BuiltIn()
		return redis, all, nil
	}
	r, all, err := t.measure()
	var p *problem
	if errors.As(err, &p) { // what others call --redis
		p.hint = strings.ReplaceAll(p.hint, "--redis", "--measure")
	}
	return r, all, err
}
