package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/report/chart"
	"github.com/rlbench/rlbench/scenarios"
)

// pageSize is how long a page is at most, in bytes: what has no room is left out, and
// the page says so.
const pageSize = 1_000_000

var (
	//go:embed page.tmpl
	pageSource string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	//go:embed tuning.tmpl
	tuningSource string
	//go:embed tuning.css
	tuningStyle string

	pageTemplate = template.Must(template.Must(template.New("page").Parse(pageSource)).Parse(tuningSource))
)

// frame is what all pages have.
type frame struct {
	Title, Verdict, Summary string
	Reasons                 []scenarios.Reason
	Environment             []grid
	Command                 string
	Policy                  string // what the page may load: itself
	Style                   template.CSS
	Script                  template.JS
}

// framed is a frame with a style sheet, and the policy that allows it and the script.
func framed(title string, verdict scenarios.Verdict, reasons []scenarios.Reason, style string) frame {
	f := frame{Title: "rlbench" + printable(title), Verdict: string(verdict), Style: template.CSS(style), Script: template.JS(pageScript)}
	f.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" + hashOf(style) + "'; script-src '" + hashOf(pageScript) + "'"
	for _, reason := range reasons {
		f.Reasons = append(f.Reasons, scenarios.Reason{Code: printable(reason.Code), Message: printable(reason.Message), Hint: printable(reason.Hint)})
	}
	return f
}

// page is a report as a page shows it.
type page struct {
	frame
	Scenarios []entry
	Sections  []template.HTML
	Left      string // what was left out
}

// entry is a scenario in the list of them.
type entry struct {
	ID, Name, Verdict, Failed, Unsure string
	Shown                             bool
}

// renderHTML writes one page that needs nothing else: no network, no other file.
func renderHTML(w io.Writer, r *Report, _ Options) error {
	p := page{frame: framed(": "+title(r), r.Verdict, reasonsOnce(r), chart.Style+pageStyle)}
	p.Summary, p.Environment, p.Command = summary(r), environment(r), ShellCommand(r.Command)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		failed, unsure := notPassed(r, s)
		p.Scenarios = append(p.Scenarios, entry{
			ID: sectionID(i), Name: printable(s.Name), Verdict: string(s.Verdict),
			Failed: strings.Join(failed, ", "), Unsure: strings.Join(unsure, ", "),
		})
	}
	bare := p // at its longest: all scenarios with a link, and all that may be left out
	bare.Scenarios, bare.Left = slices.Clone(p.Scenarios), leftOut(make([]amount, len(r.Scenarios)))
	for i := range bare.Scenarios {
		bare.Scenarios[i].Shown = true
	}
	var empty bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&empty, "page", bare); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := p.fill(r, pageSize-empty.Len()); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&b, "page", p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// title names what a report is about.
func title(r *Report) string {
	switch len(r.Scenarios) {
	case 0:
		return string(r.Verdict)
	case 1:
		return r.Scenarios[0].Name + ", " + string(r.Verdict)
	}
	return fmt.Sprintf("%d scenarios, %s", len(r.Scenarios), r.Verdict)
}

// hashOf is what allows a page to hold a script or a style sheet.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func sectionID(i int) string { return fmt.Sprintf("s%d", i+1) }

// amount is how much of a scenario a page shows.
type amount int

// From least to all. What repeats the scenario gives way before pictures do.
const (
	nothing  amount = iota // but a line in the list of scenarios
	brief                  // verdicts, what it means, and checks that did not hold
	outlined               // and the results, and the burst envelope
	general                // and tables, checks, and pictures over all limiters
	single                 // and those of each limiter
	full                   // and every run in a line of its own
)

// fill adds what there is room for: each scenario briefly, then more and more of it;
// first those that failed, then those that are inconclusive, then the others.
func (p *page) fill(r *Report, room int) error {
	p.Sections = make([]template.HTML, len(r.Scenarios))
	shown := make([]amount, len(r.Scenarios))
	for _, verdict := range []scenarios.Verdict{scenarios.Fail, scenarios.Inconclusive, scenarios.Pass} {
		for a := brief; a <= full; a++ {
			for i := range r.Scenarios {
				if r.Scenarios[i].Verdict != verdict || shown[i] != a-1 {
					continue
				}
				text, err := sectionOf(r, i, a)
				if err != nil {
					return err
				}
				if grown := len(text) - len(p.Sections[i]); grown <= room {
					p.Sections[i], p.Scenarios[i].Shown, shown[i] = text, true, a
					room -= grown
				} else if a > brief {
					break // nor is there much room for others, and each is drawn to find out
				}
			}
		}
	}
	p.Left = leftOut(shown)
	return nil
}

// leftOut says what a page has no room for.
func leftOut(shown []amount) string {
	reduced := map[amount]int{}
	for _, least := range shown {
		for a := least + 1; a <= full; a++ {
			reduced[a]++
		}
	}
	var left []string
	for _, l := range []struct {
		amount
		what string
	}{
		{full, "single runs"},
		{single, "the pictures of single limiters"},
		{general, "costs, configuration and most pictures"},
		{outlined, "the results as a table and all pictures"},
		{brief, "all but the verdict"},
	} {
		if n := reduced[l.amount]; n > 0 {
			left = append(left, l.what+" of "+counted(int64(n), "scenario"))
		}
	}
	return strings.Join(left, ", ")
}

// ShellCommand is a command as a shell takes it.
func ShellCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = printable(word)
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+") != "" {
			quoted[i] = "'" + strings.ReplaceAll(printable(word), "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
