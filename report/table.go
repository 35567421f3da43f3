package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fatih/color"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// renderTable writes one block for each scenario and a last line for all.
func renderTable(w io.Writer, r *Report, o Options) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	var b strings.Builder
	left := notRun(r)
	for i := range r.Scenarios {
		if len(left) < len(r.Scenarios) && slices.Contains(left, r.Scenarios[i].Name) {
			continue
		}
		if err := writeScenario(&b, r, &r.Scenarios[i], o); err != nil {
			return err
		}
	}
	if len(left) < len(r.Scenarios) {
		writeWrapped(&b, "not run: ", strings.Join(left, ", "), o.Width)
	}
	for _, verdict := range []scenarios.Verdict{scenarios.Fail, scenarios.Inconclusive} {
		writeWrapped(&b, string(verdict)+": ", strings.Join(judged(r, verdict), ", "), o.Width)
	}
	for _, reason := range reasonsOnce(r) {
		writeWrapped(&b, reason.Code+": ", reason.Message, o.Width)
		writeWrapped(&b, "  hint: ", reason.Hint, o.Width)
	}
	fmt.Fprintf(&b, "%s  %s\n", paint(r.Verdict, strings.ToUpper(string(r.Verdict)), o.Color), summary(r))
	_, err := io.WriteString(w, b.String())
	return err
}

func writeScenario(b *strings.Builder, r *Report, s *Scenario, o Options) error {
	writeWrapped(b, s.Name+"  ", outline(r, s), o.Width)
	writeWrapped(b, "", s.Description, o.Width)
	b.WriteString("\n")
	rows := shownRows(r, s)
	columns := fitting(columnsOf(r, s), rows, o.Width)
	if err := writeRows(b, columns, rows, o); err != nil {
		return err
	}
	b.WriteString("\n")
	writeSparkline(b, r, s, o.Width)
	explained := notes(r, s, rows, columns)
	for _, note := range explained {
		writeWrapped(b, note.head, note.text, o.Width)
	}
	if len(explained) > 0 {
		b.WriteString("\n")
	}
	return nil
}

// reasonsOnce are the reasons, of which an interrupt is one only.
func reasonsOnce(r *Report) []scenarios.Reason {
	var all []scenarios.Reason
	for _, reason := range r.Reasons {
		if reason.Code != "interrupted" || !slices.ContainsFunc(all, func(o scenarios.Reason) bool { return o.Code == reason.Code }) {
			all = append(all, reason)
		}
	}
	return all
}

// outline says what was sent.
func outline(r *Report, s *Scenario) string {
	return printable(fmt.Sprintf("limit %s, %s clock, seed %d, plan %.8s, %s%s",
		s.limit(), s.Clock, s.Seed, s.SHA256, requestsOf(r, s), runsText(r, s)))
}

// notRun are scenarios of an interrupted run of which nothing was sent.
func notRun(r *Report) []string {
	var names []string
	for _, s := range r.Scenarios {
		if r.Interrupted && s.Schedule.Sent == 0 {
			names = append(names, s.Name)
		}
	}
	return names
}

// fewScenarios are so few that a report may say more about each.
const fewScenarios = 3

// judged are the scenarios of a verdict, where there are so many that the end of
// the report is far from their tables.
func judged(r *Report, v scenarios.Verdict) []string {
	var names []string
	for _, s := range r.Scenarios {
		if len(r.Scenarios) > fewScenarios && s.Verdict == v && !slices.Contains(notRun(r), s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// requestsOf is what each limiter is sent in each run.
func requestsOf(r *Report, s *Scenario) string {
	wanted := int64(0)
	for _, row := range r.Rows {
		if row.Scenario == s.Name && row.Phase == "" && row.Run != 0 {
			wanted = cmp.Or(row.Wanted, row.Planned)
			break
		}
	}
	text := counted(wanted, "request")
	if retried(r, s) {
		text += " and their retries"
	}
	return text
}

func runsText(r *Report, s *Scenario) string {
	switch made := runsMade(r, s); {
	case made == "1" && s.Runs > 1: // of results of different limiters that were merged
		return ", 1 run of each"
	case s.Runs > 1:
		return ", " + made + " runs added up"
	case s.PlannedRuns > s.Runs:
		return ", run " + made
	}
	return ""
}

// shownRows are the rows of a table: one for each limiter, over all runs and
// phases.
func shownRows(r *Report, s *Scenario) []Row {
	shown := 1
	if s.Runs > 1 {
		shown = 0
	}
	var rows []Row
	for _, row := range r.Rows {
		if row.Scenario == s.Name && row.Phase == "" && row.Run == shown {
			rows = append(rows, row)
		}
	}
	return rows
}

// summary is the last line: what ran where, and how long.
func summary(r *Report) string {
	text := server(r.Env.Redis)
	if r.ElapsedUS > 0 { // a result that was killed does not tell
		text += ", " + roundMicros(r.ElapsedUS)
	}
	if r.Merged > 1 {
		text += fmt.Sprintf(", %d results merged", r.Merged)
	}
	if r.Interrupted {
		text += ", interrupted"
	}
	return text
}

func server(redis Redis) string {
	if redis.Flavour == "" {
		return "no Redis was opened"
	}
	name := redis.Server
	if name == "" {
		name = "redis"
	}
	if redis.Version != "" {
		name += " " + redis.Version
	}
	return printable(name + " (" + redis.Flavour + ")")
}

func (s *Scenario) limit() limiter.Limit {
	return limiter.Limit{Max: s.Limit.Max, Window: s.window()}
}

func (s *Scenario) window() time.Duration {
	return time.Duration(s.Limit.WindowUS) * time.Microsecond
}

// paint colours a word by the verdict that it stands for.
func paint(v scenarios.Verdict, word string, enabled bool) string {
	attribute := map[scenarios.Verdict]color.Attribute{
		scenarios.Pass: color.FgGreen, scenarios.Inconclusive: color.FgYellow, scenarios.Fail: color.FgRed,
	}[v]
	c := color.New(attribute, color.Bold)
	if enabled {
		c.EnableColor()
	} else {
		c.DisableColor()
	}
	return c.Sprint(word)
}

// printable replaces control characters, so that a name from a file cannot
// drive the terminal, and what no XML may hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufffe' || r == '\uffff' {
			return '?'
		}
		return r
	}, s)
}

// maxIndent is how far a name may push aside what is said about it.
const maxIndent = 24

// writeWrapped writes text behind a head, broken at blanks to fit the width and
// indented under its own start.
func writeWrapped(b *strings.Builder, head, text string, width int) {
	if text == "" && (head == "" || strings.HasSuffix(head, ": ")) {
		return
	}
	head = printable(head)
	indent := len([]rune(head))
	if indent > maxIndent {
		indent = 4
	}
	line := head
	empty := true
	for _, word := range strings.Fields(printable(text)) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	b.WriteString(line + "\n")
}
