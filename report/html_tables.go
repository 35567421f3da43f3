package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// grid is a table of a page.
type grid struct {
	Caption string
	Heads   []gridHead
	Rows    [][]gridCell
}

type gridHead struct {
	Text string
	Left bool
}

// gridCell is a cell; the first of a row is its head. Share is how long its bar is, of a
// hundred; 0 draws none.
type gridCell struct {
	Text    string
	Left    bool
	Verdict bool
	Share   int
}

// Class is how a cell is set: one that is short stays on one line, though it has hyphens.
func (c gridCell) Class() string {
	const short = 24
	switch {
	case c.Left && len(c.Text) <= short:
		return "left one"
	case c.Left:
		return "left"
	}
	return ""
}

func gridOf(caption string, heads []string, lines [][]string, left []bool) grid {
	g := grid{Caption: caption}
	isLeft := func(i int) bool { return i < len(left) && left[i] }
	for i, h := range heads {
		g.Heads = append(g.Heads, gridHead{printable(h), isLeft(i)})
	}
	for _, line := range lines {
		var cells []gridCell
		for i, text := range line {
			cells = append(cells, gridCell{Text: printable(text), Left: isLeft(i), Verdict: heads[i] == "verdict"})
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// tablesOf are the tables of a scenario.
func tablesOf(r *Report, s *Scenario, rows []Row, columns []column, a amount) []grid {
	if a == brief {
		return nil
	}
	heads, lines, left := laidOut(verdictFirst(columns), rows)
	all := []grid{gridOf("Results", heads, lines, left)}
	if a < general {
		return all
	}
	if len(phasesOf(r, s)) > 1 {
		heads, lines, left := byPhaseLines(r, s)
		all = append(all, gridOf("By phase", heads, lines, left).toFront("verdict", 2))
	}
	if s.Runs > 1 && a == full {
		all = append(all, byRun(r, s))
	}
	return append(all, costsOf(rows), scheduleOf(s), configurationOf(r, s))
}

// verdictFirst are columns with the verdict beside the limiter, so that a narrow window
// hides what follows from it instead.
func verdictFirst(columns []column) []column {
	return moved(columns, slices.IndexFunc(columns, func(c column) bool { return c.head == "verdict" }), 1)
}

// byRun has a line for each limiter and run.
func byRun(r *Report, s *Scenario) grid {
	heads := []string{"limiter", "run", "admitted", "denied", "errors", "peak", "p50", "p99", "max", "verdict"}
	var lines [][]string
	for _, row := range r.Rows {
		if row.Scenario == s.Name && row.Phase == "" && row.Run > 0 {
			lines = append(lines, []string{
				limiterCell(row), strconv.Itoa(row.Run), upTo(row.Admitted, row.Unknown), number(row.Denied), errorRate(row), peakCell(row),
				latencyCell(row, p50Of), latencyCell(row, p99Of),
				latencyCell(row, slowestOf), string(row.Verdict),
			})
		}
	}
	return gridOf("By run", heads, lines, []bool{0: true, 9: true}).toFront("verdict", 2)
}

// toFront is a grid with the column of a head before the one at a place.
func (g grid) toFront(head string, place int) grid {
	at := slices.IndexFunc(g.Heads, func(h gridHead) bool { return h.Text == head })
	g.Heads = moved(g.Heads, at, place)
	for i, row := range g.Rows {
		g.Rows[i] = moved(row, at, place)
	}
	return g
}

// moved is a list with what is at one place before what is at another.
func moved[T any](list []T, from, to int) []T {
	if from <= to {
		return list
	}
	one := list[from]
	return slices.Insert(slices.Delete(slices.Clone(list), from, from+1), to, one)
}

// costsOf is what decisions cost the server, with bars to compare by.
func costsOf(rows []Row) grid {
	figures := []struct {
		head   string
		digits int
		of     func(*Cost) *float64
	}{
		{"bytes of an identity", 0, func(c *Cost) *float64 { return c.BytesPerIdentity }},
		{"commands of a decision", 1, func(c *Cost) *float64 { return c.CommandsPerDecision }},
		{"µs of the script", 1, func(c *Cost) *float64 { return c.ScriptUSPerDecision }},
	}
	g := grid{Caption: "Memory and work of the server", Heads: []gridHead{{"limiter", true}, {"keys", false}}}
	most := make([]float64, len(figures))
	for i, f := range figures {
		g.Heads = append(g.Heads, gridHead{f.head, false})
		for _, row := range rows {
			if row.Redis != nil && f.of(row.Redis) != nil {
				most[i] = max(most[i], *f.of(row.Redis))
			}
		}
	}
	for _, row := range rows {
		keys := "-"
		if row.Redis != nil {
			keys = strconv.Itoa(row.Redis.Keys)
		}
		line := []gridCell{{Text: limiterCell(row), Left: true}, {Text: keys}}
		for i, f := range figures {
			cell := gridCell{Text: costCell(row, f.digits, f.of)}
			if row.Redis != nil && f.of(row.Redis) != nil && most[i] > 0 {
				cell.Share = max(1, int(*f.of(row.Redis)/most[i]*100))
			}
			line = append(line, cell)
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// scheduleOf is how well the traffic was sent.
func scheduleOf(s *Scenario) grid {
	line := []string{number(s.Schedule.Planned), number(s.Schedule.Sent), number(s.Schedule.Missed), "-", "-", "-"}
	if l := s.Schedule.LagUS; l != nil {
		line[3], line[4], line[5] = roundMicros(l.P50), roundMicros(l.P99), roundMicros(l.Max)
	}
	return gridOf("Schedule, of all limiters and runs", []string{"planned", "sent", "missed", "lag p50", "lag p99", "lag max"}, [][]string{line}, nil)
}

// configurationOf is what the traffic follows from.
func configurationOf(r *Report, s *Scenario) grid {
	lines := [][]string{
		{"limit", s.limit().String()},
		{"clock", string(s.Clock)},
		{"seed", strconv.FormatUint(s.Seed, 10)},
		{"plan", "sha256 " + s.SHA256},
		{"runs", runsMade(r, s)},
	}
	if s.OnFailure != "" {
		lines = append(lines, []string{"on failure", s.OnFailure})
	}
	if s.Names > 1 {
		lines = append(lines, []string{"names of a client", strconv.Itoa(s.Names)})
	}
	if s.Skewed {
		lines = append(lines, []string{"clocks of senders", "differ"})
	}
	for _, f := range s.Faults {
		text := instant(float64(f.AtUS))
		if f.EndUS > f.AtUS {
			text += " to " + instant(float64(f.EndUS))
		}
		lines = append(lines, []string{"fault " + f.Kind, text})
	}
	return gridOf("Configuration", []string{"setting", "value"}, lines, []bool{true, true})
}

// environment is where and when a report was made.
func environment(r *Report) []grid {
	lines := [][]string{
		{"started", r.Started.Format(time.RFC3339)},
		{"schema", r.Schema},
		{"interrupted", strconv.FormatBool(r.Interrupted)},
	}
	if r.ElapsedUS > 0 { // a result that was killed does not tell
		lines = slices.Insert(lines, 1, []string{"took", roundMicros(r.ElapsedUS)})
	}
	if r.Merged > 1 {
		lines = append(lines, []string{"results merged", strconv.Itoa(r.Merged)})
	}
	all := []grid{gridOf("This run", []string{"what", "value"}, lines, []bool{true, true})}
	for i, e := range r.machines() {
		caption := "Machine"
		if len(r.machines()) > 1 {
			caption = fmt.Sprintf("Machine %d", i+1)
		}
		all = append(all, machineGrid(caption, e))
	}
	return all
}

func machineGrid(caption string, e Env) grid {
	return gridOf(caption, []string{"what", "value"}, [][]string{
		{"rlbench", e.Rlbench},
		{"go", e.Go},
		{"system", e.OS + "/" + e.Arch},
		{"processor", e.CPU},
		{"cores", strconv.Itoa(e.Cores)},
		{"redis", server(e.Redis)},
		{"mode", e.Redis.Mode},
		{"maxmemory-policy", e.Redis.MaxmemoryPolicy},
	}, []bool{true, true})
}
