package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/rlbench/rlbench/scenarios"
)

// detail is how much of a report is written.
type detail int

// The details, from all to least. What fails is in all of them.
const (
	everything detail = iota
	noPhases
	noTables
)

// renderMarkdown writes GitHub-flavoured Markdown: for each scenario a table with all
// columns, what it means, and its phases folded away.
func renderMarkdown(w io.Writer, r *Report, _ Options) error {
	text, err := markdown(r, everything)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

func markdown(r *Report, d detail) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# rlbench: %s\n\n", r.Verdict)
	for _, reason := range reasonsOnce(r) {
		fmt.Fprintf(&b, "- **%s**: %s\n", markdownText(reason.Code), markdownText(reason.Message))
		if reason.Hint != "" {
			fmt.Fprintf(&b, "  - hint: %s\n", markdownText(reason.Hint))
		}
	}
	if len(r.Reasons) > 0 {
		b.WriteString("\n")
	}
	if len(r.Scenarios) > 1 {
		if err := verdictTable(&b, r); err != nil {
			return "", err
		}
	}
	for i := range r.Scenarios {
		if err := markdownScenario(&b, r, &r.Scenarios[i], d); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(&b, "%s\n", markdownText(summary(r)+"; "+machine(r.Env)+"; rlbench "+r.Env.Rlbench+"; "+r.Started.Format(time.RFC3339)))
	if len(r.Command) > 0 {
		fmt.Fprintf(&b, "\n%s\n", codeSpan(strings.Join(r.Command, " ")))
	}
	return b.String(), nil
}

// machine is where a report was made.
func machine(e Env) string {
	text := fmt.Sprintf("%s, %s/%s", counted(int64(e.Cores), "core"), e.OS, e.Arch)
	if e.CPU != "" {
		text = e.CPU + ", " + text
	}
	return text + ", " + e.Go
}

// notPassed are the limiters of a scenario that failed, and those that are inconclusive.
func notPassed(r *Report, s *Scenario) (failed, unsure []string) {
	for _, row := range shownRows(r, s) {
		switch row.Verdict {
		case scenarios.Fail:
			failed = append(failed, limiterCell(row))
		case scenarios.Inconclusive:
			unsure = append(unsure, limiterCell(row))
		}
	}
	return failed, unsure
}

// verdictTable has a line for each scenario.
func verdictTable(b *strings.Builder, r *Report) error {
	var lines [][]string
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		failed, unsure := notPassed(r, s)
		lines = append(lines, []string{s.Name, string(s.Verdict), strings.Join(failed, ", "), strings.Join(unsure, ", ")})
	}
	return markdownTable(b, []string{"scenario", "verdict", "failed", "inconclusive"}, lines, []bool{true, true, true, true})
}

func markdownScenario(b *strings.Builder, r *Report, s *Scenario, d detail) error {
	rows := shownRows(r, s)
	if d == noTables && s.Verdict == scenarios.Pass {
		return nil
	}
	fmt.Fprintf(b, "## %s: %s\n\n", markdownText(s.Name), s.Verdict)
	if s.Description != "" {
		fmt.Fprintf(b, "%s\n\n", markdownText(s.Description))
	}
	fmt.Fprintf(b, "%s\n\n", markdownText(outline(r, s)))
	columns := columnsOf(r, s)
	if d < noTables {
		if err := markdownRows(b, columns, rows); err != nil {
			return err
		}
	}
	explained := notes(r, s, rows, columns)
	for _, n := range explained {
		head := strings.TrimSuffix(strings.TrimSpace(n.head), ":")
		if head == "" { // evidence for the line above
			fmt.Fprintf(b, "  - %s\n", markdownText(n.text))
			continue
		}
		fmt.Fprintf(b, "- **%s**: %s\n", markdownText(head), markdownText(n.text))
	}
	if len(explained) > 0 {
		b.WriteString("\n")
	}
	if d > everything || len(phasesOf(r, s)) < 2 {
		return nil
	}
	b.WriteString("<details><summary>By phase</summary>\n\n")
	if err := phaseTable(b, r, s); err != nil {
		return err
	}
	b.WriteString("</details>\n\n")
	return nil
}

func markdownRows(b *strings.Builder, columns []column, rows []Row) error {
	heads, lines, left := laidOut(columns, rows)
	return markdownTable(b, heads, lines, left)
}

// phaseTable has a line for each limiter and phase.
func phaseTable(b *strings.Builder, r *Report, s *Scenario) error {
	heads, lines, left := byPhaseLines(r, s)
	return markdownTable(b, heads, lines, left)
}

// byPhaseLines are the lines of a table of all limiters and phases, over all runs.
func byPhaseLines(r *Report, s *Scenario) (heads []string, lines [][]string, left []bool) {
	run := 1
	if s.Runs > 1 {
		run = 0
	}
	judged := judgedPhases(r)
	for _, row := range r.Rows {
		if row.Scenario == s.Name && row.Phase != "" && row.Run == run {
			lines = append(lines, []string{
				limiterCell(row), row.Phase, number(row.Planned), upTo(row.Admitted, row.Unknown), number(row.Denied), errorRate(row),
				peakCell(row), latencyCell(row, p50Of), latencyCell(row, p99Of), string(row.told(judged)),
			})
		}
	}
	heads = []string{"limiter", "phase", "planned", "admitted", "denied", "errors", "peak", "p50", "p99", "verdict"}
	return heads, lines, []bool{0: true, 1: true, 9: true}
}

// markdownTable writes a table. Its renderer escapes nothing.
func markdownTable(b *strings.Builder, heads []string, lines [][]string, left []bool) error {
	alignment := alignments(len(heads), left)
	var out bytes.Buffer
	table := tablewriter.NewTable(
		&out,
		tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithAlignment(alignment),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: alignment}),
	)
	table.Header(escaped(heads))
	for _, line := range lines {
		if err := table.Append(escaped(line)); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	b.Write(out.Bytes())
	b.WriteString("\n")
	return nil
}

func escaped(cells []string) []string {
	all := slices.Clone(cells)
	for i := range all {
		all[i] = markdownText(all[i])
	}
	return all
}

// markdownText is text that Markdown shows as it is, on one line: no markup, HTML,
// mention or link to an issue comes out of it.
func markdownText(s string) string { return markdownEscape.Replace(printable(s)) }

var markdownEscape = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "#", "&#35;",
)

// codeSpan fences text with more backticks than it has in a row.
func codeSpan(s string) string {
	s = printable(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence == "`" {
		return fence + s + fence
	}
	return fence + " " + s + " " + fence
}
