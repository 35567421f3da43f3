package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/rlbench/rlbench/limiter"
)

// column is one column of the table. Those of the highest rank go first when
// the table is too wide; rank 0 always stays.
type column struct {
	head string
	rank int
	cell func(Row) string
	left bool
}

// columnsOf lists the columns for a scenario, from left to right.
func columnsOf(r *Report, s *Scenario) []column {
	window := limiter.FormatDuration(s.window())
	var own []Row // of this scenario alone: there may be many others
	for _, row := range r.Rows {
		if row.Scenario == s.Name && row.Phase != "" {
			own = append(own, row)
		}
	}
	all := []column{
		{"limiter", 0, limiterCell, true},
		{"sent", 0, func(row Row) string { return number(row.Planned - row.Missed) }, false},
		{"admitted", 0, func(row Row) string { return upTo(row.Admitted, row.Unknown) }, false},
		{"last at", 1, lastAdmitted, false},
		{"by phase", 1, func(row Row) string { return byPhase(own, row) }, false},
		{"by policy", 0, policyCell, false},
		{"recovery", 2, func(row Row) string {
			if row.RecoveryUS == nil {
				return "-"
			}
			return roundMicros(*row.RecoveryUS)
		}, false},
		{"denied", 1, func(row Row) string { return number(row.Denied) }, false},
		{"errors", failing(r, s), errorRate, false},
		{"peak in " + window, 0, peakCell, false},
		{"promised", 4, promiseCell, false},
		{"wrong +/-", 5, func(row Row) string {
			return fmt.Sprintf("%d/%d", row.Wrong.Admissions, row.Wrong.Denials)
		}, false},
		{"p50", 1, func(row Row) string { return latencyCell(row, p50Of) }, false},
		{"p99", 2, func(row Row) string { return latencyCell(row, p99Of) }, false},
		{"max", 3, func(row Row) string { return latencyCell(row, slowestOf) }, false},
		{"bytes/id", 3, func(row Row) string {
			return costCell(row, 0, func(c *Cost) *float64 { return c.BytesPerIdentity })
		}, false},
		{"commands", 5, func(row Row) string {
			return costCell(row, 1, func(c *Cost) *float64 { return c.CommandsPerDecision })
		}, false},
		{"script", 5, func(row Row) string {
			text := costCell(row, 1, func(c *Cost) *float64 { return c.ScriptUSPerDecision })
			return strings.Replace(text+"µs", "-µs", "-", 1)
		}, false},
		{"verdict", 0, func(row Row) string { return string(row.Verdict) }, true},
	}
	var shown []column
	for _, c := range all {
		if (c.head == "sent" || c.head == "last at") && !retried(r, s) {
			continue
		}
		if c.head == "by phase" && (len(phasesOf(r, s)) < 2 || len(phasesOf(r, s)) > 4) {
			continue
		}
		if c.head == "by policy" && !slices.ContainsFunc(shownRows(r, s), func(row Row) bool { return row.ByPolicy != nil }) {
			continue
		}
		if c.head == "recovery" && len(s.Faults) == 0 {
			continue
		}
		shown = append(shown, c)
	}
	return shown
}

// writeRows writes the table.
func writeRows(w io.Writer, columns []column, rows []Row, o Options) error {
	heads, lines, left := laidOut(columns, rows)
	for at, c := range columns {
		for i, row := range rows {
			if c.head == "verdict" {
				lines[i][at] = paint(row.Verdict, lines[i][at], o.Color)
			}
		}
	}
	return writeTable(w, heads, lines, left)
}

// laidOut are the heads, the cells and the alignment of a table.
func laidOut(columns []column, rows []Row) (heads []string, lines [][]string, left []bool) {
	lines = make([][]string, len(rows))
	for _, c := range columns {
		heads, left = append(heads, c.head), append(left, c.left)
		for i, row := range rows {
			lines[i] = append(lines[i], c.cell(row))
		}
	}
	return heads, lines, left
}

// tableWidth is how wide writeTable makes a table.
func tableWidth(heads []string, lines [][]string) int {
	total := len(gap) * (len(heads) - 1)
	for i, head := range heads {
		widest := len([]rune(head))
		for _, line := range lines {
			widest = max(widest, len([]rune(line[i])))
		}
		total += widest
	}
	return total
}

// writeTable writes aligned columns without borders.
func writeTable(w io.Writer, heads []string, lines [][]string, left []bool) error {
	alignment := alignments(len(heads), left)
	var b bytes.Buffer
	table := tablewriter.NewTable(
		&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off, ShowFooterLine: tw.Off},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: gap, Overwrite: true}),
		tablewriter.WithAlignment(alignment),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: alignment}),
	)
	table.Header(heads)
	for _, line := range lines {
		if err := table.Append(line); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// alignments are left for some columns and right for all others.
func alignments(columns int, left []bool) []tw.Align {
	all := make([]tw.Align, columns)
	for i := range all {
		all[i] = tw.AlignRight
		if i < len(left) && left[i] {
			all[i] = tw.AlignLeft
		}
	}
	return all
}

// gap is what stands between two columns.
const gap = "  "

// fitting drops columns until the table is at most width wide.
func fitting(columns []column, rows []Row, width int) []column {
	for natural(columns, rows) > width {
		worst := 0
		for i, c := range columns {
			if c.rank >= columns[worst].rank {
				worst = i
			}
		}
		if columns[worst].rank == 0 {
			break
		}
		columns = append(columns[:worst:worst], columns[worst+1:]...)
	}
	return columns
}

func natural(columns []column, rows []Row) int {
	heads, lines, _ := laidOut(columns, rows)
	return tableWidth(heads, lines)
}

// phasesOf are the names of a scenario's phases in order.
func phasesOf(r *Report, s *Scenario) []string {
	var names []string
	var limiterSeen string
	for _, row := range r.Rows {
		if row.Scenario != s.Name || row.Phase == "" || row.Run == 0 {
			continue
		}
		if limiterSeen == "" {
			limiterSeen = row.Limiter
		}
		if row.Limiter == limiterSeen && row.Run == 1 && !row.Control {
			names = append(names, row.Phase)
		}
	}
	return names
}

// byPhase is what was admitted in each phase: "100+2".
func byPhase(phases []Row, whole Row) string {
	var parts []string
	for _, row := range phases {
		if row.Limiter == whole.Limiter && row.Run == whole.Run && row.Control == whole.Control {
			parts = append(parts, strconv.FormatInt(row.Admitted, 10))
		}
	}
	return strings.Join(parts, "+")
}

// failing is the rank of the errors: they are never left out where there are any.
func failing(r *Report, s *Scenario) int {
	if slices.ContainsFunc(shownRows(r, s), func(row Row) bool { return row.Errored+row.Unknown > 0 }) {
		return 0
	}
	return 1
}

// limiterCell names a limiter, and a control run as such.
func limiterCell(row Row) string {
	if row.Control {
		return printable(row.Limiter) + ", no fault"
	}
	return printable(row.Limiter)
}

// policyCell is how many the failure policy decided.
func policyCell(row Row) string {
	p := row.ByPolicy
	switch {
	case p == nil:
		return "-"
	case p.Local > 0:
		return number(p.Local) + " local"
	case p.Open > 0:
		return number(p.Open) + " open"
	}
	return number(p.Closed) + " closed"
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// upTo is a count that requests of unknown fate may have raised.
func upTo(n, unknown int64) string {
	if unknown == 0 {
		return number(n)
	}
	return fmt.Sprintf("%d to %d", n, n+unknown)
}

// peak is the most in a window, and what it may have been.
func (row *Row) peak() string {
	return upTo(row.PeakInWindow, max(0, row.PeakAtMost-row.PeakInWindow))
}

// retried reports whether clients of a scenario sent anything again.
func retried(r *Report, s *Scenario) bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Scenario == s.Name && row.Wanted != 0 && row.Wanted != row.Planned })
}

// lastAdmitted is when a client that retries had everything that it would get.
func lastAdmitted(row Row) string {
	if row.LastAdmittedUS == nil {
		return "-"
	}
	return limiter.FormatDuration(time.Duration(*row.LastAdmittedUS) * time.Microsecond)
}

func errorRate(row Row) string {
	if row.ErrorRate == nil {
		return "-"
	}
	return strconv.FormatFloat(*row.ErrorRate*100, 'f', decimals(*row.ErrorRate), 64) + "%"
}

// decimals keeps a small rate from looking like none.
func decimals(rate float64) int {
	switch {
	case rate == 0 || rate == 1:
		return 0
	case rate < 0.001:
		return 3
	}
	return 1
}

func peakCell(row Row) string {
	if row.PeakOverLimit == nil || row.Unknown > 0 {
		return row.peak()
	}
	return fmt.Sprintf("%d (%.2f×)", row.PeakInWindow, *row.PeakOverLimit)
}

func promiseCell(row Row) string {
	switch {
	case row.Promise == nil:
		return "-"
	case row.Promise.Kept:
		return fmt.Sprintf("≤ %d", row.Promise.MaxInWindow)
	default:
		return fmt.Sprintf("≤ %d broken", row.Promise.MaxInWindow)
	}
}

func p50Of(l *Latency) *int64     { return l.P50 }
func p99Of(l *Latency) *int64     { return l.P99 }
func slowestOf(l *Latency) *int64 { return l.Max }

// latencyCell shows the service time of all decided requests.
func latencyCell(row Row, of func(*Latency) *int64) string {
	if row.ServiceUS.All == nil {
		return "-"
	}
	us := of(row.ServiceUS.All)
	if us == nil {
		return "n/a"
	}
	return roundMicros(*us)
}

func costCell(row Row, digits int, of func(*Cost) *float64) string {
	if row.Redis == nil || of(row.Redis) == nil {
		return "-"
	}
	return strconv.FormatFloat(*of(row.Redis), 'f', digits, 64)
}

// roundMicros writes a duration with three digits.
func roundMicros(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", us)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2fms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0fms", d.Seconds()*1000)
	default:
		return fmt.Sprintf("%.2fs", d.Seconds())
	}
}
