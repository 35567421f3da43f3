package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// part is what a tuning says about one thing.
type part struct {
	id, title, doc string
	sheets         []sheet
	heat           *heat
	// course draws over time with characters, in lines of at most a width.
	course func(width int) []string
	facts  []note
}

// parts are all of them in the order in which a reader wants them, with names from the
// log cut to a width. What there is nothing about is not there.
func (t *Tuning) parts(names int) []part {
	all := []part{t.readPart(names)}
	others := []part{t.demandPart(), t.aroundPart(), t.sensitivityPart(), t.routesPart(names), t.riskiestPart(), t.memoryPart()}
	if t.Log.Requests == 0 {
		others = others[len(others)-1:] // tables of nothing say nothing
	}
	for _, p := range others {
		if p.title != "" {
			all = append(all, p)
		}
	}
	return all
}

// readPart is what was read. A note without a head is evidence for the one above.
func (t *Tuning) readPart(names int) part {
	l := &t.Log
	p := part{id: "read", title: "What was read", facts: []note{
		{"log", fmt.Sprintf("%s, format %s, %s, %s", thousandsOf(int64(l.Files), "file"), printable(l.Format), thousandsOf(l.Lines, "line"), Size(l.Bytes))},
		{"requests", fmt.Sprintf("%s of %s in %s, on %s", thousands(l.Requests), thousandsOf(l.Clients, "client"), thousandsOf(l.Networks, "network"), thousandsOf(l.Routes, "route"))},
	}}
	if l.Requests > 0 {
		p.facts = append(p.facts, note{"time", fmt.Sprintf("%s to %s, %s", stamp(l.From), stamp(l.Until), about(l.Until.Sub(l.From)))})
	}
	p.facts = append(p.facts, note{"stamps", t.stampsText()})
	if l.Bad > 0 {
		p.facts = append(p.facts, note{"bad lines", fmt.Sprintf("%s of the lines are not of the format, and left out", thousands(l.Bad))})
		for _, e := range l.Examples {
			p.facts = append(p.facts, note{"", fmt.Sprintf("%s:%d: %s", clipped(e.File, names), e.Line, clipped(e.Why, 4*names))})
		}
		if more := l.Bad - int64(len(l.Examples)); more > 0 && len(l.Examples) > 0 {
			p.facts = append(p.facts, note{"", fmt.Sprintf("and %s more", thousands(more))})
		}
	}
	if l.Late > 0 {
		p.facts = append(p.facts, note{"late lines", fmt.Sprintf("%s of the lines are too far from their place in time, and left out", thousands(l.Late))})
	}
	if l.Limited > 0 {
		p.facts = append(p.facts, note{"429", fmt.Sprintf("%s of the requests were refused already (%s): a limiter was at work, and without it clients may ask for more or for less", thousands(l.Limited), percent(l.Limited, l.Requests))})
	}
	return p
}

// about is how long a log is.
func about(span time.Duration) string {
	switch {
	case span < 10*time.Second:
		return lasting(span.Round(time.Millisecond).Microseconds())
	case span < 48*time.Hour:
		return lasting(span.Round(time.Second).Microseconds())
	}
	return fmt.Sprintf("%.1f days", span.Hours()/24)
}

func (t *Tuning) stampsText() string {
	text := "of complete responses, of which nobody knows how long they took"
	if t.Log.Arrivals {
		text = "of arrivals"
	}
	if !t.Log.WholeSeconds {
		return text
	}
	text += ", in whole seconds"
	var spreads []string
	for _, s := range t.Asked.Spreads {
		spreads = append(spreads, printable(s))
	}
	if len(spreads) == 0 {
		return text
	}
	text += ": figures are of requests within them as “" + spreads[0] + "”"
	if len(spreads) > 1 {
		text += ", and intervals reach over “" + strings.Join(spreads[1:], "”, “") + "” too"
	}
	return text
}

// demandPart is what clients ask for.
func (t *Tuning) demandPart() part {
	p := part{id: "demand", title: "Demand", doc: "The most that a client asks for in any trailing window, if nothing is refused: so many percent of the clients ask for no more."}
	if len(t.Demands) > 0 {
		p.sheets = []sheet{sheetOf("Peaks of clients", []of[Demand]{
			{field{"window", 0, false}, func(d Demand) string { return lasting(d.WindowUS) }},
			{field{"per", 0, true}, func(d Demand) string { return printable(d.Key) }},
			{field{"p50", 5, false}, func(d Demand) string { return thousands(d.InWindow.P50) }},
			{field{"p90", 4, false}, func(d Demand) string { return thousands(d.InWindow.P90) }},
			{field{"p99", 0, false}, func(d Demand) string { return thousands(d.InWindow.P99) }},
			{field{"p99.9", 3, false}, func(d Demand) string { return thousands(d.InWindow.P999) }},
			{field{"max", 0, false}, func(d Demand) string { return thousands(d.InWindow.Max) }},
			{field{"ordinary p99", 7, false}, func(d Demand) string { return thousands(d.Ordinary.P99) }},
			{field{"ordinary max", 6, false}, func(d Demand) string { return thousands(d.Ordinary.Max) }},
			{field{"p99 in 1s", 8, false}, func(d Demand) string { return thousands(d.InSecond.P99) }},
			{field{"max in 1s", 7, false}, func(d Demand) string { return thousands(d.InSecond.Max) }},
		}, t.Demands)}
	}
	p.facts = []note{{"heavy clients", t.heavyText()}}
	return p
}

func (t *Tuning) heavyText() string {
	h := &t.Heavy
	than := "more than " + thousands(h.Above) + " requests"
	if h.WindowUS > 0 {
		than = "more than " + allowance(h.Above, h.WindowUS)
	}
	if h.Clients == 0 {
		if h.Stated {
			return "none: no client asks for " + than + ", as was stated"
		}
		return "none: no client asks for far more than the others"
	}
	text := fmt.Sprintf("%s, with %s of the requests: a peak of %s", thousandsOf(h.Clients, "client"), percent(h.Requests, t.Log.Requests), than)
	switch {
	case h.Stated:
		text += ", as was stated"
	case h.Gap > 0:
		text += fmt.Sprintf("; the least of them asks for %.1f times as much as the most of the others", h.Gap)
	}
	return text
}

// fewRoutes is how many routes a reader wants to see.
const fewRoutes = 25

// routesPart is what is asked of each route.
func (t *Tuning) routesPart(names int) part {
	if len(t.Routes) == 0 {
		return part{}
	}
	p := part{id: "routes", title: "Routes", doc: "Each route with a budget of its own for each client"}
	if len(t.Asked.WindowsUS) > 0 {
		p.doc += " in " + lasting(t.Asked.WindowsUS[0])
	}
	p.doc += fmt.Sprintf(": what clients ask for at most, the least limit of a log that leaves %s of the ordinary ones untouched, and what that would refuse.", t.Asked.Share())
	shown := t.Routes[:min(len(t.Routes), fewRoutes)]
	p.sheets = []sheet{sheetOf("The busiest routes", []of[Route]{
		{field{"route", 0, true}, func(r Route) string {
			if r.Route == "" {
				return "all others"
			}
			return clipped(r.Route, names)
		}},
		{field{"requests", 1, false}, func(r Route) string { return thousands(r.Requests) }},
		{field{"clients", 3, false}, func(r Route) string { return thousands(r.Clients) }},
		{field{"p50", 7, false}, func(r Route) string { return thousands(r.Demand.P50) }},
		{field{"p90", 6, false}, func(r Route) string { return thousands(r.Demand.P90) }},
		{field{"p99", 4, false}, func(r Route) string { return thousands(r.Demand.P99) }},
		{field{"p99.9", 8, false}, func(r Route) string { return thousands(r.Demand.P999) }},
		{field{"max", 5, false}, func(r Route) string { return thousands(r.Demand.Max) }},
		{field{"limit", 0, false}, func(r Route) string {
			if r.Limit == 0 {
				return "-"
			}
			return thousands(r.Limit)
		}},
		{field{"refused", 2, false}, func(r Route) string { return percent(r.Refused, r.Requests) }},
	}, shown)}
	if more := len(t.Routes) - len(shown); more > 0 {
		p.facts = []note{{"not shown", thousandsOf(int64(more), "more route") + "; JSON has them all"}}
	}
	return p
}

// memoryPart is where figures of memory come from.
func (t *Tuning) memoryPart() part {
	m := &t.Memory
	if len(m.Measured) == 0 {
		return part{}
	}
	from := "measured on " + server(m.Redis)
	if m.BuiltIn {
		from = "built into rlbench, measured on another machine"
		if m.Redis.Version != "" {
			from += " with " + server(m.Redis)
		}
	}
	p := part{id: "memory", title: "Memory", doc: "What one identity takes of Redis, by how many requests of it are in the window: " + from + ".", sheets: []sheet{
		m.sheet("Bytes of an identity", func(k MeasuredKey) string { return thousands(k.Bytes) }),
		m.sheet("Time of a decision in Redis, µs", func(k MeasuredKey) string { return fmt.Sprintf("%.1f", k.ScriptUS) }),
	}}
	if m.CheapUntil > 0 && m.Below > 0 && m.Above > 0 {
		p.facts = []note{{"log or counter", fmt.Sprintf("up to a limit of %s a log takes %.1f times as much as a counter, and just above %.1f times: beyond that many entries Redis keeps a sorted set as a skip list", thousands(m.CheapUntil), m.Below, m.Above)}}
	}
	return p
}

// sheet has a line for each number of entries and a column for each algorithm.
func (m *Memory) sheet(caption string, cell func(MeasuredKey) string) sheet {
	var entries []int64
	columns := []of[int64]{{field{"entries", 0, false}, thousands}}
	for _, name := range m.algorithms() {
		columns = append(columns, of[int64]{field{printable(name), len(columns) - 1, false}, func(n int64) string {
			i := slices.IndexFunc(m.Measured, func(k MeasuredKey) bool { return k.Algorithm == name && k.Entries == n })
			if i < 0 {
				return "-"
			}
			return cell(m.Measured[i])
		}})
	}
	for _, k := range m.Measured {
		entries = append(entries, k.Entries)
	}
	slices.Sort(entries)
	return sheetOf(caption, columns, slices.Compact(entries))
}

func (m *Memory) algorithms() []string {
	var all []string
	for _, k := range m.Measured {
		if !slices.Contains(all, k.Algorithm) {
			all = append(all, k.Algorithm)
		}
	}
	return all
}
