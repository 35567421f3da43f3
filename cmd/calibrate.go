package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
)

// sides is how many results a comparison has.
const sides = 2

func calibrateCommand(a *app) *cobra.Command {
	var o runOptions
	var pairs int
	var alpha float64
	var schema bool
	c := &cobra.Command{
		Use:   "calibrate SCENARIO...",
		Short: "How much times differ on this machine though nothing changed",
		Long: `Calibrate runs scenarios as both sides of a comparison would, in turns, and splits
the runs into halves at random, a thousand times: pairs of which both are of the
same. What one pair in twenty differs by is the noise floor, below which no
comparison on this machine means anything; it also says how many runs it takes to
find a shift of 5 and of 10 %. Compare with --noise and its JSON: each time then has
to exceed its own floor, and counts are exact as ever.`,
		Example: `  rlbench calibrate boundary-burst
  rlbench calibrate saturate -a log-packed --runs 20 -o table -o json=noise.json
  rlbench compare old.json new.json --noise noise.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !schema {
				return usagef("rlbench calibrate boundary-burst", "calibrate: no scenario is named")
			}
			return nil
		},
		ValidArgsFunction: scenarioNames,
		Annotations:       map[string]string{judges: "yes"},
		RunE: func(c *cobra.Command, args []string) error {
			if schema {
				_, err := a.Out.Write(report.CalibrationJSONSchema)
				return err
			}
			e, err := o.calibration(a, c, args, pairs, alpha)
			if err != nil {
				return err
			}
			return e.run()
		},
	}
	o.scenarioOptions.flags(c)
	f := c.Flags()
	f.IntVar(&pairs, "runs", 10, "how often to run everything for each side")
	f.Float64Var(&alpha, "alpha", 0.05, "chance of a false alarm that comparisons will have")
	f.StringVar(&o.redis, "redis", backend.Auto, "auto, managed or a URL; auto takes RLBENCH_REDIS, then REDIS_URL, then a private redis-server")
	f.DurationVar(&o.timeout, "timeout", time.Second, "longest wait for each step of a decision: a connection, sending, the reply")
	f.IntVar(&o.maxInFlight, "max-in-flight", 0, "concurrent requests at most, as for run")
	f.StringVar(&o.keyPrefix, "key-prefix", "rlbench", "start of every key")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: table, json (default table)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress, and no table unless asked for")
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	f.BoolVar(&schema, "schema", false, "print the JSON Schema of calibrations")
	complete(c, "output", report.CalibrationFormats.Names)
	complete(c, "progress", func() []string { return progressModes })
	complete(c, "color", func() []string { return colorModes })
	return c
}

// calibration is a run of both sides, of which the report is how far they differ.
func (o *runOptions) calibration(a *app, c *cobra.Command, args []string, pairs int, alpha float64) (*experiment, error) {
	switch {
	case pairs < 2 || pairs > 500:
		return nil, usagef("--runs 10", "--runs %d: want 2 to 500", pairs)
	case !(alpha > 0 && alpha < 0.5):
		return nil, usagef("--alpha 0.05", "--alpha %v: want more than 0 and less than 0.5", alpha)
	}
	o.runs = sides * pairs
	e, err := o.prepare(a, c, args)
	if err != nil {
		return nil, err
	}
	e.fit = func(env report.Env) error {
		if env.Redis.Flavour == string(backend.Embedded) {
			return usagef("--redis managed, with redis-server on the PATH", "calibrate: the times of the emulator are not those of a Redis")
		}
		return nil
	}
	e.sinks, err = sinksFor(a, o, report.CalibrationFormats, func(r *report.Report) (*report.Calibration, error) { return report.Calibrate(r, alpha) })
	return e, err
}
