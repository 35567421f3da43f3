package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// faultEntry tells what a fault needs, and where it can be had.
func faultEntry(k scenarios.FaultKind) entry {
	may := k.Takes
	if k.Lasts {
		may = slices.Concat([]string{"for"}, may)
	}
	fields := strings.Join(slices.Concat(prefixed("needs ", k.Needs), prefixed("may have ", may)), "; ")
	if fields == "" {
		fields = "is done in an instant"
	}
	where := "is done to the server: --redis " + strings.Join(flavoursOf(k), " or ")
	if k.Connection {
		where = "is done to connections: on any Redis"
	}
	lost := map[scenarios.Loss]string{
		scenarios.LosesAll: "; all state is lost", scenarios.LosesTail: "; what was written while it lasted is lost",
	}[k.Loss]
	return entry{k.Name, k.Doc, []string{fields, where + lost}}
}

// flavoursOf are the kinds of Redis that can break so.
func flavoursOf(k scenarios.FaultKind) []string {
	var names []string
	for _, b := range backend.FaultKinds {
		if b.Name != k.Name {
			continue
		}
		for _, flavour := range b.Flavours {
			names = append(names, string(flavour))
		}
	}
	return names
}

// prefixed is a list in words; nothing of an empty one.
func prefixed(words string, list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{words + strings.Join(list, ", ")}
}

const faultNote = `In a scenario: faults: [{at: after-edge, kind: latency, delay: 50ms}], where at is a
phase or an instant; on the command line: --fault '{at: edge + 1s, for: 1s, kind: outage}'.
A scenario with faults is run without them first.`

// faultList names the faults of a scenario with the place of each.
func faultList(s *scenarios.Scenario) string {
	all := make([]string, len(s.Faults))
	for i, f := range s.Faults {
		at := f.Phase
		if at == "" {
			at = f.At.String()
		}
		all[i] = fmt.Sprintf("%s (%s)", f.Kind, at)
	}
	text := strings.Join(all, ", ")
	if s.OnFailure != "" {
		text += "; on failure " + s.OnFailure
	}
	return text
}

// writeFaults prints the trouble that a plan makes, as rows of a table, and what
// limiters do about it.
func writeFaults(w io.Writer, p *scenarios.Plan) {
	if len(p.Faults) > 0 {
		fmt.Fprintln(w, "fault\tat\tfor\tof operations")
	}
	for _, f := range p.Faults {
		lasts := "-"
		if f.End > f.At {
			lasts = limiter.FormatDuration(f.End - f.At)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Kind, scenarios.Offset(f.At), lasts, operations(f))
	}
	if len(p.Faults) > 0 {
		fmt.Fprintln(w)
	}
	if p.OnFailure != "" {
		fmt.Fprintf(w, "on failure %s\n\n", p.OnFailure)
	}
}

// operations says which operations a fault hits, and what it does to them.
func operations(f scenarios.PlannedFault) string {
	if !f.Of().Connection {
		return "-"
	}
	text := "each"
	if f.Every > 1 {
		text = fmt.Sprintf("1 in %d", f.Every)
	}
	if f.Hits > 0 {
		text += fmt.Sprintf(", %d at most", f.Hits)
	}
	if f.Delay > 0 {
		text += ", held for " + limiter.FormatDuration(f.Delay)
	}
	if f.Jitter > 0 {
		text += " and up to " + limiter.FormatDuration(f.Jitter) + " more"
	}
	return text
}
