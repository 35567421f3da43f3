package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAuditorFindsWhatIsWrong: one fault after another in a page that is sound without.
func TestAuditorFindsWhatIsWrong(t *testing.T) {
	browser := started(t)
	const sound = `<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>A page</title></head>
<body style="background: #fff; color: #333"><main><h1>A page</h1><h2>A part</h2>
<table><caption>Counts</caption><tr><th scope="col">n</th></tr><tr><td>1</td></tr></table>
<div role="group" tabindex="0" aria-label="Scrolls">all of it</div>
<svg role="img" aria-label="A picture" class="chart" width="100" height="50"><rect width="100" height="50" fill="#eee"/>
<path class="line" d="M0 0L50 50" fill="none" stroke="#00f"/><text x="9" y="30" fill="#333">ten</text></svg></main></body></html>`
	page := filepath.Join(t.TempDir(), "page.html")
	v := open(t, browser, os.DevNull, look{width: 500, height: 400, scheme: "light"})
	for _, c := range []struct{ rule, from, to string }{
		{"", "", ""},
		{"text-contrast", "color: #333", "color: #888"},
		{"text-contrast", "color: #333", "color: rgb(0 0 0 / 40%)"},
		{"text-contrast", `fill="#333"`, `fill="#888"`},
		{"text-contrast", `fill="#eee"`, `fill="#555"`},
		{"line-contrast", `stroke="#00f"`, `stroke="#ccc"`},
		{"name", ` aria-label="Scrolls"`, ""},
		{"name", ` aria-label="A picture"`, ""},
		{"language", ` lang="en"`, ""},
		{"title", "<title>A page</title>", ""},
		{"one-main", "<main>", "<div>"},
		{"one-h1", "<h1>A page</h1>", ""},
		{"heading-order", "<h2>A part</h2>", "<h3>A part</h3>"},
		{"table-caption", "<caption>Counts</caption>", ""},
		{"table-heads", ` scope="col"`, ""},
		{"tab-order", `tabindex="0"`, `tabindex="2"`},
		{"unique-id", "<h1>", `<h1 id="a">A</h1><h1 id="a">`},
		{"reference", "<h2>", `<a href="#none">To nothing</a><h2>`},
		{"reference", "<h2>", `<h2 aria-describedby="none">`},
		{"reflow", "<h2>", `<h2 style="width: 2000px">`},
	} {
		if err := os.WriteFile(page, []byte(strings.Replace(sound, c.from, c.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		v.do(chromedp.Navigate("file://" + page))
		wrong := slices.Concat(audit(v), nameless(v))
		found := slices.ContainsFunc(wrong, func(s string) bool { return strings.HasPrefix(s, c.rule+":") })
		if c.rule != "" && !found || c.rule == "" && len(wrong) > 0 {
			t.Errorf("%q for %q: want %q, found %q", c.to, c.from, c.rule, wrong)
		}
	}
}
