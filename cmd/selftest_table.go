package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// score is what came of all trials.
type score struct {
	survived, accused, unsure []string // a line each
	specimens, sound          int      // trials
}

// tell writes the kill table and what became of the sound limiters, and returns
// the exit code.
func (s *selftest) tell(w io.Writer, results []result, env report.Env, elapsed time.Duration) int {
	if !s.quiet && s.part != "sound" {
		writeKills(w, results)
	}
	sum := scoreOf(results)
	for _, line := range slices.Concat(sum.survived, sum.accused, sum.unsure) {
		fmt.Fprintln(w, printable(line))
	}
	verdict := scenarios.Pass
	switch {
	case len(sum.survived)+len(sum.accused) > 0:
		verdict = scenarios.Fail
	case len(sum.unsure) > 0 || !s.complete:
		verdict = scenarios.Inconclusive
	}
	s.experiment.verdict = verdict
	if s.part != "sound" {
		fmt.Fprintf(w, "specimens: %d of %d caught, each by the check that is named for it\n", sum.specimens-len(sum.survived), len(faulty.Specimens))
		if untried := len(faulty.Specimens) - sum.specimens; untried > 0 && s.complete {
			fmt.Fprintf(w, "%s not tried: what exposes them cannot be done to this Redis; use --redis managed\n", plural(untried, "specimen"))
		}
	}
	if s.part != "specimens" {
		fmt.Fprintf(w, "sound limiters: %s, %d accused, %d inconclusive\n", scenarios.Counted(sum.sound, "run"), len(sum.accused), len(sum.unsure))
	}
	fmt.Fprintf(w, "%s  redis %s (%s), %s\n", strings.ToUpper(string(verdict)), env.Redis.Version, env.Redis.Flavour, elapsed.Round(10*time.Millisecond))
	return verdictCode(verdict)
}

// writeKills writes which check found which bug, and by what.
func writeKills(w io.Writer, results []result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "specimen\tscenario\tcheck\tfound by\tevidence")
	for _, r := range results {
		if r.specimen != nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.specimen.Name, r.specimen.Scenario, r.specimen.Check, r.by(), printable(r.evidence(r.specimen.Check)))
		}
	}
	t.Flush()
	fmt.Fprintln(w)
}

func scoreOf(results []result) score {
	var sum score
	for _, r := range results {
		if r.specimen != nil {
			sum.specimens++
			if !r.caught() {
				sum.survived = append(sum.survived, fmt.Sprintf("SURVIVED %s: %s under %s has to be found by %s%s, was found by %s",
					r.specimen.Name, r.specimen.Doc, r.specimen.Scenario, r.specimen.Check, alone(r.specimen.Only), r.by()))
			}
			continue
		}
		sum.sound++
		where := fmt.Sprintf("%s under %s, seed %d, by %s: %s", r.limiter, r.scenario, r.seed, r.by(), r.evidence(""))
		switch r.verdict {
		case scenarios.Fail:
			sum.accused = append(sum.accused, "ACCUSED "+where)
		case scenarios.Inconclusive:
			sum.unsure = append(sum.unsure, "INCONCLUSIVE "+where)
		}
	}
	return sum
}

func alone(only bool) string {
	if only {
		return " alone"
	}
	return ""
}
