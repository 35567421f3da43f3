package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/rlbench/rlbench/scenarios"
)

// renderTuningTable writes doubts, what is recommended, what that follows from, and what its
// figures are worth.
func renderTuningTable(w io.Writer, t *Tuning, o Options) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	var b strings.Builder
	doubts := t.Doubts()
	writeReasons(&b, doubts, o.Width)
	if err := t.writeChoices(&b, o.Width); err != nil {
		return err
	}
	for _, p := range t.parts(max(14, min(o.Width/3, 60))) {
		if !o.Verbose && !slices.Contains(shortParts, p.id) {
			continue
		}
		if err := p.write(&b, o.Width); err != nil {
			return err
		}
	}
	if !o.Verbose && t.Log.Requests > 0 {
		writeFolded(&b, "more: ", "-v has other limits and algorithms, routes, the riskiest window and memory; -o html=FILE has pictures of all that.", o.Width)
	}
	if !o.Verbose && t.Log.Requests > 0 {
		b.WriteString("\n")
	}
	writeReasons(&b, slices.DeleteFunc(slices.Clone(t.Reasons), func(r scenarios.Reason) bool { return slices.Contains(doubts, r) }), o.Width)
	word := strings.ToUpper(string(t.Verdict))
	var last strings.Builder
	writeFolded(&last, word+"  ", t.summary(), o.Width)
	b.WriteString(paint(t.Verdict, word, o.Color) + strings.TrimPrefix(last.String(), word))
	_, err := io.WriteString(w, b.String())
	return err
}

func writeReasons(b *strings.Builder, reasons []scenarios.Reason, width int) {
	for _, r := range reasons {
		writeFolded(b, printable(r.Code)+": ", r.Message, width)
		if r.Hint != "" {
			writeFolded(b, "  hint: ", r.Hint, width)
		}
	}
	if len(reasons) > 0 {
		b.WriteString("\n")
	}
}

// shortParts are those that a table has in any case.
var shortParts = []string{"read", "demand", "sensitivity"}

// summary is what was decided about what, and how long that took.
func (t *Tuning) summary() string {
	text := "nothing recommended"
	if t.Recommended != nil {
		text = t.Recommended.Policy.name()
	}
	text += fmt.Sprintf("; %s, %s", thousandsOf(t.Log.Requests, "request"), roundMicros(t.ElapsedUS))
	if t.Interrupted {
		text += ", interrupted"
	}
	return text
}

func (t *Tuning) writeChoices(b *strings.Builder, width int) error {
	if t.Recommended == nil {
		writeFolded(b, "", t.nothingChosen(), width)
	} else {
		writeFacts(b, t.choiceFacts(t.Recommended), width)
	}
	writeFolded(b, "", t.askedText(), width)
	b.WriteString("\n")
	if s := t.choiceSheet(); len(s.lines) > 1 || t.Recommended == nil && len(s.lines) > 0 {
		writeFolded(b, "", s.caption, width)
		if err := s.write(b, width); err != nil {
			return err
		}
	}
	if others := t.otherFacts(); len(others) > 0 {
		writeFacts(b, others, width)
		b.WriteString("\n")
	}
	return nil
}

func (p part) write(b *strings.Builder, width int) error {
	writeFolded(b, "", strings.ToUpper(p.title), width)
	if p.doc != "" {
		writeFolded(b, "", p.doc, width)
	}
	for _, s := range p.sheets {
		if len(p.sheets) > 1 {
			writeFolded(b, "", s.caption, width)
		}
		if err := s.write(b, width); err != nil {
			return err
		}
	}
	if p.course != nil {
		if lines := p.course(width); len(lines) > 0 {
			writeFolded(b, "", lines[0], width)
			b.WriteString(strings.Join(lines[1:], "\n") + "\n\n")
		}
	}
	if len(p.facts) > 0 {
		writeFacts(b, p.facts, width)
		b.WriteString("\n")
	}
	return nil
}

func (s sheet) write(b *strings.Builder, width int) error {
	s = s.fitting(width)
	if err := writeTable(b, s.heads(), s.lines, s.left()); err != nil {
		return err
	}
	b.WriteString("\n")
	return nil
}

// writeFacts writes sentences behind heads that are equally wide.
func writeFacts(b *strings.Builder, facts []note, width int) {
	const narrow = 60 // where heads leave too little room beside them
	widest := 0
	for _, f := range facts {
		widest = max(widest, twwidth.Width(f.head))
	}
	for _, f := range facts {
		switch {
		case f.text == "":
		case width < narrow && f.head != "":
			writeFolded(b, "", f.head+": "+f.text, width)
		case width < narrow:
			writeFolded(b, "  ", f.text, width)
		default:
			writeFolded(b, f.head+strings.Repeat(" ", widest-twwidth.Width(f.head))+gap, f.text, width)
		}
	}
}

// writeFolded writes text behind a head as writeWrapped does, and counts characters by
// how wide they are. Only a word that is wider than a line is not kept whole: nobody can
// copy it from several lines either, but everything below it stays in its place.
func writeFolded(b *strings.Builder, head, text string, width int) {
	indent := twwidth.Width(head)
	room := max(width-indent, 8)
	var folded []string
	for _, word := range strings.Fields(printable(text)) {
		if twwidth.Width(word) <= room {
			folded = append(folded, word)
			continue
		}
		piece := ""
		for _, r := range word {
			if twwidth.Width(piece+string(r)) > room {
				folded, piece = append(folded, piece), ""
			}
			piece += string(r)
		}
		folded = append(folded, piece)
	}
	line := head
	for i, word := range folded {
		if i > 0 && twwidth.Width(line)+1+twwidth.Width(word) > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", indent)
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
