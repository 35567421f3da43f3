package cmd

import (
	"embed"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

//go:embed init
var starters embed.FS

// starterFiles is the table of what init writes. The scenario comes first.
var starterFiles = []struct{ name, doc string }{
	{"rlbench.yaml", "a scenario with every field explained"},
	{"rlbench-ci.yml", "a workflow for GitHub Actions; move it to .github/workflows"},
}

// initOptions are the flags of rlbench init.
type initOptions struct {
	algorithms []string
	limit      string
	force      bool
	log        logOptions
}

func initCommand(a *app) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented scenario and a workflow that runs it, or an access log",
		Long: `Init writes rlbench.yaml and rlbench-ci.yml into a folder, the current one unless
another is named. A folder that does not exist is made; the one around it has to
exist. Both files are written or none, and neither replaces one that is there
unless --force says so.

With --log it writes an access log of a made-up video API instead, to try rlbench
tune with, and access.truth.csv, which says what each client is: people, scrapers
that wait for the edge of a minute, cron jobs, crawlers, and addresses with many
people behind them.`,
		Example: `  rlbench init
  rlbench init --log nginx
  rlbench init bench --limit 10/1s --algorithm log,counter`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("rlbench init", "init: want at most one folder, there are %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if err := o.log.apart(c); err != nil {
				return err
			}
			if c.Flags().Changed("log") {
				return o.log.write(a, dir, o.force)
			}
			return o.run(a, dir)
		},
	}
	f := c.Flags()
	f.StringSliceVarP(&o.algorithms, "algorithm", "a", defaultLimiters, "limiters that the workflow runs, as for run")
	f.StringVarP(&o.limit, "limit", "l", "100/1m", "limit of the scenario")
	f.BoolVar(&o.force, "force", false, "replace files that are there")
	complete(c, "algorithm", limiterNames)
	o.log.flags(c)
	return c
}

// defaultLimiters are those that run tests when nothing else is said.
var defaultLimiters = []string{"fixed", "log", "counter"}

func (o *initOptions) run(a *app, dir string) error {
	files, err := o.files(a)
	if err != nil {
		return err
	}
	if err := put(dir, files, o.force); err != nil {
		return initTrouble(err, dir, "rlbench init DIR")
	}
	for i, f := range files {
		fmt.Fprintf(a.Out, "wrote %s: %s\n", printable(pathIn(dir, f.name)), starterFiles[i].doc)
	}
	fmt.Fprintf(a.Out, "next: rlbench run %s\n", printable(pathIn(dir, files[0].name)))
	return nil
}

// files fills the templates in, and refuses what the scenario cannot be run with.
func (o *initOptions) files(a *app) ([]starter, error) {
	l, err := limiter.ParseLimit(o.limit)
	if err == nil && l.Max == 0 {
		err = fmt.Errorf("limit %s: there is nothing to test, everything is denied", l)
	}
	if err != nil {
		return nil, usage(fmt.Errorf("init: %w", err), "--limit 100/1m")
	}
	names, err := target.Names(o.algorithms)
	if err != nil {
		return nil, usage(fmt.Errorf("init: %w", err), "rlbench list algorithms")
	}
	list := strings.Join(names, ",")
	if !plainWord.MatchString(list) {
		return nil, usagef("rename the script, or write the workflow by hand", "init: limiters %q cannot be written into a shell line as they are", list)
	}
	fill := strings.NewReplacer("{limit}", l.String(), "{algorithms}", list, "{overshoot}", overshootOf(names, l))
	var files []starter
	for _, f := range starterFiles {
		text, err := starters.ReadFile("init/" + f.name)
		if err != nil {
			return nil, internal(err)
		}
		files = append(files, starter{name: f.name, text: fill.Replace(string(text))})
	}
	if tellNoWait(names, l) {
		files[0].text = impolite(files[0].text)
	}
	return files, o.suits(a, files[0])
}

// tellNoWait reports whether a limiter would suit but for clients that obey the
// wait that they are told.
func tellNoWait(names []string, l limiter.Limit) bool {
	for _, name := range names {
		n := target.Needs{Limits: []limiter.Limit{l}, Clock: scenarios.Virtual}
		suits := target.Check(name, n, "") == nil
		if n.Waits = true; suits && target.Check(name, n, "") != nil {
			return true
		}
	}
	return false
}

// impolite is the scenario without the client that obeys.
func impolite(text string) string {
	return politePhase.ReplaceAllString(text, "$1$2")
}

// politePhase matches the phase with its comment, the check of it, and what the
// description says.
var politePhase = regexp.MustCompile(`(?m)^  # One request too many[^\0]*?\n\n(# What has)|^.*polite\.retry.*\n|(, a race) and a polite client`)

// plainWord is text that neither YAML nor a shell reads as anything else.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./,:+-]+$`)

// suits plans the scenario and asks the limiters whether they can be run by it.
func (o *initOptions) suits(a *app, scenario starter) error {
	s, err := scenarios.Read(strings.NewReader(scenario.text), scenario.name, scenarios.BuiltinDefaults())
	if err != nil {
		return usage(fmt.Errorf("init: limit %s does not suit the scenario: %w", o.limit, err), "--limit 100/1m")
	}
	plan, err := scenarios.NewPlan(s)
	if err != nil {
		return usage(fmt.Errorf("init: limit %s does not suit the scenario: %w", o.limit, err), "--limit 100/1m")
	}
	under := scenarioOptions{algorithms: o.algorithms}
	_, err = under.targets(a, []loaded{{Scenario: s, plan: plan}})
	return err
}

// overshootOf is the least --max-overshoot that limiters pass which keep their
// promises: how far the worst of them is above the limit, rounded up. Who
// promises nothing is held to the limit.
func overshootOf(names []string, l limiter.Limit) string {
	percent := new(big.Int)
	for _, name := range names {
		algorithm := target.Claims(name, "")
		if algorithm == nil {
			continue
		}
		over := big.NewInt(algorithm.Worst(l) - l.Max)
		over.Mul(over, big.NewInt(100)).Add(over, big.NewInt(l.Max-1)).Div(over, big.NewInt(l.Max))
		if over.Cmp(percent) > 0 {
			percent = over
		}
	}
	return percent.String() + "%"
}
