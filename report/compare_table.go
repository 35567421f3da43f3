package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlbench/rlbench/report/stats"
	"github.com/rlbench/rlbench/scenarios"
)

// ComparisonFormats is the table of all formats of comparisons.
var ComparisonFormats = Formatters[*Comparison]{
	{"table", "a table for people, fitted to the terminal", renderComparisonTable},
	{"json", "the whole document, schema " + ComparisonSchema, renderComparisonJSON},
	{"markdown", "a table for a pull request", renderComparisonMarkdown},
	{"junit", "JUnit XML: a test case for each figure of each limiter", renderComparisonJUnit},
}

func renderComparisonJSON(w io.Writer, c *Comparison, _ Options) error {
	return encode(w, "comparison", c)
}

// comparisonHeads are the columns of a comparison.
var comparisonHeads = []string{"limiter", "metric", "old", "new", "change", "p", ""}

// shown are the rows of a scenario that say something: times, and counts that are not
// what they were.
func (c *Comparison) shown(scenario string) (rows []Compared, equal int) {
	for _, d := range c.Rows {
		switch {
		case d.Scenario != scenario:
		case d.Exact && d.Change == ChangeSame:
			equal++
		default:
			rows = append(rows, d)
		}
	}
	return rows, equal
}

func (c *Comparison) scenarios() []string {
	var names []string
	for _, d := range c.Rows {
		if !slices.Contains(names, d.Scenario) {
			names = append(names, d.Scenario)
		}
	}
	return names
}

// cells are a row's.
func (d *Compared) cells() []string {
	p := ""
	if d.P != nil {
		p = strconv.FormatFloat(*d.P, 'f', 3, 64)
		if *d.P < 0.001 {
			p = "<0.001"
		}
	}
	return []string{limiterCell(Row{Limiter: d.Limiter, Control: d.Control}), d.Metric, d.figure(d.Old), d.now(), d.changed(), p, d.word()}
}

func (d *Compared) figure(v float64) string {
	if d.Unit == "us" {
		return roundMicros(int64(math.Round(v)))
	}
	return value{v, true}.String()
}

// now is the new figure.
func (d *Compared) now() string {
	if d.New == nil {
		return "none"
	}
	return d.figure(*d.New)
}

// changed is the shift as a share of the old median, with its interval.
func (d *Compared) changed() string {
	if d.New == nil {
		return "not measured any more"
	}
	if d.Exact || d.Shift == nil {
		return signed(*d.New - d.Old)
	}
	if d.Old == 0 {
		return signed(*d.Shift)
	}
	text := share(*d.Shift / math.Abs(d.Old))
	if d.Low != nil && d.High != nil {
		text += fmt.Sprintf(" [%s, %s]", strings.TrimSuffix(share(*d.Low/math.Abs(d.Old)), "%"), share(*d.High/math.Abs(d.Old)))
	}
	return text
}

func share(v float64) string {
	return fmt.Sprintf("%+.1f%%", v*100)
}

// plainShare is a share that is no difference.
func plainShare(v float64) string { return strings.TrimPrefix(share(v), "+") }

func signed(v float64) string {
	text := value{v, true}.String()
	if v > 0 {
		text = "+" + text
	}
	return text
}

// word is what a change means, for people.
func (d *Compared) word() string {
	switch {
	case d.Change == ChangeSame:
		return "~"
	case d.aboutMargin():
		return "~ about the margin"
	case d.NeedsRuns > stats.MostRuns:
		return "~ needs more than " + counted(stats.MostRuns, "run")
	case d.Change == ChangeUndecided:
		return "~ needs " + counted(int64(d.NeedsRuns), "run")
	}
	return d.Change
}

// coverage says how much was compared.
func (c *Comparison) coverage() string {
	tested := map[Subject]bool{}
	for _, d := range c.Rows {
		tested[d.Subject] = true
	}
	text := fmt.Sprintf("compared %d of %s of %s", len(tested), counted(int64(len(tested)+len(c.Missing)), "limiter"), printable(c.Old.Name))
	for _, d := range c.Rows {
		text += fmt.Sprintf(": %s of it, and %d of %s", counted(int64(d.OldRuns), "run"), d.NewRuns, printable(c.New.Name))
		break
	}
	if slices.ContainsFunc(c.Rows, func(d Compared) bool { return d.Shift != nil }) {
		text += "; change of a time is the median of all differences between a run of each"
	}
	return text
}

func listed(all []Subject) string {
	var names []string
	for _, s := range all {
		names = append(names, printable(s.Limiter+" under "+s.Scenario))
	}
	return strings.Join(names, ", ")
}

func renderComparisonTable(w io.Writer, c *Comparison, o Options) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	var b strings.Builder
	for _, name := range c.scenarios() {
		rows, equal := c.shown(name)
		writeWrapped(&b, "", name, o.Width)
		if len(rows) > 0 {
			if err := comparisonRows(&b, rows, o); err != nil {
				return err
			}
		}
		if equal > 0 {
			writeWrapped(&b, "", counted(int64(equal), "count")+" are what they were", o.Width)
		}
		b.WriteString("\n")
	}
	writeWrapped(&b, "", c.coverage(), o.Width)
	writeWrapped(&b, "missing: ", listed(c.Missing), o.Width)
	writeWrapped(&b, "new: ", listed(c.Added), o.Width)
	for _, n := range c.Notes {
		writeWrapped(&b, "note: ", n, o.Width)
	}
	word := strings.ToUpper(string(c.Verdict))
	var last strings.Builder
	writeWrapped(&last, word+"  ", c.summary(), o.Width)
	b.WriteString(paint(c.Verdict, word, o.Color) + strings.TrimPrefix(last.String(), word))
	_, err := io.WriteString(w, b.String())
	return err
}

// comparisonRows writes the rows of a scenario, in a narrow place without the p-values,
// which say less than the intervals, and then without those.
func comparisonRows(b *strings.Builder, rows []Compared, o Options) error {
	heads := slices.Clone(comparisonHeads)
	lines := make([][]string, len(rows))
	for i := range rows {
		lines[i] = rows[i].cells()
	}
	left := []bool{0: true, 1: true, 6: true}
	if tableWidth(heads, lines) > o.Width {
		heads, left = slices.Delete(heads, 5, 6), slices.Delete(left, 5, 6)
		for i := range lines {
			lines[i] = slices.Delete(lines[i], 5, 6)
		}
	}
	if tableWidth(heads, lines) > o.Width {
		for _, line := range lines {
			line[len(line)-1] = strings.Replace(line[len(line)-1], "needs ", "", 1)
		}
	}
	if tableWidth(heads, lines) > o.Width {
		for _, line := range lines {
			line[4], _, _ = strings.Cut(line[4], " [")
		}
	}
	for i, line := range lines {
		line[len(line)-1] = paint(verdictOf(rows[i].Change), line[len(line)-1], o.Color)
	}
	return writeTable(b, heads, lines, left)
}

// summary counts what changed.
func (c *Comparison) summary() string {
	n := map[string]int64{}
	for _, d := range c.Rows {
		n[d.Change]++
	}
	text := fmt.Sprintf("%d worse, %d better, %d the same, %d undecided", n[ChangeWorse], n[ChangeBetter], n[ChangeSame], n[ChangeUndecided])
	if n[ChangeGone] > 0 {
		text += fmt.Sprintf(", %d not measured any more", n[ChangeGone])
	}
	return text + fmt.Sprintf("; alpha %s over all, %s", strconv.FormatFloat(c.Alpha, 'f', -1, 64), c.effects())
}

// verdictOf is what a change is painted as.
func verdictOf(change string) scenarios.Verdict {
	switch change {
	case ChangeWorse:
		return scenarios.Fail
	case ChangeUndecided, ChangeGone:
		return scenarios.Inconclusive
	}
	return scenarios.Pass
}

func renderComparisonMarkdown(w io.Writer, c *Comparison, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# rlbench compare: %s\n\n%s\n\n", c.Verdict, markdownText(c.summary()))
	for _, name := range c.scenarios() {
		rows, equal := c.shown(name)
		fmt.Fprintf(&b, "## %s\n\n", markdownText(name))
		var lines [][]string
		for _, d := range rows {
			lines = append(lines, d.cells())
		}
		if len(lines) > 0 {
			heads := slices.Clone(comparisonHeads)
			heads[len(heads)-1] = "verdict"
			if err := markdownTable(&b, heads, lines, []bool{0: true, 1: true, 6: true}); err != nil {
				return err
			}
		}
		if equal > 0 {
			fmt.Fprintf(&b, "%s are what they were\n\n", counted(int64(equal), "count"))
		}
	}
	fmt.Fprintf(&b, "%s\n", markdownText(c.coverage()))
	for _, s := range [][2]string{{"missing", listed(c.Missing)}, {"new", listed(c.Added)}, {"note", strings.Join(c.Notes, "; ")}} {
		if s[1] != "" {
			fmt.Fprintf(&b, "\n- **%s**: %s\n", s[0], markdownText(s[1]))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
