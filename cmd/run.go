package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// runOptions are the flags of rlbench run.
type runOptions struct {
	scenarioOptions
	redis        string
	runs         int
	order        string
	baseline     string
	comparison   comparison
	changesTo    []string
	timeout      time.Duration
	maxInFlight  int
	checks       []string
	maxOvershoot string
	keyPrefix    string
	keepKeys     bool
	outputs      []string
	outputsFlag  string // that names them; "" is --output
	quiet        bool
	verbose      bool // of commands that have more to say
	progress     string
	color        string
}

func (o *runOptions) flags(c *cobra.Command) {
	o.scenarioOptions.flags(c)
	f := c.Flags()
	f.StringVar(&o.redis, "redis", backend.Auto, "auto, managed, embedded or a URL; auto takes RLBENCH_REDIS, then REDIS_URL, then a private redis-server, then the embedded one")
	f.IntVar(&o.runs, "runs", 1, "how often to run everything, interleaved")
	f.StringVar(&o.order, "order", "interleaved", "interleaved (each limiter once, then all again) or shuffled (in another order each time)")
	f.StringVar(&o.baseline, "baseline", "", "a result, or a folder of results, to compare with afterwards; see rlbench compare")
	o.comparison.flags(c)
	f.StringArrayVar(&o.changesTo, "comparison", nil, "FORMAT=PATH, repeatable, where what changed since --baseline goes too: "+strings.Join(report.ComparisonFormats.Names(), ", "))
	f.DurationVar(&o.timeout, "timeout", time.Second, "longest wait for each step of a decision: a connection, sending, the reply")
	f.IntVar(&o.maxInFlight, "max-in-flight", 0, "concurrent requests at most (default 64; in real time, up to 1000 requests a second, as many as are due within --timeout)")
	f.StringArrayVar(&o.checks, "check", nil, `another check, such as "log: peak_in_window <= limit"`)
	f.StringVar(&o.maxOvershoot, "max-overshoot", "", "fail limiters whose peak exceeds the limit by more, such as 0%")
	f.StringVar(&o.keyPrefix, "key-prefix", "rlbench", "start of every key")
	f.BoolVar(&o.keepKeys, "keep-keys", false, "leave the keys in Redis for a look")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: "+formatList())
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress, and no table unless asked for")
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	complete(c, "order", func() []string { return orders })
	complete(c, "progress", func() []string { return progressModes })
	complete(c, "color", func() []string { return colorModes })
	complete(c, "output", formatNames)
	complete(c, "redis", func() []string {
		return []string{backend.Auto, string(backend.Managed), string(backend.Embedded), "redis://"}
	})
}

// orders are those in which limiters take their turns.
var orders = []string{"interleaved", "shuffled"}

func formatNames() []string {
	names := make([]string, len(report.Formats))
	for i, f := range report.Formats {
		names[i] = f.Name
	}
	return names
}

func formatList() string { return strings.Join(formatNames(), ", ") + " (default table)" }

func runCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run SCENARIO...",
		Short: "Run scenarios against limiters, judge and report",
		Long: `Run plans each scenario, sends it to every limiter, judges every decision and
reports. A scenario is the name of a built-in, a YAML file, - for stdin, or all.`,
		Example: `  rlbench run boundary-burst
  rlbench run boundary-burst --limit 10/1s --max-overshoot 0%
  rlbench run boundary-burst --fault '{at: after-edge, kind: latency, delay: 5ms}'
  rlbench run mine.yaml --redis redis://localhost:6379 -o json=result.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("rlbench run boundary-burst", "run: no scenario is named")
			}
			return nil
		},
		ValidArgsFunction: scenarioNames,
		Annotations:       map[string]string{judges: "yes"},
		RunE: func(c *cobra.Command, args []string) error {
			e, err := o.prepare(a, c, args)
			if err != nil {
				return err
			}
			return e.run()
		},
	}
	o.flags(c)
	return c
}

// prepare turns flags and files into an experiment, and refuses everything that
// cannot be before anything is opened.
func (o *runOptions) prepare(a *app, c *cobra.Command, args []string) (*experiment, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := validInFlight(c, o.maxInFlight); err != nil {
		return nil, err
	}
	all, err := o.load(a, c, args)
	if err != nil {
		return nil, err
	}
	if all, err = o.targets(a, all); err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		for _, name := range s.limiters {
			names = append(names, name)
			if claimed := target.Claims(name, o.model); claimed != nil {
				names = append(names, claimed.Name) // a check can be for who claims to be it
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	o.tellUnheld(a, all)
	if !c.Flags().Changed("timeout") { // a scenario that waits longer is not cut off step by step
		for _, s := range all {
			o.timeout = max(o.timeout, s.plan.Timeout)
		}
	}
	e := &experiment{app: a, runOptions: o, scenarios: all}
	for _, text := range o.checks {
		check, err := parseCheck(text, all, names)
		if err != nil {
			return nil, usage(err, `--check "log: peak_in_window <= limit"; rlbench list checks`)
		}
		e.checks = append(e.checks, check)
	}
	if e.overshoot, err = parsePercent(o.maxOvershoot); err != nil {
		return nil, usage(err, "--max-overshoot 0%")
	}
	if err := e.readBaseline(c); err != nil {
		return nil, err
	}
	if e.sinks, err = a.sinks(o); err != nil {
		return nil, err
	}
	if err := e.against.sinks.apart(&e.sinks); err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(args), func(name string) bool { return !isPath(name) })
	if err := errors.Join(e.sinks.spares("the scenario", files...), e.sinks.spares("the log", o.replay.trace...)); err != nil {
		return nil, err
	}
	e.spec, err = a.redisSpec(o)
	return e, err
}

// validate checks the flags that need nothing else.
func (o *runOptions) validate() error {
	const most = report.MostRuns
	switch {
	case o.runs < 1 || o.runs > most:
		return usagef("--runs 10", "--runs %d: want 1 to %d", o.runs, most)
	case o.timeout < time.Millisecond || o.timeout > time.Hour:
		return usagef("--timeout 1s", "--timeout %s: want 1ms to 1h", o.timeout)
	case !limiter.ValidPrefix(o.keyPrefix):
		return usagef("--key-prefix rlbench", "--key-prefix %q: want letters, digits, '.', '_', '-' and ':'", o.keyPrefix)
	}
	if err := oneOf("order", cmp.Or(o.order, orders[0]), orders); err != nil {
		return err
	}
	if err := oneOf("progress", o.progress, progressModes); err != nil {
		return err
	}
	return oneOf("color", o.color, colorModes)
}

// oneOf checks a flag with a closed list of values.
func oneOf(flag, value string, values []string) error {
	if err := known("value", value, values); err != nil {
		return usage(fmt.Errorf("--%s: %w", flag, err), "--"+flag+" "+values[0])
	}
	return nil
}

// parsePercent reads "5%" as a share; empty is nil.
func parsePercent(text string) (*big.Rat, error) {
	if text == "" {
		return nil, nil
	}
	digits, ok := strings.CutSuffix(text, "%")
	if !ok || digits == "" || len(digits) > 12 || strings.Trim(digits, "0123456789.") != "" {
		return nil, fmt.Errorf("--max-overshoot %q: want a percentage from 0%%, such as 5%%", text)
	}
	share, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, fmt.Errorf("--max-overshoot %q: want a percentage from 0%%, such as 5%%", text)
	}
	return share.Quo(share, big.NewRat(100, 1)), nil
}

// parseCheck reads --check and refuses what no run of this command could meet.
func parseCheck(text string, all []loaded, limiters []string) (scenarios.Check, error) {
	check, err := scenarios.ParseCheck(text)
	if err != nil {
		return check, err
	}
	for _, s := range all {
		if err := check.Validate(s.Limit); err != nil {
			return check, err
		}
	}
	if check.Algorithm != "" {
		if err := known("limiter", check.Algorithm, limiters); err != nil {
			return check, fmt.Errorf("check %q: %w", text, err)
		}
	}
	if check.Phase != "" {
		for _, s := range all {
			var phases []string
			for _, p := range s.plan.Phases {
				phases = append(phases, p.Name)
			}
			if err := known("phase", check.Phase, phases); err != nil {
				return check, fmt.Errorf("check %q: scenario %s: %w", text, s.Name, err)
			}
		}
	}
	return check, nil
}

// known refuses a name that is not in a list.
func known(what, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return scenarios.UnknownName(what, name, names)
}
