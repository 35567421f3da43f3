package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// endings are what files of a format are called.
var endings = map[string]string{
	"json": "json", "jsonl": "jsonl", "csv": "csv", "markdown": "md", "junit": "xml", "github": "github.txt",
	"benchmark-action": "benchmark.json", "prometheus": "prom", "html": "html", "svg": "svg",
}

// Every format has a golden of one run in virtual time.
func TestFormatGoldens(t *testing.T) {
	for _, f := range report.Formats {
		if f.Name == "table" { // at two widths: TestTableGolden
			continue
		}
		for _, name := range []string{"boundary-burst", "overshoot", "outage-closed"} {
			if f.Name == "html" && name != "boundary-burst" { // a large file
				continue
			}
			t.Run(f.Name+"/"+name, func(t *testing.T) {
				if endings[f.Name] == "" {
					t.Fatal("no golden")
				}
				golden(t, name+"."+endings[f.Name], render(t, f.Name, fixtureNamed(t, name), report.Options{}))
			})
		}
	}
}

// Whatever a report says, no format has an escape byte or broken UTF-8 in it, all end
// with a newline, and all say how it went.
func TestFormatsCope(t *testing.T) {
	t.Parallel()
	for _, f := range report.Formats {
		for _, c := range append(fixtures(t), hostile(t)...) {
			t.Run(f.Name+"/"+c.name, func(t *testing.T) {
				text := string(render(t, f.Name, c.report, report.Options{}))
				if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 }) {
					t.Error("a control character")
				}
				if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
					t.Errorf("valid UTF-8 %t, ends with %q", utf8.ValidString(text), text[max(0, len(text)-5):])
				}
				told := strings.Contains(strings.ToLower(text), string(c.report.Verdict))
				if nothing := f.Name == "csv" || f.Name == "benchmark-action" || f.Name == "prometheus" || f.Name == "junit" || f.Name == "svg"; !told && !nothing {
					t.Errorf("the verdict %s is not in it:\n%s", c.report.Verdict, text)
				}
			})
		}
	}
}

// names that every format has a reason to trip over.
var oddNames = []string{
	"a|b\nc\r\nd", "\x1b[31mred\x1b[0m", "<script>alert(1)</script>", "日本語 👍🏽", strings.Repeat("ten kB ", 1500),
	"`code` *bold* _it_ [link](http://x) @everyone #1 ~~no~~", "%0A::error::injected", "::error::injected", `"quoted", 'too' \ & co`, "\xff\xfe", "\u202eright to left", "=1+1",
}

// madeHostile are those of hostile, once they are made.
var madeHostile []fixture

// hostile are reports whose every text is odd.
func hostile(t *testing.T) []fixture {
	t.Helper()
	if madeHostile == nil {
		madeHostile = makeHostile(t)
	}
	return madeHostile
}

func makeHostile(t *testing.T) []fixture {
	t.Helper()
	var all []fixture
	for i, odd := range oddNames {
		r := clone(t, fixtureNamed(t, "overshoot"))
		for j := range r.Scenarios {
			r.Scenarios[j].Name, r.Scenarios[j].Description = odd, odd
		}
		for j := range r.Rows {
			r.Rows[j].Scenario, r.Rows[j].Limiter = odd, odd+r.Rows[j].Limiter
			if r.Rows[j].Phase != "" {
				r.Rows[j].Phase = odd
			}
		}
		for j := range r.Findings {
			f := &r.Findings[j]
			f.Scenario, f.Limiter, f.Check, f.Message, f.Evidence = odd, odd+f.Limiter, odd, odd, []string{odd, odd}
		}
		r.Reasons = []scenarios.Reason{{Code: odd, Message: odd, Hint: odd}}
		r.Command, r.Env.CPU, r.Env.Redis.Version = []string{odd, odd}, odd, odd
		all = append(all, fixture{fmt.Sprint("odd-", i), r})
	}
	return all
}

func clone(t *testing.T, r *report.Report) *report.Report {
	t.Helper()
	copied, err := report.Decode(render(t, "json", r, report.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// A table of Markdown has as many cells in each line as in its head, whatever is in
// them, and nothing in it becomes markup.
func TestMarkdownTables(t *testing.T) {
	for _, c := range append(fixtures(t), hostile(t)...) {
		text := string(render(t, "markdown", c.report, report.Options{}))
		want, tables := 0, 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				want = 0
				continue
			}
			cells := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
			if want == 0 {
				want = cells
				tables++
			}
			if cells != want {
				t.Errorf("%s: %d bars in a table with %d: %s", c.name, cells, want, line)
			}
		}
		if tables == 0 && len(c.report.Scenarios) > 0 {
			t.Errorf("%s: no table", c.name)
		}
		if bare := strings.NewReplacer("<details><summary>By phase</summary>", "", "</details>", "").Replace(withoutCode(text)); strings.ContainsAny(bare, "<>@") {
			t.Errorf("%s: markup or a mention:\n%s", c.name, bare)
		}
	}
}

// withoutCode is Markdown without its last line, the command, in which nothing is markup.
func withoutCode(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:len(lines)-1], "\n")
}

// CSV is what a standard reader reads: a record for each row, each with all columns.
func TestCSVParses(t *testing.T) {
	for _, c := range append(fixtures(t), hostile(t)...) {
		records, err := csv.NewReader(bytes.NewReader(render(t, "csv", c.report, report.Options{}))).ReadAll()
		if err != nil || len(records) != 1+len(c.report.Rows) {
			t.Errorf("%s: %d records and error %v, want %d", c.name, len(records), err, 1+len(c.report.Rows))
			continue
		}
		column := func(name string) int {
			i := slices.Index(records[0], name)
			if i < 0 {
				t.Fatalf("no column %s", name)
			}
			return i
		}
		for i, row := range c.report.Rows {
			record, verdict := records[1+i], string(row.Verdict)
			if verdict == "pass" && row.Phase != "" && !slices.ContainsFunc(c.report.Findings, func(f report.Finding) bool {
				return f.Scenario == row.Scenario && f.Limiter == row.Limiter && f.Control == row.Control && f.Phase == row.Phase
			}) {
				verdict = "" // nothing looked at the phase by itself
			}
			admitted := strconv.FormatInt(row.Admitted, 10)
			if row.Planned == row.Missed { // nothing was sent
				admitted = ""
			}
			if record[column("admitted")] != admitted || record[column("verdict")] != verdict || record[column("run")] != strconv.Itoa(row.Run) {
				t.Errorf("%s: row %d is %q", c.name, i, record)
			}
			p50 := ""
			if row.ServiceUS.Denied != nil {
				p50 = strconv.FormatInt(*row.ServiceUS.Denied.P50, 10)
			}
			if got := record[column("service_us_denied_p50")]; got != p50 {
				t.Errorf("%s: row %d has a p50 of %q, want %q", c.name, i, got, p50)
			}
		}
	}
}

// Every figure of a row that a program may want is a metric: a number that is added to
// the document has to be added here.
func TestMetricsAreComplete(t *testing.T) {
	head, _, _ := strings.Cut(string(render(t, "csv", fixtureNamed(t, "no-cases"), report.Options{})), "\r\n")
	columns := strings.Split(head, ",")
	var walk func(prefix string, value any)
	other := map[string]string{
		"run": "run", "wrong_admissions": "wrong_admissions", "wrong_denials": "wrong_denials", "peak_in_short_admitted": "peak_in_short",
		"by_policy_open": "failed_open", "by_policy_closed": "failed_closed", "by_policy_local": "decided_locally",
		"capacity_per_second": "capacity_per_second",
	}
	left := []string{"peak_in_short_span_us", "landed_us_", "capacity_p50_us", "capacity_p99_us", "capacity_overload", "_clamped", "_hdr"}
	walk = func(prefix string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(strings.TrimPrefix(prefix+"_"+key, "_"), inner)
			}
		case float64, bool:
			if name := other[prefix]; name != "" {
				prefix = name
			}
			if !slices.Contains(columns, prefix) && !slices.ContainsFunc(left, func(s string) bool { return strings.Contains(prefix, s) }) {
				t.Errorf("%s of a row is no column", prefix)
			}
		}
	}
	for _, c := range fixtures(t) {
		for _, row := range c.report.Rows {
			var fields map[string]any
			if err := remarshal(row, &fields); err != nil {
				t.Fatal(err)
			}
			walk("", fields)
		}
	}
}

func remarshal(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// Annotations are as many as GitHub shows, and no text of a report becomes a command.
func TestGitHubAnnotations(t *testing.T) {
	for _, c := range append(fixtures(t), hostile(t)...) {
		counts := map[string]int{}
		for line := range strings.Lines(string(render(t, "github", c.report, report.Options{}))) {
			level, rest, ok := strings.Cut(strings.TrimPrefix(line, "::"), " ")
			if !strings.HasPrefix(line, "::") || !ok || !strings.HasPrefix(rest, "title=") || !slices.Contains([]string{"error", "warning", "notice"}, level) {
				t.Errorf("%s: not a command of ours: %s", c.name, line)
			}
			title, _, _ := strings.Cut(strings.TrimPrefix(rest, "title="), "::")
			if strings.ContainsAny(title, ":,") {
				t.Errorf("%s: a title of %q", c.name, title)
			}
			counts[level]++
		}
		if counts["error"] > 10 || counts["warning"] > 10 || counts["notice"] != 1 {
			t.Errorf("%s: %v", c.name, counts)
		}
		if failed := strings.Contains(report.GitHubOutputs(c.report, 1), "failed=0"); failed == (counts["error"] > 0) {
			t.Errorf("%s: %d errors, and outputs %s", c.name, counts["error"], report.GitHubOutputs(c.report, 1))
		}
	}
}

// copiesOf is a report of many scenarios, each as in the report that is picked for it.
func copiesOf(head *report.Report, copies int, pick func(int) *report.Report) *report.Report {
	r := *head
	r.Scenarios, r.Rows, r.Findings = nil, nil, nil
	for i := range copies {
		source, name := pick(i), fmt.Sprint("scenario-", i)
		for _, s := range source.Scenarios {
			s.Name = name
			r.Scenarios = append(r.Scenarios, s)
		}
		for _, row := range source.Rows {
			row.Scenario = name
			r.Rows = append(r.Rows, row)
		}
		for _, f := range source.Findings {
			f.Scenario = name
			r.Findings = append(r.Findings, f)
		}
	}
	return &r
}

// A summary fits, and what it leaves out is never what failed.
func TestGitHubSummaryFits(t *testing.T) {
	t.Parallel()
	small := fixtureNamed(t, "overshoot")
	if text, err := report.GitHubSummary(small, nil); err != nil || text != string(render(t, "markdown", small, report.Options{})) {
		t.Errorf("a small report is not in the summary as a whole: error %v", err)
	}
	passed := fixtureNamed(t, "boundary-burst")
	for _, copies := range []int{30, 60, 300} {
		r := copiesOf(small, copies, func(i int) *report.Report {
			if i == copies/2 || copies == 300 { // of which not even the failures fit
				return small
			}
			return passed
		})
		text, err := report.GitHubSummary(r, nil)
		if err != nil || len(text) > 64<<10 || !utf8.ValidString(text) {
			t.Fatalf("%d scenarios: %d bytes, error %v", copies, len(text), err)
		}
		if want := fmt.Sprintf("## scenario-%d: fail", copies/2); copies < 300 && !strings.Contains(text, want) {
			t.Errorf("%d scenarios: what failed is not in the summary: %s", copies, want)
		}
	}
}

// Lines are the document: what they say is what JSON says, whether they were written as
// cases came or afterwards.
func TestJSONLinesAreTheDocument(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, c := range append(fixtures(t), hostile(t)...) {
		lines := render(t, "jsonl", c.report, report.Options{})
		r, err := report.Decode(lines)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(string(render(t, "json", clone(t, c.report), report.Options{})), string(render(t, "json", r, report.Options{}))); diff != "" {
			t.Errorf("%s (-json +jsonl):\n%s", c.name, diff)
		}
		var instance any
		if err := json.Unmarshal(render(t, "json", r, report.Options{}), &instance); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for line := range bytes.Lines(lines) {
			if !json.Valid(line) {
				t.Errorf("%s: not JSON: %s", c.name, line)
			}
		}
	}
}
