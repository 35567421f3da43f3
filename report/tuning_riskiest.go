package report

import (
	"fmt"
	"slices"
	"strings"
)

// riskiestPart is the window in which one client asked for most.
func (t *Tuning) riskiestPart() part {
	r := t.Riskiest
	if r == nil || r.BinUS <= 0 || len(r.Wanted) == 0 {
		return part{}
	}
	p := part{id: "riskiest", title: "The riskiest window", course: r.draw}
	p.doc = fmt.Sprintf("When one client asked for most: %s from %s on, of %s of all clients. What it asked for, and what each policy lets through of it.",
		lasting(int64(len(r.Wanted))*r.BinUS), stamp(r.From), thousandsOf(r.Requests, "request"))
	wanted := sum(r.Wanted)
	if len(r.Courses) == 0 {
		p.facts = []note{{"wanted", thousandsOf(wanted, "request") + " by the busiest client; no policy was chosen"}}
		return p
	}
	p.sheets = []sheet{sheetOf("What is let through", []of[Course]{
		{field{"algorithm", 0, true}, func(c Course) string { return printable(c.Algorithm) }},
		{field{"limit", 0, false}, func(c Course) string { return thousands(c.Limit) }},
		{field{"wanted", 2, false}, func(Course) string { return thousands(wanted) }},
		{field{"admitted", 0, false}, func(c Course) string { return thousands(sum(c.Admitted)) }},
		{field{"refused", 3, false}, func(c Course) string { return percent(wanted-sum(c.Admitted), wanted) }},
		{field{"most in " + lasting(r.WindowUS), 1, false}, func(c Course) string {
			peak := int64(0)
			if len(c.InWindow) > 0 {
				peak = slices.Max(c.InWindow)
			}
			return peakText(&Policy{Limit: c.Limit, PeakInWindow: peak})
		}},
	}, r.Courses)}
	return p
}

func sum(list []int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}

// draw has a line of marks for what was wanted, and one for what each policy admitted.
func (r *Riskiest) draw(width int) []string {
	names, lists := []string{"wanted"}, [][]int64{r.Wanted}
	for _, c := range r.Courses {
		names, lists = append(names, fmt.Sprintf("%s %d", printable(c.Algorithm), c.Limit)), append(lists, c.Admitted)
	}
	name := 0
	for i := range names {
		names[i] = clipped(names[i], maxIndent)
		name = max(name, len([]rune(names[i])))
	}
	room := min(width-name-len(gap), enoughMarks)
	m, each := r.marks(room)
	if m.n < fewMarks {
		return nil
	}
	highest := int64(0)
	for i, list := range lists {
		lists[i] = gathered(list, m.n, each)
		highest = max(highest, slices.Max(lists[i]))
	}
	if highest == 0 {
		return nil
	}
	head := fmt.Sprintf("each %s: █ is %s, · none", lasting(m.step), thousands(highest))
	if strings.Contains(m.draw(lists[0], highest), "|") {
		head += ", | an edge of the window"
	}
	lines := []string{head}
	for i, list := range lists {
		lines = append(lines, names[i]+strings.Repeat(" ", name-len([]rune(names[i])))+gap+m.draw(list, highest))
	}
	return lines
}

// marks are as many as there is room for, each of so many bins, with edges between them
// where the clock has some.
func (r *Riskiest) marks(room int) (m marks, each int) {
	for each = max(1, (len(r.Wanted)+enoughMarks-1)/enoughMarks); each <= len(r.Wanted); each++ {
		m = marks{r.From.UnixMicro(), int64(each) * r.BinUS, max(r.WindowUS, 1), (len(r.Wanted) + each - 1) / each}
		if m.n < fewMarks || len([]rune(m.draw(make([]int64, m.n), 1))) <= room {
			return m, each
		}
	}
	return marks{}, 1
}

// gathered are n sums of each so many of a list, which may be shorter.
func gathered(list []int64, n, each int) []int64 {
	sums := make([]int64, n)
	for i, v := range list {
		if i/each < n {
			sums[i/each] += max(v, 0)
		}
	}
	return sums
}
