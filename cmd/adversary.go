package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/target"
)

// adversaryOptions are the flags of rlbench plan that look for attacks.
type adversaryOptions struct {
	on         bool
	asScenario bool
}

// attack searches for the schedule that gets most out of each algorithm, prints
// what it found, and fails if a claim is broken.
func (o *scenarioOptions) attack(a *app, c *cobra.Command, args []string, asScenario bool) error {
	for _, flag := range append([]string{"arrivals", "clock", "seed", "set", "fault", "on-failure", "model"}, replayFlags...) {
		if a.given(c, flag) {
			return usagef("rlbench plan --adversary --limit 100/1m", "plan: --%s cannot apply to --adversary", flag)
		}
	}
	if len(args) > 0 {
		return usagef("rlbench plan --adversary --limit 100/1m", "plan: --adversary makes its own traffic and takes no scenario")
	}
	limit := scenarios.BuiltinDefaults().Limit
	if o.limit != "" {
		var err error
		if limit, err = limiter.ParseLimit(o.limit); err != nil {
			return usage(err, "--limit 100/1m")
		}
	}
	algorithms, err := o.attacked()
	if err != nil {
		return err
	}
	if asScenario && len(algorithms) != 1 {
		return usagef("rlbench plan --adversary --as-scenario --algorithm counter", "plan: --as-scenario writes one attack, %d algorithms are named", len(algorithms))
	}
	stop := a.watchSignals()
	defer stop.stop()
	var attacks []oracle.Attack
	for _, algorithm := range algorithms {
		found, err := oracle.Attacks(stop.ctx, algorithm, limit, oracle.AdversaryOptions{})
		switch {
		case errors.Is(err, context.Canceled):
			return &verdictError{signalCode(stop.signal())}
		case err != nil:
			return usage(err, "choose another --limit")
		}
		attacks = append(attacks, found)
	}
	if asScenario {
		_, err := io.WriteString(a.Out, attacks[0].Scenario("attack-on-"+attacks[0].Algorithm))
		return err
	}
	return writeAttacks(a.Out, attacks, limit)
}

// attacked are the algorithms that the named limiters claim to be.
func (o *scenarioOptions) attacked() ([]limiter.Algorithm, error) {
	names, err := target.Names(o.algorithms)
	if err != nil {
		return nil, usage(err, targetHint(err))
	}
	var algorithms []limiter.Algorithm
	for _, name := range names {
		a, ok := limiter.Named(name)
		if !ok { // it would be its model that is attacked, under its name
			return nil, usagef("rlbench plan --adversary -a all", "plan: --adversary attacks the models of algorithms, and %s is none", name)
		}
		algorithms = append(algorithms, a)
	}
	return algorithms, nil
}

func writeAttacks(w io.Writer, attacks []oracle.Attack, limit limiter.Limit) error {
	fmt.Fprintf(w, "the most that a schedule gets into one trailing window, limit %s, one key, one clock\n\n", limit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "algorithm\tclaims at most\tfound\tquestions\tsearch\tclaim")
	broken := false
	for _, a := range attacks {
		verdict := "kept"
		if a.Found > a.Claimed {
			verdict, broken = "broken", true
		}
		search := "guided"
		if a.Exhaustive {
			search = "exhaustive in short windows, then guided"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\n", a.Algorithm, a.Claimed, a.Found, a.Explored, search, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, a := range attacks {
		if err := writeSteps(w, a); err != nil {
			return err
		}
	}
	if broken {
		return &verdictError{exitFailed}
	}
	return nil
}

// writeSteps prints the schedule of an attack; long ones are cut.
func writeSteps(w io.Writer, a oracle.Attack) error {
	const most = 12
	fmt.Fprintf(w, "\n%s, limit %s:\n", a.Algorithm, a.Limit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, s := range a.Steps {
		if i == most {
			fmt.Fprintf(t, "  … %d more; rlbench plan --adversary --as-scenario -l %s -a %s\n", len(a.Steps)-most, a.Limit, a.Algorithm)
			break
		}
		each := ""
		if s.Cost > 1 {
			each = fmt.Sprintf(" of %d units each", s.Cost)
		}
		fmt.Fprintf(t, "  %s\t%d offered%s\t%d admitted\n", scenarios.Offset(s.At), s.Offered, each, s.Admitted)
	}
	return t.Flush()
}
