package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report/chart"
)

// tuningPage is a tuning as a page shows it.
type tuningPage struct {
	frame
	Left       string // what was left out
	Lead       string
	Asked      string
	Facts      []pageNote
	Cards      []tuningCard
	Others     []pageNote
	Groups     []tuningGroup
	Algorithms []pageNote
}

// tuningCard is a choice at a glance.
type tuningCard struct{ Word, Algorithm, Limit, Per, Touched, Refused, Peak, Memory, Share string }

type tuningGroup struct {
	ID, Title string
	Parts     []tuningPart
}

type tuningPart struct {
	ID, Title, Doc string
	Heats          []heatGrid
	Legend         []heatCell
	Grids          []grid
	Facts          []pageNote
	Figures        []figure
}

// heatGrid is a heat map as a table.
type heatGrid struct {
	ID, Caption string
	Heads       []string
	Rows        []heatRow
}

type heatRow struct {
	Limit string
	Cells []heatCell
}

type heatCell struct {
	Text, Class string
	Taken       bool
}

// renderTuningHTML writes one page that needs nothing else. If it gets too long, pictures
// go, the longest first.
func renderTuningHTML(w io.Writer, t *Tuning, _ Options) error {
	p, err := t.page()
	if err != nil {
		return err
	}
	for left := 0; ; {
		var b bytes.Buffer
		if err := pageTemplate.ExecuteTemplate(&b, "tuning", p); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
		if b.Len() <= pageSize || !p.dropFigure() {
			_, err := w.Write(b.Bytes())
			return err
		}
		left++
		p.Left = counted(int64(left), "picture")
	}
}

// dropFigure leaves the longest picture out, if there is one.
func (p *tuningPage) dropFigure() bool {
	var from *[]figure
	at, longest := 0, -1
	for g := range p.Groups {
		for i := range p.Groups[g].Parts {
			figures := &p.Groups[g].Parts[i].Figures
			for k, f := range *figures {
				if n := f.length(); n > longest {
					from, at, longest = figures, k, n
				}
			}
		}
	}
	if from != nil {
		*from = slices.Delete(*from, at, at+1)
	}
	return from != nil
}

// length is about how much of a page a picture takes, with its numbers.
func (f *figure) length() int {
	n := len(f.Picture)
	for _, row := range f.Data.Rows {
		for _, cell := range row.Cells {
			n += len(cell) + len("<td></td>")
		}
	}
	return n
}

func (t *Tuning) page() (*tuningPage, error) {
	title := " tune: nothing recommended"
	p := &tuningPage{Lead: t.nothingChosen(), Asked: t.askedText(), Others: pageNotes(t.otherFacts())}
	if t.Recommended != nil {
		title = " tune: " + t.Recommended.Policy.name()
		p.Lead, p.Facts = t.Recommended.Policy.name(), pageNotes(t.choiceFacts(t.Recommended)[1:])
	}
	p.frame = framed(title, t.Verdict, t.Reasons, chart.Style+pageStyle+tuningStyle)
	p.Summary, p.Command, p.Environment = t.summary(), ShellCommand(t.Command), t.environment()
	for _, c := range t.chosen() {
		p.Cards = append(p.Cards, tuningCard{
			Word: c.word, Algorithm: printable(c.Policy.Algorithm), Limit: thousands(c.Policy.Limit),
			Per:     printable(strings.TrimPrefix(allowance(c.Policy.Limit, c.Policy.WindowUS), thousands(c.Policy.Limit)+" ") + " per " + c.Policy.Key),
			Touched: c.Policy.shareCell(touchedOf, c.Policy.TouchedOrdinary, t.ordinary()), Refused: c.Policy.shareCell(refusedOf, c.Policy.Refused, c.Policy.Requests),
			Peak: peakText(&c.Policy), Memory: Size(c.Policy.Bytes), Share: Percent(c.Policy.ServerShare),
		})
	}
	for _, name := range t.Asked.Algorithms {
		if a, ok := limiter.Named(name); ok {
			p.Algorithms = append(p.Algorithms, pageNote{Head: a.Name, Text: a.Doc})
		}
	}
	return p, p.group(t)
}

// group puts the parts under their headings.
func (p *tuningPage) group(t *Tuning) error {
	headings := map[string]string{"read": "Traffic", "policies": "Policies", "routes": "Policies", "riskiest": "Policies", "memory": "Server"}
	for _, one := range t.parts(longestName) {
		if title := headings[one.id]; title != "" && (len(p.Groups) == 0 || p.Groups[len(p.Groups)-1].Title != title) {
			p.Groups = append(p.Groups, tuningGroup{ID: "about-" + strings.ToLower(title), Title: title})
		}
		shown, err := t.pagePart(one)
		if err != nil {
			return err
		}
		g := &p.Groups[len(p.Groups)-1]
		g.Parts = append(g.Parts, shown)
	}
	return nil
}

func (t *Tuning) pagePart(one part) (tuningPart, error) {
	p := tuningPart{ID: one.id, Title: one.title, Doc: printable(one.doc), Facts: pageNotes(one.facts)}
	if one.heat != nil {
		p.Doc = fmt.Sprintf("What another limit or window costs with %s per %s.", printable(one.heat.algorithm), printable(one.heat.key))
		if one.heat.chosen != nil {
			p.Doc += " The recommended policy has a frame and a ▸."
		}
		p.Facts, p.Legend = nil, heatLegend()
		for _, k := range heatKinds {
			p.Heats = append(p.Heats, one.heat.grid(k))
		}
	} else {
		for _, s := range one.sheets {
			p.Grids = append(p.Grids, gridOf(s.caption, s.heads(), s.lines, s.left()))
		}
	}
	g := group{}
	g.add(t.picturesOf(one.id)...)
	if err := g.draw(); err != nil {
		return p, err
	}
	p.Figures = g.Figures
	return p, nil
}

func (h *heat) grid(k heatKind) heatGrid {
	g := heatGrid{ID: "heat-" + k.id, Caption: k.caption + ", by limit and window", Heads: []string{"limit"}}
	for _, w := range h.windowsUS {
		g.Heads = append(g.Heads, lasting(w))
	}
	for _, l := range h.limits {
		row := heatRow{Limit: thousands(l)}
		for _, w := range h.windowsUS {
			c := heatCell{Text: h.text(k, l, w), Taken: h.isChosen(l, w)}
			if level := h.level(k, l, w); level >= 0 {
				c.Class = "h" + strconv.Itoa(level)
			}
			if c.Taken {
				c.Class = strings.TrimSpace(c.Class + " taken")
			}
			row.Cells = append(row.Cells, c)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func heatLegend() []heatCell {
	var all []heatCell
	for i, l := range heatLevels {
		text := fmt.Sprintf("to %g%%", l)
		if i == 0 {
			text = "none"
		}
		all = append(all, heatCell{Text: text, Class: "h" + strconv.Itoa(i)})
	}
	return append(all, heatCell{Text: "more", Class: "h" + strconv.Itoa(len(heatLevels))})
}

// pageNotes are notes, those without a head as evidence of the one above.
func pageNotes(notes []note) []pageNote {
	var all []pageNote
	for _, n := range notes {
		switch {
		case n.text == "":
		case n.head == "" && len(all) > 0:
			all[len(all)-1].Evidence = append(all[len(all)-1].Evidence, printable(n.text))
		default:
			all = append(all, pageNote{Head: printable(n.head), Text: printable(n.text)})
		}
	}
	return all
}

// environment is where and when a tuning was made.
func (t *Tuning) environment() []grid {
	return []grid{gridOf("This analysis", []string{"what", "value"}, [][]string{
		{"started", t.Started.Format(time.RFC3339)},
		{"took", roundMicros(t.ElapsedUS)},
		{"schema", t.Schema},
		{"interrupted", strconv.FormatBool(t.Interrupted)},
	}, []bool{true, true}), machineGrid("Machine", t.Env)}
}
