package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// selftestOptions are the flags of rlbench selftest.
type selftestOptions struct {
	redis       string
	seeds       int
	count       int64
	timeout     time.Duration
	maxInFlight int
	progress    string
	quiet       bool
	part        string
}

// selftestParts are what can be tested by itself.
var selftestParts = []string{"all", "specimens", "sound"}

func selftestCommand(a *app) *cobra.Command {
	var o selftestOptions
	c := &cobra.Command{
		Use:   "selftest",
		Short: "Prove on this machine that faulty limiters are caught and sound ones pass",
		Long: `Selftest runs limiters with one known bug each, every one under the scenario that
has to expose it, and the bundled limiters under every scenario. It fails if a bug
is not found by the check that is named for it, or if a sound limiter is accused.`,
		Example: `  rlbench selftest
  rlbench selftest --seeds 30 --count 10
  rlbench run same-microsecond -a faulty:bare-timestamp-member`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("rlbench selftest", "selftest: takes no arguments, there are %d", len(args))
			}
			return nil
		},
		Annotations: map[string]string{judges: "yes"},
		RunE: func(*cobra.Command, []string) error {
			s, err := o.prepare(a)
			if err != nil {
				return err
			}
			return s.run()
		},
	}
	f := c.Flags()
	f.StringVar(&o.redis, "redis", backend.Auto, "auto, managed, embedded or a URL, as for run")
	f.IntVar(&o.seeds, "seeds", 1, "how many seeds the sound limiters are run with")
	f.Int64Var(&o.count, "count", 0, "count of all limits of the sound limiters' runs instead of the scenarios' own, such as 10")
	f.DurationVar(&o.timeout, "timeout", time.Second, "longest wait for each step of a decision")
	f.IntVar(&o.maxInFlight, "max-in-flight", 64, "concurrent requests at most")
	f.StringVar(&o.part, "part", "all", "specimens (limiters with a known bug), sound (the bundled ones), or all")
	complete(c, "part", func() []string { return selftestParts })
	f.StringVar(&o.progress, "progress", "auto", "auto, bar, plain or none")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "only the summary, and no progress")
	complete(c, "progress", func() []string { return progressModes })
	return c
}

// selftest is one invocation: trials of specimens and of sound limiters.
type selftest struct {
	*selftestOptions
	experiment *experiment
	trials     []trial
}

// trial is one limiter under one scenario, and what has to come of it.
type trial struct {
	scenario loaded
	limiter  string
	specimen *faulty.Specimen // nil for a sound limiter
	seed     uint64
}

// result is a trial that is over.
type result struct {
	trial
	verdict  scenarios.Verdict
	findings []scenarios.Finding // that changed the verdict
}

func (o *selftestOptions) prepare(a *app) (*selftest, error) {
	run := &runOptions{
		redis: o.redis, runs: 1, timeout: o.timeout, maxInFlight: o.maxInFlight,
		keyPrefix: "rlbench", quiet: o.quiet, progress: o.progress, color: "never",
	}
	if err := run.validate(); err != nil {
		return nil, err
	}
	if err := oneOf("part", o.part, selftestParts); err != nil {
		return nil, err
	}
	const mostSeeds = 100_000
	switch {
	case o.seeds < 1 || o.seeds > mostSeeds:
		return nil, usagef("--seeds 30", "--seeds %d: want 1 to %d", o.seeds, mostSeeds)
	case o.count < 0 || o.count > 10_000:
		return nil, usagef("--count 10", "--count %d: want 1 to 10000", o.count)
	}
	spec, err := a.redisSpec(run)
	if err != nil {
		return nil, err
	}
	s := &selftest{selftestOptions: o, experiment: &experiment{app: a, runOptions: run, spec: spec}}
	if o.part != "sound" {
		if err := s.specimens(); err != nil {
			return nil, internal(err)
		}
	}
	if o.part != "specimens" {
		if err := s.sound(); err != nil {
			return nil, internal(err)
		}
	}
	return s, nil
}

// specimens adds a trial for each limiter with a known bug.
func (s *selftest) specimens() error {
	for i := range faulty.Specimens {
		specimen := &faulty.Specimens[i]
		one, err := builtin(specimen.Scenario, 1, func(sc *scenarios.Scenario) {
			if specimen.Limit != (limiter.Limit{}) {
				sc.Limit = specimen.Limit
			}
		})
		if err != nil {
			return fmt.Errorf("specimen %s: %w", specimen.Name, err)
		}
		s.trials = append(s.trials, trial{one, "faulty:" + specimen.Name, specimen, 1})
	}
	return nil
}

// sound adds the bundled limiters under every scenario, with every seed where
// time is virtual: the others differ by more than their seed anyway.
func (s *selftest) sound() error {
	for seed := uint64(1); seed <= uint64(s.seeds); seed++ {
		for _, b := range scenarios.Builtins() {
			one, err := builtin(b.Name, seed, func(sc *scenarios.Scenario) {
				if s.count > 0 && sc.Clock == scenarios.Virtual {
					sc.Limit.Max = s.count
				}
			})
			if err != nil {
				return err
			}
			if seed > 1 && one.plan.Clock != scenarios.Virtual {
				continue
			}
			for _, name := range limiter.Names() {
				s.trials = append(s.trials, trial{one, name, nil, seed})
			}
		}
	}
	return nil
}

// builtin reads and plans an embedded scenario.
func builtin(name string, seed uint64, change func(*scenarios.Scenario)) (loaded, error) {
	b, err := scenarios.BuiltinNamed(name)
	if err != nil {
		return loaded{}, err
	}
	d := scenarios.BuiltinDefaults()
	sc, err := b.Read(d)
	if err != nil {
		return loaded{}, err
	}
	sc.Seed = seed
	change(sc)
	plan, err := scenarios.NewPlan(sc)
	if err != nil {
		return loaded{}, err
	}
	return loaded{Scenario: sc, plan: plan, hash: plan.Hash()}, nil
}

func (s *selftest) run() error {
	e := s.experiment
	stop := e.watchSignals()
	defer stop.stop()
	watch := e.watch()
	env, err := e.open(stop)
	if e.server != nil {
		defer e.server.Close()
	}
	var results []result
	if err == nil {
		results, err = s.all(stop)
	}
	if err != nil && stop.signal() == nil {
		return err
	}
	code := s.tell(e.Out, results, env, watch())
	switch {
	case stop.signal() != nil:
		code = signalCode(stop.signal())
		e.verdict = e.verdict.Worse(scenarios.Inconclusive)
	case e.lost != nil:
		return targetTrouble(e.lost)
	}
	if code == exitOK {
		return nil
	}
	return &verdictError{code}
}

// all runs the trials one after the other.
func (s *selftest) all(stop *interrupt) ([]result, error) {
	e := s.experiment
	e.id = invocation()
	total := int64(0)
	for _, t := range s.trials {
		total += int64(len(t.scenario.plan.Arrivals))
	}
	if err := e.server.Warm(stop.ctx, e.maxInFlight); err != nil {
		return nil, targetTrouble(err)
	}
	p := e.startProgress(total, &e.handled)
	defer p.stop()
	var results []result
	for _, t := range s.trials {
		if stop.ctx.Err() != nil || e.lost != nil {
			break
		}
		e.cases = nil
		if err := e.one(stop, p, t.scenario, t.limiter, 1); err != nil {
			return results, err
		}
		if len(e.cases) == 1 {
			results = append(results, resultOf(t, e.cases[0]))
		}
	}
	return results, nil
}

func resultOf(t trial, c report.Case) result {
	r := result{trial: t, verdict: c.Judgement.Verdict}
	for _, f := range c.Judgement.Findings {
		if f.Verdict != scenarios.Pass && !f.Warn {
			r.findings = append(r.findings, f)
		}
	}
	return r
}

// caught says whether the check that is named for a specimen found its bug, and
// no other where it must be alone.
func (r result) caught() bool {
	named := false
	for _, f := range r.findings {
		check := checkOf(f)
		named = named || check == r.specimen.Check
		if r.specimen.Only && check != r.specimen.Check {
			return false
		}
	}
	return named
}

// checkOf is the name of the check that a finding is of: written checks are
// known by their text.
func checkOf(f scenarios.Finding) string {
	if slices.ContainsFunc(oracle.Listed(), func(row [2]string) bool { return row[0] == f.Check }) {
		return f.Check
	}
	return "checks"
}

// by are the checks that found something, once each.
func (r result) by() string {
	var names []string
	for _, f := range r.findings {
		if name := checkOf(f); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// evidence is the message of the first finding of a check, or of any.
func (r result) evidence(check string) string {
	for _, f := range r.findings {
		if checkOf(f) == check {
			return f.Message
		}
	}
	if len(r.findings) > 0 {
		return r.findings[0].Message
	}
	return ""
}

// tell writes the kill table and what became of the sound limiters, and returns
// the exit code.
func (s *selftest) tell(w io.Writer, results []result, env report.Env, elapsed time.Duration) int {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if !s.quiet {
		fmt.Fprintln(t, "specimen\tscenario\tcheck\tfound by\tevidence")
	}
	var survived, accused, unsure []string
	specimens, sound := 0, 0
	for _, r := range results {
		switch {
		case r.specimen != nil:
			specimens++
			if !s.quiet {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.specimen.Name, r.specimen.Scenario, r.specimen.Check, r.by(), r.evidence(r.specimen.Check))
			}
			if !r.caught() {
				survived = append(survived, fmt.Sprintf("SURVIVED %s: %s under %s has to be found by %s%s, was found by %s",
					r.specimen.Name, r.specimen.Doc, r.specimen.Scenario, r.specimen.Check, alone(r.specimen.Only), r.by()))
			}
		case r.verdict == scenarios.Fail:
			sound++
			accused = append(accused, fmt.Sprintf("ACCUSED %s under %s, seed %d, by %s: %s", r.limiter, r.scenario.Name, r.seed, r.by(), r.evidence("")))
		case r.verdict == scenarios.Inconclusive:
			sound++
			unsure = append(unsure, fmt.Sprintf("INCONCLUSIVE %s under %s, seed %d: %s", r.limiter, r.scenario.Name, r.seed, r.evidence("")))
		default:
			sound++
		}
	}
	t.Flush()
	if !s.quiet {
		fmt.Fprintln(w)
	}
	for _, line := range slices.Concat(survived, accused, unsure) {
		fmt.Fprintln(w, printable(line))
	}
	verdict := scenarios.Pass
	switch {
	case len(survived)+len(accused) > 0:
		verdict = scenarios.Fail
	case len(unsure) > 0 || len(results) < len(s.trials):
		verdict = scenarios.Inconclusive
	}
	s.experiment.verdict = verdict
	if s.part != "sound" {
		fmt.Fprintf(w, "specimens: %d of %d caught, each by the check that is named for it\n", specimens-len(survived), len(faulty.Specimens))
	}
	if s.part != "specimens" {
		fmt.Fprintf(w, "sound limiters: %d runs, %d accused, %d inconclusive\n", sound, len(accused), len(unsure))
	}
	fmt.Fprintf(w, "%s  redis %s (%s), %s\n", strings.ToUpper(string(verdict)), env.Redis.Version, env.Redis.Flavour, elapsed.Round(10*time.Millisecond))
	return verdictCode(verdict)
}

func alone(only bool) string {
	if only {
		return " alone"
	}
	return ""
}
