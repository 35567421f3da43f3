package cmd

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/target"
)

func planCommand(a *app) *cobra.Command {
	var o scenarioOptions
	var adversary adversaryOptions
	var arrivals bool
	c := &cobra.Command{
		Use:   "plan SCENARIO...",
		Short: "Print the timetable and what each algorithm should admit; opens no socket",
		Example: `  rlbench plan boundary-burst
  rlbench plan counter-worst --limit 10/1m
  rlbench plan mine.yaml --arrivals
  rlbench plan boundary-burst --fault '{at: after-edge, kind: restart}'
  rlbench plan --adversary --limit 100/1m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !adversary.on {
				return usagef("rlbench plan boundary-burst", "plan: no scenario is named")
			}
			return nil
		},
		ValidArgsFunction: scenarioNames,
		RunE: func(c *cobra.Command, args []string) error {
			if adversary.on {
				return o.attack(a, c, args, adversary.asScenario)
			}
			if adversary.asScenario {
				return usagef("rlbench plan --adversary --as-scenario -a counter", "plan: --as-scenario cannot apply without --adversary")
			}
			all, err := o.load(a, c, args)
			if err != nil {
				return err
			}
			if all, err = o.targets(a, all); err != nil {
				return err
			}
			for i, s := range all {
				if i > 0 {
					fmt.Fprintln(a.Out)
				}
				if err := writePlan(a.Out, s, o.model, arrivals); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&arrivals, "arrivals", false, "print every planned request too")
	c.Flags().BoolVar(&adversary.on, "adversary", false, "search for the schedule that beats each algorithm's worst case instead")
	c.Flags().BoolVar(&adversary.asScenario, "as-scenario", false, "print the schedule that --adversary found as a scenario")
	return c
}

// writePlan prints phases, window edges and expectations.
func writePlan(w io.Writer, s loaded, model string, arrivals bool) error {
	p := s.plan
	fmt.Fprintf(w, "%s  limit %s, %s clock, seed %d, %s\n", p.Scenario, p.Limit, p.Clock, p.Seed, plural(p.Keys, "key"))
	if s.Description != "" {
		fmt.Fprintln(w, printable(s.Description))
	}
	fmt.Fprintf(w, "%s in total across all senders, plan %s\n\n", plural(len(p.Arrivals), "request"), s.hash)

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "phase\tshape\tfrom\tuntil\trequests\twindows")
	for i, phase := range p.Phases {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", phase.Name, phase.Shape,
			scenarios.Offset(phase.Start), scenarios.Offset(phase.End), phase.Planned, windows(p, int32(i)))
	}
	fmt.Fprintln(t)
	writeFaults(t, p)
	sends := func(string) string { return "" }
	if p.Retries() {
		sends = func(text string) string { return text + "\t" }
	}
	fmt.Fprintln(t, "algorithm\t"+sends("sent")+"admits\tby phase\tdenies\tpeak in "+limiter.FormatDuration(p.Limit.Window)+"\tworst case")
	for _, name := range s.limiters {
		algorithm := target.Claims(name, model)
		if algorithm == nil {
			fmt.Fprintf(t, "%s\tclaims nothing\n", name)
			continue
		}
		e, err := oracle.Expect(p, *algorithm)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s%d\t%s\t%d\t%d%s\t%d\n", name, sends(strconv.FormatInt(e.Measures.Planned, 10)), e.Measures.Admitted, admittedByPhase(e), e.Measures.Denied,
			e.Measures.PeakInWindow, overLimit(e.Measures), e.Promise.MaxInWindow)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if p.OnFailure == "open" || p.OnFailure == "local" {
		fmt.Fprintf(w, "\nadmits and peaks include what the failure policy %q admits; the worst case is that of Redis alone\n", p.OnFailure)
	}
	if arrivals {
		return writeArrivals(w, p)
	}
	return nil
}

func writeArrivals(w io.Writer, p *scenarios.Plan) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\narrival\tat\tkey\tcost\t  phase")
	for i, a := range p.Arrivals {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t  %s\n", i+1, scenarios.Offset(a.At), a.Key, a.Cost, p.Phases[a.Phase].Name)
	}
	return t.Flush()
}

// windows names the windows that a phase touches, counted from the edge.
func windows(p *scenarios.Plan, phase int32) string {
	first, last := int64(0), int64(-1)
	for _, a := range p.Arrivals {
		if a.Phase != phase {
			continue
		}
		w := scenarios.WindowOf(a.At, p.Limit.Window)
		if last < first {
			first, last = w, w
		}
		first, last = min(first, w), max(last, w)
	}
	switch {
	case p.Phases[phase].RetryOf != "":
		return "as denied"
	case last < first:
		return "none"
	case first == last:
		return strconv.FormatInt(first, 10)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

func admittedByPhase(j *scenarios.Judgement) string {
	parts := make([]string, len(j.Phases))
	for i, p := range j.Phases {
		parts[i] = strconv.FormatInt(p.Admitted, 10)
	}
	return strings.Join(parts, "+")
}

func overLimit(m scenarios.Measures) string {
	if m.Limit == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f×)", float64(m.PeakInWindow)/float64(m.Limit))
}

func plural(n int, what string) string { return scenarios.Counted(n, what) }
