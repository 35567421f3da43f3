package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// scenarioOptions are the flags of commands that load scenarios.
type scenarioOptions struct {
	algorithms []string
	limit      string
	clock      string
	seed       uint64
	set        []string
	faults     []string
	onFailure  string
	model      string
	replay     replayOptions
}

func (o *scenarioOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVarP(&o.algorithms, "algorithm", "a", []string{"fixed", "log", "counter"}, "limiters under test: names, all, lua:PATH, faulty:NAME")
	f.StringVar(&o.model, "model", "", "what a lua: target claims to be, instead of what its mapping says: "+strings.Join(models(), ", "))
	f.StringVarP(&o.limit, "limit", "l", "", "limit instead of the scenario's, such as 100/1m")
	f.StringVar(&o.clock, "clock", "", "clock instead of the scenario's: virtual, server or client")
	f.Uint64Var(&o.seed, "seed", 1, "seed of random shapes")
	f.StringArrayVar(&o.set, "set", nil, "change a value of the scenario: path=value, such as phases.after-edge.count=50")
	f.StringArrayVar(&o.faults, "fault", nil, "another fault, such as '{at: after-edge, kind: latency, delay: 50ms}'; rlbench list faults")
	f.StringVar(&o.onFailure, "on-failure", "", "failure policy instead of the scenario's: "+strings.Join(scenarios.FailurePolicies, ", "))
	o.replay.flags(c)
	complete(c, "on-failure", func() []string { return scenarios.FailurePolicies })
	complete(c, "algorithm", limiterNames)
	complete(c, "clock", clockNames)
	complete(c, "model", models)
}

// models are what a foreign limiter can claim to be.
func models() []string { return append(limiter.Names(), target.NoModel) }

// complete offers a closed list on the command line.
func complete(c *cobra.Command, flag string, values func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(fmt.Sprintf("completion of --%s: %v", flag, err)) // the flag is not defined
	}
}

func clockNames() []string {
	var names []string
	for _, c := range scenarios.Clocks {
		names = append(names, string(c.Name))
	}
	return names
}

func scenarioNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, b := range scenarios.Builtins() {
		names = append(names, b.Name)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// loaded is a scenario with its timetable.
type loaded struct {
	*scenarios.Scenario
	plan     *scenarios.Plan
	hash     string   // of the plan
	limiters []string // under test
	optional bool     // one of all: left out where it does not suit
	file     bool     // not built in
}

// needs are what the traffic of a scenario asks of a limiter.
func (s loaded) needs() target.Needs {
	n := target.Needs{Clock: s.plan.Clock, Policy: s.plan.OnFailure, Service: s.plan.Service != "", Faults: len(s.plan.Faults) > 0, Skewed: s.plan.Skewed()}
	for _, phase := range s.plan.Phases {
		n.Names = n.Names || phase.Also != nil
		n.Waits = n.Waits || phase.Retry != nil && phase.Retry.Mode == "obey"
		if !slices.Contains(n.Limits, phase.Limit) {
			n.Limits = append(n.Limits, phase.Limit)
		}
	}
	n.Costs = slices.ContainsFunc(s.plan.Arrivals, func(a scenarios.Arrival) bool { return a.Cost > 1 })
	return n
}

// load reads scenarios and plans them. All mistakes of all files are reported
// together.
func (o *scenarioOptions) load(a *app, c *cobra.Command, names []string) ([]loaded, error) {
	defaults, override, err := o.overrides(a, c)
	if err != nil {
		return nil, err
	}
	var set []scenarios.Assignment
	for _, text := range o.set {
		assignment, err := scenarios.ParseAssignment(text)
		if err != nil {
			return nil, usage(err, "rlbench show boundary-burst prints a scenario with its paths")
		}
		set = append(set, assignment)
	}
	for _, text := range o.faults {
		set = append(set, scenarios.AddFault(text))
	}
	player, err := o.replay.player(a, c)
	if err != nil {
		return nil, err
	}
	var all []loaded
	var errs []error
	requests := 0
	for _, named := range expand(names) {
		one, err := player.loadOne(named, defaults, set, override)
		switch {
		case err == nil && named.optional && requests+len(one.plan.Arrivals) > scenarios.MaxArrivals:
			a.leaveOut(named.name, fmt.Errorf("all together would be more than %d requests", scenarios.MaxArrivals))
		case err == nil:
			all = append(all, one)
			requests += len(one.plan.Arrivals)
		case named.optional && errors.Is(err, errNoLog):
			a.leaveOut(named.name, errNoLog)
		case named.optional:
			a.leaveOut(named.name, err)
		default:
			errs = append(errs, err)
		}
	}
	err = errors.Join(append(errs, distinct(all))...)
	if err == nil {
		err = player.applied()
	}
	if err != nil {
		return nil, usage(err, loadHint(names, len(o.faults), err))
	}
	return all, nil
}

// loadOne reads and plans one scenario.
func (p *player) loadOne(n named, d scenarios.Defaults, set []scenarios.Assignment, override func(*scenarios.Scenario)) (loaded, error) {
	s, err := p.app.read(n.name, d, set)
	if err != nil {
		return loaded{}, err
	}
	override(s)
	if err := p.fill(s, n.name); err != nil {
		return loaded{}, err
	}
	plan, err := scenarios.NewPlan(s)
	for _, check := range s.Checks {
		err = errors.Join(err, check.Validate(s.Limit))
	}
	if err == nil && n.optional {
		err = patient(plan)
	}
	if err != nil {
		return loaded{}, err
	}
	return loaded{Scenario: s, plan: plan, hash: plan.Hash(), optional: n.optional, file: n.name == "-" || isPath(n.name)}, nil
}

// patient refuses what would take minutes of real time as one of many.
func patient(p *scenarios.Plan) error {
	const most = 20 * time.Second
	if p.Service != "" {
		return errors.New("it measures a service on this machine, which takes a while; name it to run it")
	}
	if p.Overload > 0 {
		return errors.New("it looks for what this machine can do; name it to run it")
	}
	first, last := p.Span()
	if took := last - first + p.Drain; p.Clock != scenarios.Virtual && took > most {
		return fmt.Errorf("it takes %s of real time at this limit for each limiter; name it to run it", limiter.FormatDuration(took.Round(time.Second)))
	}
	return nil
}

// leaveOut tells that one of all scenarios is left out, and why.
func (a *app) leaveOut(name string, why error) {
	fmt.Fprintf(a.Err, "rlbench: left out %s: %s\n", name, printable(strings.ReplaceAll(why.Error(), "\n", "; ")))
}

// loadHint is a command that helps with what went wrong.
func loadHint(names []string, faults int, err error) string {
	var problems scenarios.Problems
	var known *problem
	switch {
	case errors.As(err, &known):
		return known.hint
	case errors.As(err, &problems) && strings.Contains(err.Error(), "file is larger than"): // as logs are
		return "an access log is replayed with rlbench run replay --trace FILE"
	case errors.As(err, &problems) && isPath(names[0]):
		return "rlbench validate " + strings.Join(names, " ")
	case strings.HasPrefix(err.Error(), "unknown scenario"):
		return "rlbench list scenarios"
	case !isPath(names[0]) && names[0] != "-" && faults > 0: // what is built in has no mistakes of its own
		return "rlbench list -v faults"
	case !isPath(names[0]) && names[0] != "-" && names[0] != "all":
		return "rlbench show " + names[0] + " prints it"
	}
	return "rlbench show boundary-burst prints a scenario that is right"
}

// overrides are what flags and environment say about fields of a scenario: a
// variable gives way to the file, a flag does not.
func (o *scenarioOptions) overrides(a *app, c *cobra.Command) (scenarios.Defaults, func(*scenarios.Scenario), error) {
	d := scenarios.BuiltinDefaults()
	var apply []func(*scenarios.Scenario)
	if o.limit != "" {
		l, err := limiter.ParseLimit(o.limit)
		if err != nil {
			return d, nil, usage(err, "--limit 100/1m")
		}
		d.Limit = l
		if a.given(c, "limit") {
			apply = append(apply, func(s *scenarios.Scenario) { s.Limit = l })
		}
	}
	if o.clock != "" {
		clock, err := scenarios.ParseClock(o.clock)
		if err != nil {
			return d, nil, usage(err, "--clock virtual")
		}
		d.Clock = clock
		if a.given(c, "clock") {
			apply = append(apply, func(s *scenarios.Scenario) { s.Clock = clock })
		}
	}
	d.Seed = o.seed
	if a.given(c, "seed") {
		apply = append(apply, func(s *scenarios.Scenario) { s.Seed = o.seed })
	}
	if o.onFailure != "" {
		if err := oneOf("on-failure", o.onFailure, scenarios.FailurePolicies); err != nil {
			return d, nil, err
		}
		always := a.given(c, "on-failure")
		apply = append(apply, func(s *scenarios.Scenario) {
			if always || s.OnFailure == "" {
				s.OnFailure = o.onFailure
			}
		})
	}
	return d, func(s *scenarios.Scenario) {
		for _, f := range apply {
			f(s)
		}
	}, nil
}

// named is a scenario that was asked for; optional if as one of all.
type named struct {
	name     string
	optional bool
}

// expand replaces "all" by every built-in.
func expand(names []string) []named {
	var out []named
	for _, name := range names {
		if name != "all" {
			out = append(out, named{name, false})
			continue
		}
		for _, b := range scenarios.Builtins() {
			out = append(out, named{b.Name, true})
		}
	}
	return out
}

// distinct refuses scenarios that a report could not tell apart.
func distinct(all []loaded) error {
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.Name] {
			return fmt.Errorf("two scenarios are called %q; give one of them another name", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// read finds a scenario: "-" is stdin, what looks like a path is a file, and
// everything else is a built-in.
func (a *app) read(name string, d scenarios.Defaults, set []scenarios.Assignment) (*scenarios.Scenario, error) {
	if name == "-" {
		return scenarios.Read(a.In, "stdin", d, set...)
	}
	if !isPath(name) {
		b, err := scenarios.BuiltinNamed(name)
		if err != nil {
			return nil, err
		}
		return b.Read(d, set...)
	}
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return scenarios.Read(f, name, d, set...)
}

func openFile(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("open scenario %s: %w", name, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open scenario: %s is a directory", name)
	}
	return f, nil
}

func isPath(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}
