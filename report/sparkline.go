package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/rlbench/rlbench/limiter"
)

// A line has at least few marks, or it would show nothing, and at most enough.
const (
	fewMarks    = 4
	enoughMarks = 60
)

// marks are intervals of a run: one character each, and one at each edge of a window.
type marks struct {
	from, step, window int64 // µs
	n                  int
}

// writeSparkline draws what each limiter admitted in the course of a run; of several
// runs in that with the highest peak. In a long report, the tables are enough.
func writeSparkline(b *strings.Builder, r *Report, s *Scenario, width int) {
	if len(r.Scenarios) > fewScenarios {
		return
	}
	var subs []pictured
	name := 0
	for _, sub := range limitersOf(r, s) {
		if sub.course == nil {
			continue
		}
		if sub.name = printable(sub.name); twwidth.Width(sub.name) > maxIndent {
			sub.name = twwidth.Truncate(sub.name, maxIndent, "…")
		}
		name = max(name, twwidth.Width(sub.name))
		subs = append(subs, sub)
	}
	m, ok := marksOf(subs, s.Limit.WindowUS, width-name-len(gap))
	if !ok {
		return
	}
	counts, most := make([][]int64, len(subs)), int64(0)
	for i, sub := range subs {
		counts[i] = m.admitted(wholeRun(sub.course))
		most = max(most, slices.Max(counts[i]))
	}
	if most == 0 {
		return
	}
	head := fmt.Sprintf("admitted in each %s: █ is %s, · none, | an edge of the window", limiter.FormatDuration(time.Duration(m.step)*time.Microsecond), number(most))
	writeWrapped(b, "", head, width)
	for i, sub := range subs {
		b.WriteString(sub.name + strings.Repeat(" ", name-twwidth.Width(sub.name)) + gap + m.draw(counts[i], most) + "\n")
	}
	b.WriteString("\n")
}

// marksOf are the shortest marks that fit into a width, for all runs. No edge falls into
// one unless they are whole windows.
func marksOf(subs []pictured, window int64, width int) (marks, bool) {
	if len(subs) == 0 || window <= 0 {
		return marks{}, false
	}
	from, bin := wholeRun(subs[0].course).FromUS, int64(1)
	until := from
	for _, sub := range subs {
		t := wholeRun(sub.course)
		from, until, bin = min(from, t.FromUS), max(until, t.FromUS+int64(t.Bins)*t.BinUS), max(bin, t.BinUS)
	}
	const tries = 100_000 // results come from files, and limiters may be far apart
	step := max(bin, (until-from)/(enoughMarks+1)/bin*bin) - bin
	for range tries {
		if step += bin; (until-from)/step < fewMarks-1 {
			break
		}
		if over := step % window; over != 0 && step > window {
			step += window - over
		}
		if step < window && window%step != 0 || slices.ContainsFunc(subs, func(sub pictured) bool { return step%wholeRun(sub.course).BinUS != 0 }) {
			continue // an edge, or a bin of another limiter, would fall into two
		}
		first := floor(from, step)
		m := marks{first, step, window, int((until - first + step - 1) / step)}
		if m.n >= fewMarks && m.n <= enoughMarks && len([]rune(m.draw(make([]int64, m.n), 1))) <= width {
			return m, true
		}
	}
	return marks{}, false
}

// floor is the last multiple of a step at or before an instant.
func floor(at, step int64) int64 { return at - ((at%step)+step)%step }

// admitted adds up a timeline. Its bins may be shorter than marks, and begin elsewhere.
func (m marks) admitted(t *Stretch) []int64 {
	counts := make([]int64, m.n)
	for i := range t.Bins {
		counts[(t.FromUS+int64(i)*t.BinUS-m.from)/m.step] += at(t.Admitted, i)
	}
	return counts
}

// draw is a line. What is not nothing is no dot, however small.
func (m marks) draw(counts []int64, most int64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	var line strings.Builder
	for i, n := range counts {
		if (m.from+int64(i)*m.step)%m.window == 0 && m.step < m.window {
			line.WriteByte('|')
		}
		if n == 0 {
			line.WriteRune('·')
			continue
		}
		line.WriteRune(levels[(n*int64(len(levels))-1)/most])
	}
	return line.String()
}
