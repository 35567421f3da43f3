package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// comparison is when a comparison fails, and what counts as a change.
type comparison struct {
	noise     string
	alpha     float64
	minEffect string
	failOn    string
	across    bool
}

func (g *comparison) flags(c *cobra.Command) {
	f := c.Flags()
	f.Float64Var(&g.alpha, "alpha", 0.05, "chance of even one false alarm in a comparison")
	f.StringVar(&g.minEffect, "min-effect", "", "how much a time or a cost has to change for certain to matter; counts matter always (default 5%, of times 25%, or what --noise says)")
	f.StringVar(&g.noise, "noise", "", "a calibration of this machine, which times have to exceed: rlbench calibrate -o json=noise.json")
	f.StringVar(&g.failOn, "fail-on", "regression", "never, regression (something got worse), fail (or the new report failed), inconclusive (or something is undecided or missing)")
	f.BoolVar(&g.across, "across-machines", false, "compare results of different machines too")
	complete(c, "fail-on", func() []string { return report.Gates })
}

// options are what the flags say, or what is wrong with them.
func (g *comparison) options() (report.CompareOptions, error) {
	o := report.CompareOptions{Alpha: g.alpha, FailOn: g.failOn, AcrossMachines: g.across}
	if err := oneOf("fail-on", g.failOn, report.Gates); err != nil {
		return o, err
	}
	if !(g.alpha > 0 && g.alpha < 0.5) {
		return o, usagef("--alpha 0.05", "--alpha %v: want more than 0 and less than 0.5", g.alpha)
	}
	if g.minEffect == "" {
		o.MinEffect, o.TimeEffect = 0.05, timesDiffer
		return o, nil
	}
	share, err := parsePercent(g.minEffect)
	if err != nil {
		return o, usagef("--min-effect 5%", "--min-effect %q: want a percentage above 0%%, such as 5%%", g.minEffect)
	}
	o.MinEffect, _ = share.Float64()
	if o.MinEffect <= 0 || o.MinEffect > 10 {
		return o, usagef("--min-effect 5%", "--min-effect %q: want a percentage above 0%% and up to 1000%%", g.minEffect)
	}
	return o, nil
}

// timesDiffer is what times of two invocations may differ by on a machine of which nothing
// is known, though nothing changed: on shared ones a fifth is common. Who knows better says
// so by --noise or --min-effect.
const timesDiffer = 0.25

// calibrated are the options with the calibration that --noise names.
func (g *comparison) calibrated(a *app) (report.CompareOptions, error) {
	o, err := g.options()
	if err != nil || g.noise == "" {
		return o, err
	}
	const hint = "rlbench calibrate boundary-burst -o json=noise.json writes one"
	data, err := a.readAll(g.noise)
	if err != nil {
		return o, usage(fmt.Errorf("--noise: %w", err), hint)
	}
	if o.Noise, err = report.DecodeCalibration(data); err != nil {
		return o, usage(fmt.Errorf("--noise %s: %w", g.noise, err), hint)
	}
	return o, nil
}

func compareCommand(a *app) *cobra.Command {
	var o runOptions
	var g comparison
	var schema bool
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "What changed from one result to another, and whether that is chance",
		Long: `Compare takes two results of rlbench run (JSON or JSON lines), or two folders of
results that are added up, and says what changed. Counts are exact: where all old
runs have one value, any other is a change; where they vary, any shift is one that
the Mann-Whitney test finds. Times are samples, one for each run: the same test says
whether they shifted by more than two invocations differ anyway, Hodges-Lehmann by
how much, Holm keeps many tests from crying wolf. That is a quarter, or what --noise
has measured here, or --min-effect: a shift of 10 % takes --min-effect 5% and a quiet
machine. Where so few runs would not tell a shift of twice as much, it says how many
would. What the old result has and the new one has not is told, and inconclusive.`,
		Example: `  rlbench run boundary-burst --runs 10 -q -o json=old.json
  rlbench run boundary-burst --runs 10 -q -o json=new.json
  rlbench calibrate boundary-burst -q -o json=noise.json
  rlbench compare old.json new.json --noise noise.json --fail-on fail
  rlbench compare main/ branch/ -o markdown`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 && !schema {
				return usagef("rlbench compare old.json new.json", "compare: want two results, there are %d", len(args))
			}
			return nil
		},
		Annotations: map[string]string{judges: "yes"},
		RunE: func(_ *cobra.Command, args []string) error {
			if schema {
				_, err := a.Out.Write(report.ComparisonJSONSchema)
				return err
			}
			return compareSaved(a, &o, &g, args)
		},
	}
	g.flags(c)
	f := c.Flags()
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: "+strings.Join(report.ComparisonFormats.Names(), ", ")+" (default table)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no table unless asked for")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	f.BoolVar(&schema, "schema", false, "print the JSON Schema of comparisons")
	complete(c, "output", report.ComparisonFormats.Names)
	complete(c, "color", func() []string { return colorModes })
	return c
}

func compareSaved(a *app, o *runOptions, g *comparison, names []string) error {
	options, err := g.calibrated(a)
	if err != nil {
		return err
	}
	if err := oneOf("color", o.color, colorModes); err != nil {
		return err
	}
	before, err1 := a.readSide(names[0])
	after, err2 := a.readSide(names[1])
	if err := errors.Join(err1, err2); err != nil {
		return usage(err, sideHint(err, "rlbench run boundary-burst --runs 10 -o json=result.json writes one"))
	}
	c, err := report.Compare(before, after, options)
	if err != nil {
		return usage(err, compareHint(err, "run both on one machine, in turns", "compare results of the same scenario, limit, clock and seed"))
	}
	out, err := sinksFor(a, o, report.ComparisonFormats, already(c))
	if err != nil {
		return err
	}
	if err := out.open(); err != nil {
		return err
	}
	defer out.discard()
	a.verdict = c.Told()
	var compared []string
	for _, row := range c.Rows {
		compared = append(compared, row.Scenario)
	}
	a.tellNoise(g.noise, options.Noise, compared)
	if err := out.write(nil); err != nil {
		return err
	}
	if !o.quiet {
		a.tellWhatPasses(c, scenarios.Pass)
	}
	if code := verdictCode(c.Gated()); code != exitOK {
		return &verdictError{code}
	}
	return nil
}

// tellWhatPasses says what the gate lets pass, and which one would not. What ends the job
// anyway, whatever the gate, hides what is no worse.
func (a *app) tellWhatPasses(c *report.Comparison, anyway scenarios.Verdict) {
	ends, what := c.Gated().Worse(anyway), c.Overall()
	if what.Worse(ends) != ends {
		own := what != c.Verdict // the new result is worse than what changed
		a.note("%s, which --fail-on %s lets pass; --fail-on %s does not", what, c.FailOn, report.GateFor(what, own))
	}
}

// tellNoise says that a calibration is of nothing that is compared: then its highest floor
// stands for all that it does not know.
func (a *app) tellNoise(name string, noise *report.Calibration, compared []string) {
	if noise == nil {
		return
	}
	var of []string
	for _, row := range noise.Rows {
		of = append(of, row.Scenario)
	}
	if slices.ContainsFunc(of, func(scenario string) bool { return slices.Contains(compared, scenario) }) {
		return
	}
	a.note("--noise %s is of %s, and of nothing that is compared: its highest floor, %.0f%%, is taken for all times",
		name, strings.Join(slices.Compact(of), ", "), 100*noise.MinEffect)
}

// compareHint helps with results that are not compared, each by what would be done about it.
func compareHint(err error, otherMachine, otherTraffic string) string {
	var hints []string
	if errors.Is(err, report.ErrOtherMachine) {
		hints = append(hints, otherMachine+"; or --across-machines, for counts")
	}
	if errors.Is(err, report.ErrOtherNoise) {
		hints = append(hints, "calibrate here: rlbench calibrate SCENARIO -o json=noise.json")
	}
	return cmp.Or(strings.Join(hints, "; "), otherTraffic)
}

// sideHint helps with results that cannot be read, or not as one.
func sideHint(err error, otherwise string) string {
	if errors.Is(err, report.ErrCountedTwice) {
		return leaveOut
	}
	return otherwise
}

// leaveOut helps with results of which one is in another.
const leaveOut = "leave one of them out"

// readSide reads a result, or all results of a folder as one.
func (a *app) readSide(name string) (report.Saved, error) {
	info, err := os.Stat(name)
	if name == "-" || err != nil || !info.IsDir() {
		r, err := a.readResult(name)
		return report.Saved{Name: name, Report: r}, err
	}
	var all []report.Saved
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".json", ".jsonl"}, filepath.Ext(path)) {
			return err
		}
		d, err := a.readDocument(path)
		if err == nil && d.what != "" { // such as a calibration that is kept beside
			a.note("%s is %s, and left out", path, d.what)
			return nil
		}
		all = append(all, report.Saved{Name: path, Report: d.Report})
		return err
	})
	if err != nil {
		return report.Saved{}, err
	}
	if len(all) == 0 {
		return report.Saved{}, fmt.Errorf("read results of %s: no .json or .jsonl file is in it", name)
	}
	merged, err := report.Merge(all)
	return report.Saved{Name: name, Report: merged}, err
}
