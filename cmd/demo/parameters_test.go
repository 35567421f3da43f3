package demo

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBadInput(t *testing.T) {
	a := open(t, small(t))
	for _, row := range []struct{ why, target, fault string }{
		{"a negative page", "/api/v1/trending?page=-1", `page "-1": want 0 to 10000`},
		{"a page too far", "/api/v1/trending?page=10001", `page "10001"`},
		{"a page beyond any integer", "/api/v1/feed?page=99999999999999999999", `page "99999999999999999999"`},
		{"a page in words", "/api/v1/search?q=a&page=two", `page "two"`},
		{"a page of many digits is quoted in part", "/api/v1/feed?page=" + strings.Repeat("9", 5000), `9"...: want`},
		{"two pages", "/api/v1/trending?page=1&page=2", "page is given 2 times"},
		{"an unknown region", "/api/v1/trending?region=de", `region "de": want one of DE, FR`},
		{"a region in the feed", "/api/v1/feed?region=XX", `region "XX"`},
		{"nothing to search for", "/api/v1/search", "q is missing"},
		{"a blank", "/api/v1/search?q=+", "q is missing"},
		{"a text too long", "/api/v1/search?q=" + strings.Repeat("a", 65), "q has 65 characters: want at most 64"},
		{"a control character", "/api/v1/search?q=a%00b", "is not plain text"},
		{"no text at all", "/api/v1/search?q=%ff", "is not plain text"},
		{"a parameter of another endpoint", "/api/v1/trending?q=a", `unknown parameter "q"`},
		{"a region has no place in a search", "/api/v1/search?q=a&region=DE", `unknown parameter "region"`},
		{"an unknown parameter", "/api/v1/feed?sort=asc", `unknown parameter "sort"`},
		{"many parameters are counted", "/api/v1/feed?a&b&c&d&e&f&g&h", `unknown parameter "e"; 3 more unknown parameters`},
		{"a broken escape", "/api/v1/feed?page=%zz", "the query string is malformed"},
		{"a semicolon", "/api/v1/feed?page=1;region=DE", "the query string is malformed"},
		{"all mistakes at once", "/api/v1/feed?page=x&region=y&z=1", `page "x": want 0 to 10000; region "y": want one of DE, FR, ES, IT, PL, NL, SE, AT; unknown parameter "z"`},
	} {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, row.target, nil))
		p := refused(t, w.Result())
		if p.Status != http.StatusBadRequest || !strings.Contains(p.Detail, row.fault) {
			t.Errorf("%s: %+v, want 400 with %q", row.why, p, row.fault)
		}
		if len(p.Detail) > 500 {
			t.Errorf("%s: the answer repeats %d bytes", row.why, len(p.Detail))
		}
	}
}

func TestGoodInput(t *testing.T) {
	a := open(t, small(t))
	for _, row := range []struct {
		why, method, target string
		status              int
	}{
		{"the last page that may be asked for", http.MethodGet, "/api/v1/trending?page=10000", http.StatusOK},
		{"64 characters of several bytes", http.MethodGet, "/api/v1/search?q=" + strings.Repeat("%C3%A9", 64), http.StatusOK},
		{"an empty region is none", http.MethodGet, "/api/v1/trending?region=", http.StatusOK},
		{"HEAD", http.MethodHead, "/api/v1/feed", http.StatusOK},
		{"health", http.MethodGet, "/healthz", http.StatusOK},
		{"another method", http.MethodPost, "/api/v1/feed", http.StatusMethodNotAllowed},
		{"another path", http.MethodGet, "/api/v1/videos", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(row.method, row.target, nil))
		if w.Code != row.status {
			t.Errorf("%s: status %d, want %d: %s", row.why, w.Code, row.status, w.Body)
		}
	}
}

// FuzzRead: whatever is read without an error is within its bounds, and errors
// stay short.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "page=1", "page=1&region=DE&q=x", "region=%44E", "q=%ff", "page=-0", "q=a&q=b", ";", "%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, takes := range [][]parameter{{optionalRegion}, {feedRegion}, {searchText}} {
			a, err := read(query, takes)
			if err != nil {
				if len(err.Error()) > 1500 { // 8 quotes of up to 40 bytes, each up to \x00
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				continue
			}
			if a.page < 0 || a.page > MaxPage {
				t.Errorf("page %d", a.page)
			}
			if a.region != "" && !slices.Contains(Regions, a.region) {
				t.Errorf("region %q", a.region)
			}
			if takes[0].name == "q" && (a.q == "" || !utf8.ValidString(a.q) || utf8.RuneCountInString(a.q) > MaxQuery) {
				t.Errorf("q %q", a.q)
			}
		}
	})
}
