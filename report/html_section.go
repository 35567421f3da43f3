package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/rlbench/rlbench/report/chart"
)

// section is a scenario as a page shows it.
type section struct {
	ID, Name, Verdict, Description, Outline string
	Cards                                   []card
	Notes                                   []pageNote
	Groups                                  []group
	Tables                                  []grid
	Findings                                []pageFinding
}

// card is a limiter at a glance.
type card struct{ Limiter, Verdict, Admitted, Of, Peak, Over, Promise, Unsent string }

// pageNote is a sentence, with what is evidence for it.
type pageNote struct {
	Head, Text string
	Evidence   []string
}

// group are pictures of one kind.
type group struct {
	Title, Doc string
	Folded     bool
	Figures    []figure
}

// figure is a picture with its numbers.
type figure struct {
	*chart.Chart
	Picture template.HTML
	Keys    []chart.Key
	Data    chart.Table
}

// sectionOf writes a scenario.
func sectionOf(r *Report, i int, a amount) (template.HTML, error) {
	s := &r.Scenarios[i]
	rows := shownRows(r, s)
	columns := columnsOf(r, s)
	sec := section{
		ID: sectionID(i), Name: printable(s.Name), Verdict: string(s.Verdict), Description: printable(s.Description), Outline: outline(r, s),
		Cards: cardsOf(r, s, rows), Notes: notesOf(r, s, rows, columns), Tables: tablesOf(r, s, rows, columns, a), Findings: findingsOf(r, s, a),
	}
	if a > brief {
		var err error
		if sec.Groups, err = groupsOf(r, s, sec.ID, a); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	if err := pageTemplate.ExecuteTemplate(&b, "section", sec); err != nil {
		return "", fmt.Errorf("write page: %w", err)
	}
	return template.HTML(b.String()), nil
}

func cardsOf(r *Report, s *Scenario, rows []Row) []card {
	var all []card
	for _, row := range rows {
		c := card{
			Limiter: limiterCell(row), Verdict: string(row.Verdict), Admitted: upTo(row.Admitted, row.Unknown),
			Of: number(row.Planned-row.Missed) + inRuns(r, s, row), Peak: row.peak(), Promise: promiseCell(row),
		}
		if row.idle() {
			all = append(all, card{Limiter: limiterCell(row), Verdict: string(row.Verdict), Unsent: fmt.Sprintf("not sent (0 of %d)", row.Planned)})
			continue
		}
		if row.PeakOverLimit != nil && row.Unknown == 0 {
			c.Over = fmt.Sprintf("%.2f× limit", *row.PeakOverLimit)
		}
		all = append(all, c)
	}
	return all
}

// inRuns says that counts are sums.
func inRuns(r *Report, s *Scenario, row Row) string {
	if s.Runs > 1 {
		return " in " + counted(int64(r.made(row.subject())), "run")
	}
	return ""
}

func notesOf(r *Report, s *Scenario, rows []Row, columns []column) []pageNote {
	var all []pageNote
	for _, n := range notes(r, s, rows, columns) {
		head := strings.TrimSuffix(strings.TrimSpace(printable(n.head)), ":")
		if head == "" && len(all) > 0 {
			all[len(all)-1].Evidence = append(all[len(all)-1].Evidence, printable(n.text))
			continue
		}
		all = append(all, pageNote{Head: head, Text: printable(n.text)})
	}
	return all
}

// groupsOf are the pictures of a scenario.
func groupsOf(r *Report, s *Scenario, id string, a amount) ([]group, error) {
	subs := limitersOf(r, s)
	overTime := group{Title: "Admissions over time"}
	if a < general {
		overTime.add(envelopeOf(s, subs, id))
		return drawnGroups(overTime)
	}
	overTime.add(timelineOf(s, subs, id+"-run", wholeRun), envelopeOf(s, subs, id))
	apart := group{Title: "Each limiter by itself", Folded: true}
	if a >= single {
		for i, sub := range subs {
			apart.add(picturesOfOne(r, s, sub, id, i)...)
		}
	}
	return drawnGroups(overTime, edgesOf(s, id, subs), timesOf(r, s, subs, id), apart)
}

// timesOf are pictures of latency and lag, of all limiters.
func timesOf(r *Report, s *Scenario, subs []pictured, id string) group {
	g := group{Title: "Latency and lag", Doc: latencyDoc(r)}
	names, service, lag := make([]string, len(subs)), make([]*samples, len(subs)), make([]*samples, len(subs))
	for i, sub := range subs {
		names[i], service[i], lag[i] = sub.name, pooled(r, sub, serviceAdmitted, serviceDenied), pooled(r, sub, lagOfAll)
	}
	g.add(percentilesOf(id+"-service", "Service time by limiter", "From sending to the reply, of all that was decided. Equal steps to the right are ten times rarer.", names, service))
	g.add(percentilesOf(id+"-lag", "Lag of the generator", "How late requests were sent: with a large lag latencies and edges mean little.", names, lag))
	g.add(lateness(s, subs, id))
	return g
}

// picturesOfOne are of the limiter at a place in the table.
func picturesOfOne(r *Report, s *Scenario, sub pictured, id string, place int) []*chart.Chart {
	var all []*chart.Chart
	if sub.course != nil {
		all = append(all, decisionsOf(s, sub, fmt.Sprintf("%s-decisions%d", id, place), wholeRun(sub.course)))
	}
	kinds := []distribution{serviceAdmitted, serviceDenied, responseAdmitted, responseDenied}
	return append(all, percentilesOf(
		fmt.Sprintf("%s-times%d", id, place), sub.name+": admitted and denied, service and response",
		"Service time is from sending to the reply; response time is from the planned instant, so that a late generator does not hide a wait.",
		namesOf(kinds), samplesOf(r, sub, kinds),
	))
}

// drawnGroups are those that have pictures.
func drawnGroups(groups ...group) ([]group, error) {
	var all []group
	for _, g := range groups {
		if len(g.Figures) == 0 {
			continue
		}
		if err := g.draw(); err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// edgesOf are close looks at edges.
func edgesOf(s *Scenario, id string, subs []pictured) group {
	const few = 2
	g := group{Title: "Around each edge", Doc: "The same, close to the edges of windows near which most was decided."}
	for k, from := range edgeStretches(subs) {
		c := timelineOf(s, subs, fmt.Sprintf("%s-edge%d", id, k), stretchFrom(from))
		if c == nil {
			continue
		}
		c.Title, c.Height = "Around the edge", 230
		if edge := math.Round((c.X.Min + c.X.Max) / 2); edge != 0 {
			c.Title += " at " + instant(edge)
		}
		g.add(c)
	}
	g.Folded = len(g.Figures) > few
	return g
}

// latencyDoc says what latencies are not.
func latencyDoc(r *Report) string {
	if r.Env.Redis.Flavour == "embedded" {
		return "These are times of an emulator, not of Redis."
	}
	return ""
}

func namesOf(kinds []distribution) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

func samplesOf(r *Report, sub pictured, kinds []distribution) []*samples {
	all := make([]*samples, len(kinds))
	for i, k := range kinds {
		all[i] = pooled(r, sub, k)
	}
	return all
}

// add takes the pictures that there are.
func (g *group) add(charts ...*chart.Chart) {
	for _, c := range charts {
		if c != nil {
			g.Figures = append(g.Figures, figure{Chart: c})
		}
	}
}

func (g *group) draw() error {
	for i := range g.Figures {
		f := &g.Figures[i]
		picture, err := f.SVG()
		if err != nil {
			return err
		}
		f.Picture, f.Keys, f.Data = picture, f.Chart.Keys(), f.Table()
	}
	return nil
}
