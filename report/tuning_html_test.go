package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
)

// A page of a tuning loads nothing, no text of a log becomes an element of it, every id
// is there once, and every reference leads somewhere.
func TestTuningPagesNeedNothingElse(t *testing.T) {
	known := " html head meta title style body a header h1 h2 h3 h4 p span b pre code nav div table caption thead tbody tr th td ul li dl dt dd main section details summary figure figcaption svg path rect text script "
	all := tunings(t)
	for name, d := range hostileTunings(t) {
		all[name] = d
	}
	for name, d := range all {
		doc, err := html.Parse(strings.NewReader(string(renderTuning(t, "html", d, report.Options{}))))
		if err != nil {
			t.Fatal(err)
		}
		ids, to := map[string]bool{}, []string{}
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && !strings.Contains(known, " "+n.Data+" ") {
				t.Errorf("%s: an element %s", name, n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "src" || a.Key == "style" || strings.HasPrefix(a.Key, "on"):
					t.Errorf("%s: <%s %s=%q>", name, n.Data, a.Key, a.Val)
				case a.Key == "href":
					to = append(to, strings.TrimPrefix(a.Val, "#"))
				case a.Key == "aria-labelledby" || a.Key == "aria-describedby":
					to = append(to, strings.Fields(a.Val)...)
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("%s: two elements with the id %s", name, a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				}
			}
		}
		for _, id := range to {
			if !ids[id] {
				t.Errorf("%s: nothing is %q", name, id)
			}
		}
	}
}

// What is drawn is in the document: its numbers are in the tables behind pictures, and the
// chosen cell is marked by more than a colour.
func TestTuningPageHasTheNumbers(t *testing.T) {
	page := string(renderTuning(t, "html", tuned(usualTuning), report.Options{}))
	for id, wants := range map[string][]string{
		`id="demand-curve-title"`:    {`<th scope="row">3,507</th><td>100%</td><td>100%</td><td>99.00%</td>`},
		`id="untouched-title"`:       {`<th scope="col">fixed</th><th scope="col">log</th><th scope="col">counter</th>`, `<th scope="row">200</th><td>99.15%</td><td>99.12%</td><td>99.10%</td>`},
		`id="refused-title"`:         {`<th scope="row">200</th><td>12.6%</td><td>12.6%</td><td>12.6%</td>`, `<th scope="row">20</th><td>29.9%</td><td>29.9%</td><td>30.0%</td>`},
		`id="riskiest-window-title"`: {`<th scope="row">02:00:00</th><td>2</td><td>2</td><td>2</td><td>200</td>`, "peak 259"},
		`id="memory-entries-title"`:  {`<th scope="row">129</th><td>120</td><td>19,160</td><td>200</td>`},
	} {
		_, figure, ok := strings.Cut(page, id)
		figure, _, _ = strings.Cut(figure, "</figure>")
		for _, want := range wants {
			if !strings.Contains(figure, want) {
				t.Errorf("%s, there %t, has no %s:\n%s", id, ok, want, figure)
			}
		}
	}
	for id, want := range map[string]string{
		"heat-touched": `<td class="h2 taken"><span class="unseen">recommended: </span>▸ 0.90%</td>`,
		"heat-refused": `<td class="h4 taken"><span class="unseen">recommended: </span>▸ 12.6%</td>`,
	} {
		_, table, _ := strings.Cut(page, `id="`+id+`"`)
		table, _, _ = strings.Cut(table, "</table>")
		if !strings.Contains(table, want) || strings.Count(table, "taken") != 1 || strings.Count(table, "<tr>") != 13 {
			t.Errorf("%s has no %s:\n%s", id, want, table)
		}
	}
}

// A page keeps to its megabyte; if pictures have to go it says so.
func TestTuningPagesFit(t *testing.T) {
	t.Parallel()
	large := tuningSize{
		algorithms: limiter.Names(), keys: []string{"ip", "ip+route", "prefix"}, windows: []time.Duration{time.Second, time.Minute, time.Hour},
	}
	for i := range int64(64) {
		large.limits = append(large.limits, 10+7*i)
	}
	for name, c := range map[string]struct {
		change func(*report.Tuning)
		left   bool
	}{
		"large":      {func(*report.Tuning) {}, false},
		"far larger": {longCourses, true},
	} {
		d := tuned(large)
		c.change(d)
		page := string(renderTuning(t, "html", d, report.Options{}))
		if len(page) >= 1_000_000 || strings.Contains(page, "<b>left out</b>") != c.left {
			t.Errorf("%s: %d bytes, says that something is left out: %t", name, len(page), !c.left)
		}
		for _, want := range []string{`id="demand-curve-title"`, `id="memory-entries-title"`, `id="heat-touched"`, "</html>"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
	}
}

// longCourses has so many bins that their tables are too long for a page.
func longCourses(d *report.Tuning) {
	r := d.Riskiest
	r.Wanted = nil
	for range 45 {
		r.Courses = append(r.Courses, r.Courses[0])
	}
	for k := range r.Courses {
		c := &r.Courses[k]
		c.Admitted, c.InWindow, c.Algorithm = nil, nil, fmt.Sprint(c.Algorithm, k)
	}
	for i := range 1500 {
		r.Wanted = append(r.Wanted, int64(i%97))
		for k := range r.Courses {
			c := &r.Courses[k]
			c.Admitted, c.InWindow = append(c.Admitted, int64(i*(k+1)%89)), append(c.InWindow, int64(i*(k+3)%1013))
		}
	}
}
