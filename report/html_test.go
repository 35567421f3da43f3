package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rlbench/rlbench/report"
)

// pages are all fixtures as pages.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range append(fixtures(t), hostile(t)...) {
		all[c.name] = string(render(t, "html", c.report, report.Options{}))
	}
	return all
}

// A page loads nothing, and no text of a report becomes an element or a script of it.
func TestPagesNeedNothingElse(t *testing.T) {
	t.Parallel()
	known := strings.Fields(`html head meta title style body a header h1 h2 h3 h4 p span b pre code nav div table caption thead tbody tr th td ul li dl dt dd
		main section details summary figure figcaption svg path rect text script`)
	for name, page := range pages(t) {
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		ids, scripts := map[string]bool{}, 0
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+n.Data+" ") {
				t.Errorf("%s: an element %s", name, n.Data)
			}
			if n.Data == "script" {
				scripts++
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "src" || a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
					t.Errorf("%s: <%s %s=%q>", name, n.Data, a.Key, a.Val)
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("%s: two elements with the id %s", name, a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				}
			}
		}
		if scripts != 1 {
			t.Errorf("%s: %d scripts, want its own", name, scripts)
		}
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if a.Key != "aria-labelledby" && a.Key != "aria-describedby" {
					continue
				}
				for _, id := range strings.Fields(a.Val) {
					if !ids[id] {
						t.Errorf("%s: %s is labelled by %s, which is nowhere", name, n.Data, id)
					}
				}
			}
		}
	}
}

// A page of any number of scenarios fits, shows what failed, and says what it left out.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	failed, passed := fixtureNamed(t, "overshoot"), fixtureNamed(t, "boundary-burst")
	for copies, pictures := range map[int]int{1: 1, 60: 40, 700: 1} {
		r := copiesOf(passed, copies, func(i int) *report.Report {
			if i == copies-1 {
				return failed
			}
			return passed
		})
		page := string(render(t, "html", r, report.Options{}))
		if len(page) >= 1_000_000 {
			t.Errorf("%d scenarios: %d bytes", copies, len(page))
		}
		last := page[strings.LastIndex(page, fmt.Sprintf(`<section id="s%d"`, copies)):]
		if !strings.Contains(last, "-envelope-title") || !strings.Contains(last, "-decisions0-title") {
			t.Errorf("%d scenarios: the one that failed has no pictures", copies)
		}
		if n := strings.Count(page, `-envelope-title">`); n < pictures {
			t.Errorf("%d scenarios, %d pictures", copies, n)
		}
		if left := strings.Contains(page, "<b>left out</b>"); left != (copies > 1) {
			t.Errorf("%d scenarios: says that something was left out: %t", copies, left)
		}
	}
}

// What is drawn is in the document: every count of it is in the table behind a picture.
func TestPagesHaveTheNumbers(t *testing.T) {
	t.Parallel()
	page := pages(t)["boundary-burst"]
	_, figure, _ := strings.Cut(page, `id="s1-envelope-title"`)
	figure, _, _ = strings.Cut(figure, "</figure>")
	for _, want := range []string{
		`<th scope="col">fixed</th><th scope="col">log</th>`,
		`<th scope="row">2s</th><td>200</td><td>100</td><td>100</td><td>102</td>`,
		`<th scope="row">1m</th><td>200</td><td>100</td><td>100</td><td>102</td>`,
		`<td>103</td><td>100</td></tr>`,
	} {
		if !strings.Contains(figure, want) {
			t.Errorf("the envelope has no %s:\n%s", want, figure)
		}
	}
}

// Pictures are XML, whatever limiters are called, and are of limits that are known.
func TestPicturesAreXML(t *testing.T) {
	drawn := regexp.MustCompile(`<path class="line`)
	for _, c := range append(fixtures(t), hostile(t)...) {
		text := string(render(t, "svg", c.report, report.Options{}))
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: not a number", c.name)
		}
		sent := false
		for _, row := range c.report.Rows {
			sent = sent || len(row.Timeline) > 0
		}
		if sent != drawn.MatchString(text) {
			t.Errorf("%s: sent %t, lines %t", c.name, sent, drawn.MatchString(text))
		}
	}
}
