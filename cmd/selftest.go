package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
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
is not found by the check that is named for it, or if a sound limiter is accused.
It takes some seconds on a real Redis, and minutes on the embedded one.`,
		Example: `  rlbench selftest
  rlbench selftest --seeds 30 --count 10
  rlbench run same-microsecond -a faulty:bare-timestamp-member`,
		Args:        noArguments("rlbench selftest"),
		Annotations: map[string]string{judges: "yes"},
		RunE: func(c *cobra.Command, _ []string) error {
			for _, flag := range []string{"seeds", "count"} {
				if o.part == "specimens" && a.given(c, flag) {
					return usagef("rlbench selftest --part specimens", "selftest: --%s is for sound limiters and cannot apply", flag)
				}
			}
			if a.given(c, "count") && o.count == 0 {
				return usagef("--count 10", "--count 0: want 1 to 10000")
			}
			if err := validInFlight(c, o.maxInFlight); err != nil {
				return err
			}
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
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "longest wait for each step of a decision")
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
	requests   int64 // of all trials, about: random scenarios differ by seed
	complete   bool  // every trial had its turn
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
	first, err := s.round(1)
	if err != nil {
		return nil, internal(err)
	}
	for _, t := range first {
		requests := s.experiment.requests(t.scenario, t.limiter)
		if t.specimen == nil && exact(t.scenario.plan) {
			requests *= int64(o.seeds)
		}
		s.requests += requests
	}
	return s, nil
}

func (s *selftest) run() error {
	e := s.experiment
	stop := e.watchSignals()
	defer stop.stop()
	watch := e.watch()
	env, err := e.open(stop)
	defer e.closeServers()
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
