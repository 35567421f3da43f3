package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// looks are the ways in which a page is read.
var looks = []look{
	{1280, 900, "light", "screen"},
	{1280, 900, "dark", "screen"},
	{360, 740, "light", "screen"},
	{360, 740, "dark", "screen"},
	{794, 1123, "dark", "print"},
}

// TestPages: whatever was measured, and whatever things are called, a page is drawn,
// asks for nothing, says nothing, and can be read by everybody.
func TestPages(t *testing.T) {
	browser := started(t)
	for name, page := range map[string]string{
		"boundary-burst": written(t, "run", "boundary-burst", "--redis", "embedded"),
		"outage":         written(t, "run", "redis-outage-open", "-a", "log,counter", "--redis", "managed"),
		"many":           written(t, "run", "steady", "cron", "counter-worst", "-a", "all", "--redis", "embedded"),
		"runs":           written(t, "run", "same-microsecond", "--runs", "3", "-a", "fixed,log", "--redis", "embedded"),
		"odd":            odd(t),
		"tuning":         kept(t, "tuning.html"),
	} {
		t.Run(name, func(t *testing.T) {
			for i, l := range looks {
				if i%3 != 0 && name != "boundary-burst" && name != "odd" && name != "tuning" {
					continue // a style sheet is the same for all: one wide and light, one narrow and dark
				}
				t.Run(fmt.Sprintf("%s-%d-%s", l.media, l.width, l.scheme), func(t *testing.T) {
					t.Parallel()
					v := open(t, browser, page, l)
					value[int](v, `[...document.querySelectorAll("details")].map((d) => (d.open = true)).length`)
					for _, wrong := range audit(v) {
						t.Error(wrong)
					}
					if i == 0 {
						for _, wrong := range nameless(v) {
							t.Error(wrong)
						}
					}
					drawn(v)
					v.heard(page)
				})
			}
		})
	}
}

// kept is a page that the tests of reports compare with: what it takes a log to make.
func kept(t *testing.T, name string) string {
	t.Helper()
	page, err := filepath.Abs(filepath.Join("..", "golden", "report", name))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// odd is a page whose limiter, scenario and key have names that mean something to a browser.
func odd(t *testing.T) string {
	t.Helper()
	raw, err := exec.Command(program, "run", "boundary-burst", "-a", "log,counter", "--redis", "embedded", "-q", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer(
		`"log"`, `"<script>document.title='taken'</script>|\u001b[31m\n漢字"`,
		`"boundary-burst"`, `"\"><img src=x onerror=alert(1)><svg onload=alert(2)>`+strings.Repeat("長", 200)+`"`,
	)
	result := filepath.Join(t.TempDir(), "odd.json")
	if err := os.WriteFile(result, []byte(names.Replace(string(raw))), 0o600); err != nil {
		t.Fatal(err)
	}
	return written(t, "report", result)
}

// drawn: every picture has a size, lines that are not all at one place, and no text
// that is cut off by its edge.
func drawn(v *visit) {
	v.t.Helper()
	pictures := value[int](v, `document.querySelectorAll(".plot svg").length`)
	if pictures == 0 {
		v.t.Error("no picture")
	}
	for _, wrong := range value[[]string](v, `[...document.querySelectorAll(".plot svg")].flatMap((svg) => {
		const all = svg.getBoundingClientRect();
		const title = svg.closest("figure").querySelector("h4").textContent;
		if (all.width < 300 || all.height < 100) return [title + ": " + all.width + " by " + all.height];
		const marks = [...svg.querySelectorAll("path.line:not(.ref), path.bar")].filter((m) => m.getBoundingClientRect().width > 0 || m.getBoundingClientRect().height > 0);
		const out = [...svg.querySelectorAll("text")].filter((text) => {
			const box = text.getBoundingClientRect();
			return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1;
		});
		return (marks.length ? [] : [title + ": nothing is drawn"]).concat(out.map((text) => title + ": cut off: " + text.textContent + " " + JSON.stringify(text.getBoundingClientRect()) + " of " + JSON.stringify(all)));
	})`) {
		v.t.Error(wrong)
	}
}

// TestPointerAndKeys: both read the numbers that are in the table behind a picture.
func TestPointerAndKeys(t *testing.T) {
	browser := started(t)
	page := written(t, "run", "boundary-burst", "--redis", "embedded")
	v := open(t, browser, page, looks[0])
	at := value[struct{ X, Y float64 }](v, `(() => {
		const plot = document.querySelector(".plot");
		plot.scrollIntoView();
		const box = plot.getBoundingClientRect();
		return { x: box.left + box.width / 3, y: box.top + box.height / 2 };
	})()`)
	v.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X, at.Y))
	row := value[string](v, `document.querySelector(".plot").closest("figure").querySelector("tbody th").textContent`)
	tip := value[string](v, `document.querySelector(".tip")?.innerText ?? ""`)
	if !strings.Contains(tip, "fixed: ") || !strings.Contains(tip, "log: ") {
		t.Errorf("the pointer reads %q", tip)
	}
	v.do(chromedp.Focus(".plot"), chromedp.KeyEvent(kb.Home))
	reading := func() string { return value[string](v, `document.getElementById("reading").textContent`) }
	first := reading()
	if !strings.Contains(first, row) || !strings.Contains(first, "counter ") {
		t.Errorf("Home reads %q, the table begins with %q", first, row)
	}
	v.do(chromedp.KeyEvent(kb.ArrowRight))
	if second := reading(); second == first || second == "" {
		t.Errorf("the right arrow reads %q", second)
	}
	v.do(chromedp.KeyEvent(kb.ArrowLeft))
	if again := reading(); again != first {
		t.Errorf("back at the left: %q, was %q", again, first)
	}
	v.do(chromedp.KeyEvent(kb.Escape))
	if value[bool](v, `document.querySelector(".tip") !== null`) {
		t.Error("Escape leaves the values on the page")
	}
	everyStop(v)
	v.heard(page)
}

// everyStop: Tab comes to each place that can be focused, in the order of the page.
func everyStop(v *visit) {
	v.t.Helper()
	value[bool](v, `document.activeElement.blur(), document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute("tabindex"), scrollTo(0, 0), true`)
	const stops = `[...document.querySelectorAll('a[href], summary, [tabindex="0"]')].filter((e) => e.checkVisibility())`
	want := value[int](v, stops+".length")
	for i := range want {
		v.do(chromedp.KeyEvent(kb.Tab))
		if at := value[int](v, stops+".indexOf(document.activeElement)"); at != i {
			v.t.Fatalf("Tab %d of %d comes to place %d", i+1, want, at)
		}
	}
}

// TestPrinted: a page fits on paper.
func TestPrinted(t *testing.T) {
	browser := started(t)
	v := open(t, browser, written(t, "run", "boundary-burst", "--redis", "embedded"), looks[0])
	pdf, err := chromedp.Run(v, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if pages := strings.Count(string(pdf), "/Type /Page\n"); !strings.HasPrefix(string(pdf), "%PDF-") || pages < 2 || pages > 20 {
		t.Errorf("%d bytes, %d pages", len(pdf), pages)
	}
}
