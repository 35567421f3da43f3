package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// longestName is how much of a name from a log is shown where there is room.
const longestName = 100

// renderTuningMarkdown writes GitHub-flavoured Markdown, in the order of the table.
func renderTuningMarkdown(w io.Writer, t *Tuning, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# rlbench tune: %s\n\n", t.Verdict)
	for _, r := range t.Reasons {
		fmt.Fprintf(&b, "- **%s**: %s\n", markdownText(r.Code), markdownText(r.Message))
		if r.Hint != "" {
			fmt.Fprintf(&b, "  - hint: %s\n", markdownText(r.Hint))
		}
	}
	if len(t.Reasons) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("## Recommendation\n\n")
	if t.Recommended == nil {
		fmt.Fprintf(&b, "%s\n\n", markdownText(t.nothingChosen()))
	} else {
		markdownFacts(&b, t.choiceFacts(t.Recommended))
	}
	fmt.Fprintf(&b, "%s\n\n", markdownText(t.askedText()))
	if err := t.choiceSheet().markdown(&b); err != nil {
		return err
	}
	markdownFacts(&b, t.otherFacts())
	for _, p := range t.parts(longestName) {
		if err := p.markdown(&b); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "%s\n", markdownText(t.summary()+"; "+machine(t.Env)+"; rlbench "+t.Env.Rlbench+"; "+t.Started.Format(time.RFC3339)))
	if len(t.Command) > 0 {
		fmt.Fprintf(&b, "\n%s\n", codeSpan(strings.Join(t.Command, " ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p part) markdown(b *strings.Builder) error {
	const wide = 80
	fmt.Fprintf(b, "## %s\n\n", markdownText(p.title))
	if p.doc != "" {
		fmt.Fprintf(b, "%s\n\n", markdownText(p.doc))
	}
	for _, s := range p.sheets {
		if len(p.sheets) > 1 {
			fmt.Fprintf(b, "%s\n\n", markdownText(s.caption))
		}
		if err := s.markdown(b); err != nil {
			return err
		}
	}
	if p.course != nil {
		if lines := p.course(wide); len(lines) > 0 {
			fmt.Fprintf(b, "```text\n%s\n```\n\n", strings.ReplaceAll(strings.Join(lines, "\n"), "`", "'"))
		}
	}
	markdownFacts(b, p.facts)
	return nil
}

func (s sheet) markdown(b *strings.Builder) error {
	if len(s.lines) == 0 {
		return nil
	}
	return markdownTable(b, s.heads(), s.lines, s.left())
}

func markdownFacts(b *strings.Builder, facts []note) {
	for _, f := range facts {
		switch {
		case f.text == "":
		case f.head == "": // evidence for the line above
			fmt.Fprintf(b, "  - %s\n", markdownText(f.text))
		default:
			fmt.Fprintf(b, "- **%s**: %s\n", markdownText(f.head), markdownText(f.text))
		}
	}
	if len(facts) > 0 {
		b.WriteString("\n")
	}
}
