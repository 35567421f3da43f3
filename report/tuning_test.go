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
	"time"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

func renderTuning(t *testing.T, name string, document *report.Tuning, o report.Options) []byte {
	t.Helper()
	write, err := report.TuningFormats.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, document, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTuningGoldens(t *testing.T) {
	all := tunings(t)
	for file, c := range map[string]struct {
		format, name string
		width        int
	}{
		"tuning.140.txt":      {"table", "whole", 140},
		"tuning.80.txt":       {"table", "whole", 80},
		"tuning.40.txt":       {"table", "whole", 40},
		"tuning-none.80.txt":  {"table", "not-recommended", 80},
		"tuning-quiet.80.txt": {"table", "no-requests", 80},
		"tuning-empty.json":   {"json", "empty", 0},
		"tuning.md":           {"markdown", "whole", 0},
		"tuning.csv":          {"csv", "whole", 0},
		"tuning.html":         {"html", "whole", 0},
	} {
		golden(t, file, renderTuning(t, c.format, all[c.name], report.Options{Width: c.width, Verbose: c.width > 80}))
	}
}

// hostileTunings have odd texts wherever a log or the name of a file can put them.
func hostileTunings(t *testing.T) map[string]*report.Tuning {
	t.Helper()
	all := map[string]*report.Tuning{}
	for i, odd := range append(slices.Clone(oddNames), strings.Repeat("漢", 3000), "e"+strings.Repeat("\u0301", 5000)) {
		d := tuned(tuningSize{[]string{"counter"}, []string{"ip"}, []time.Duration{time.Minute}, []int64{100, 200, 300, 400}})
		for j := range d.Routes[:4] {
			d.Routes[j].Route = odd
		}
		d.Log.Examples = []report.BadLine{{File: odd, Line: 1, Why: odd}}
		d.Log.Format, d.Command = "combined", []string{"rlbench", "tune", odd}
		d.Reasons = []scenarios.Reason{{Code: "bad-lines", Message: "most of " + odd + " was not read", Hint: "--format, for " + odd}}
		d.Memory.Redis.Version = "7.0.15"
		all[fmt.Sprint("odd-", i)] = d
	}
	return all
}

// Whatever is missing or odd, every format is whole: valid UTF-8, no control character,
// no number that is none, and the verdict.
func TestTuningFormatsCope(t *testing.T) {
	t.Parallel()
	all := tunings(t)
	for name, d := range hostileTunings(t) {
		all[name] = d
	}
	for _, f := range report.TuningFormats {
		for name, d := range all {
			text := string(renderTuning(t, f.Name, d, report.Options{}))
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 }) {
				t.Errorf("%s of %s: a control character", f.Name, name)
			}
			if !utf8.ValidString(text) || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s of %s: valid UTF-8 %t, ends with %q", f.Name, name, utf8.ValidString(text), text[max(0, len(text)-5):])
			}
			for _, none := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(text, none) {
					t.Errorf("%s of %s: %s", f.Name, name, none)
				}
			}
			if f.Name != "csv" && !strings.Contains(strings.ToLower(text), string(d.Verdict)) {
				t.Errorf("%s of %s does not say %s", f.Name, name, d.Verdict)
			}
		}
	}
}

// No line is wider than the terminal, however wide the characters in a log are; colour is
// there only when wanted; the last line says how it went.
func TestTuningTableKeepsToItsTerminal(t *testing.T) {
	t.Parallel()
	all := tunings(t)
	for name, d := range hostileTunings(t) {
		all[name] = d
	}
	for name, d := range all {
		for _, width := range []int{40, 80, 200} {
			text := string(renderTuning(t, "table", d, report.Options{Width: width, Verbose: true}))
			if name[:3] == "odd" && width < 80 { // a table of odd routes, and not all of it again
				_, text, _ = strings.Cut(text, "ROUTES")
			}
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if twwidth.Width(line) > width {
					t.Errorf("%s at %d: %d wide: %.300s", name, width, twwidth.Width(line), line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("%s at %d: trailing blanks: %q", name, width, line)
				}
			}
			if last := lastLine(text); width == 200 && !strings.HasPrefix(last, strings.ToUpper(string(d.Verdict))+"  ") {
				t.Errorf("%s at %d ends with %q", name, width, last)
			}
		}
	}
	if text := string(renderTuning(t, "table", all["whole"], report.Options{Color: true})); !strings.Contains(text, "\x1b[32;1mPASS") {
		t.Error("no colour although it was asked for")
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// A reader learns what there is and what is not, first what matters most.
func TestTuningTableSays(t *testing.T) {
	all := tunings(t)
	for name, wants := range map[string][]string{
		"whole": {
			"recommended   counter, 200 requests a minute per ip", "why  ", "price  ", "99.10% of 12,300 ordinary clients are refused nothing", "12.6% of 1,293,012 requests", "at most 314–326 (1.63×)",
			"61 in any second", "274 KiB", "runner-up", "2 files, format combined", "7.0 days", "access.log:1022: no time in brackets", "and 15 more", "1,204 of the requests were refused already", "more than 410 requests in 10s",
			"3.7 times", "0.85–0.93%", "[0.90%]", "GET /search", "all others", "4.1 times", "26.3 times", "PASS  counter",
		},
		"not-recommended":  {"no-ordinary: 12 clients", "hint: give it a log", "Nothing is recommended: no-ordinary.", "no policy was chosen", "INCONCLUSIVE  nothing recommended"},
		"no-reason":        {"Nothing is recommended: no policy is what was asked for."},
		"no-requests":      {"Nothing is recommended: the log has no request.", "0 of 0 clients"},
		"empty":            {"1 file, format common", "interrupted"},
		"no-heavy":         {"none: no client asks for far more than the others"},
		"stated-heavy":     {"more than 410 requests in 10s, as was stated"},
		"only-heavy":       {"no client is ordinary."},
		"arrivals":         {"of arrivals"},
		"one-policy":       {"counter    200"},
		"nothing-measured": {"THE RISKIEST WINDOW"},
		"no-riskiest":      {"MEMORY"},
	} {
		text := strings.Join(strings.Fields(string(renderTuning(t, "table", all[name], report.Options{Width: 200, Verbose: true}))), " ")
		at := 0
		for _, want := range wants {
			want = strings.Join(strings.Fields(want), " ")
			i := strings.Index(text[at:], want)
			if i < 0 {
				t.Errorf("%s: no %q after %.60q in\n%s", name, want, text[at:], text)
				continue
			}
			at += i
		}
	}
	for name, never := range map[string]string{"no-riskiest": "RISKIEST", "nothing-measured": "MEMORY", "arrivals": "–", "no-heavy": "of heavy ones", "no-requests": "SENSITIVITY"} {
		if text := string(renderTuning(t, "table", all[name], report.Options{Width: 200, Verbose: true})); strings.Contains(text, never) {
			t.Errorf("%s: says %q", name, never)
		}
	}
}

// Shares never round to nothing or to all, windows and bytes are in words.
func TestTuningWords(t *testing.T) {
	for _, c := range []struct {
		change func(*report.Tuning)
		want   string
	}{
		{func(d *report.Tuning) { d.Recommended.Policy.Refused = 1 }, "<0.01% of 1,293,012 requests"},
		{func(d *report.Tuning) { d.Recommended.Policy.Refused = 0 }, " 0% of 1,293,012 requests"},
		{func(d *report.Tuning) { d.Recommended.Policy.Refused = tunedRequests - 1 }, ">99.99% of 1,293,012 requests"},
		{func(d *report.Tuning) { d.Recommended.Policy.Refused = tunedRequests }, "100% of 1,293,012 requests"},
		{func(d *report.Tuning) { d.Recommended.Policy.Refused = tunedRequests / 2 }, "50.0% of 1,293,012 requests"},
		{func(d *report.Tuning) { d.Recommended.Policy.WindowUS = time.Second.Microseconds() }, "200 requests a second per ip"},
		{func(d *report.Tuning) { d.Recommended.Policy.WindowUS = time.Hour.Microseconds() }, "200 requests an hour per ip"},
		{func(d *report.Tuning) { d.Recommended.Policy.WindowUS = 90_000_000 }, "200 requests in 1m30s per ip"},
		{func(d *report.Tuning) { d.Recommended.Policy.Limit = 1 }, "1 request a minute per ip"},
		{func(d *report.Tuning) { d.Recommended.Policy.Limit = 1_234_567 }, "1,234,567 requests a minute"},
		{func(d *report.Tuning) { d.Recommended.Policy.Bytes = 1023 }, "1023 B for"},
		{func(d *report.Tuning) { d.Recommended.Policy.Bytes = 1 << 20 }, "1.0 MiB for"},
		{func(d *report.Tuning) { d.Recommended.Policy.Bytes = 99 << 30 }, "99 GiB for"},
	} {
		d := tuned(usualTuning)
		c.change(d)
		if text := string(renderTuning(t, "table", d, report.Options{Width: 200, Verbose: true})); !strings.Contains(text, c.want) {
			t.Errorf("no %q in:\n%.900s", c.want, text)
		}
	}
}

// What is saved can be shown again, and is of the schema.
func TestTuningRoundTrip(t *testing.T) {
	schema := validator(t, "tuning_schema.json", report.TuningJSONSchema, &report.Tuning{}, "rlbench tuning",
		"What policies would do to the traffic of an access log. Durations are integers with their unit in the name; what was not measured is absent.")
	for name, d := range tunings(t) {
		if name != "whole" {
			d.Policies = d.Policies[:min(len(d.Policies), 5)] // they are all alike
		}
		data := renderTuning(t, "json", d, report.Options{})
		var again report.Tuning
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		for _, f := range report.TuningFormats {
			if f.Name == "html" && name != "whole" { // slow, and from the same
				continue
			}
			if !bytes.Equal(renderTuning(t, f.Name, d, report.Options{}), renderTuning(t, f.Name, &again, report.Options{})) {
				t.Errorf("%s of %s differs once it was saved", f.Name, name)
			}
		}
		if name == "empty" { // lists that nobody made
			continue
		}
		instance, err := validate.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CSV has a line for each policy, with its figures and what it was chosen as.
func TestTuningCSV(t *testing.T) {
	for name, d := range tunings(t) {
		records, err := csv.NewReader(bytes.NewReader(renderTuning(t, "csv", d, report.Options{}))).ReadAll()
		if err != nil || len(records) != 1+len(d.Policies) {
			t.Fatalf("%s: %d records of %d policies, error %v", name, len(records), len(d.Policies), err)
		}
		for i, p := range d.Policies {
			fields := map[string]string{}
			for k, head := range records[0] {
				fields[head] = records[1+i][k]
			}
			lowest, highest := "", ""
			if p.Least != nil {
				lowest, highest = strconv.FormatInt(p.Least.Refused, 10), strconv.FormatInt(p.Most.Refused, 10)
			}
			choice := ""
			if d.Recommended != nil && d.Recommended.Policy.Algorithm == p.Algorithm && d.Recommended.Policy.Limit == p.Limit && d.Recommended.Policy.WindowUS == p.WindowUS {
				choice = "recommended"
			}
			for head, want := range map[string]string{
				"algorithm": p.Algorithm, "limit": strconv.FormatInt(p.Limit, 10), "window_us": strconv.FormatInt(p.WindowUS, 10), "refused": strconv.FormatInt(p.Refused, 10),
				"refused_least": lowest, "refused_most": highest, "bytes": strconv.FormatInt(p.Bytes, 10), "wrong_denials": strconv.FormatInt(p.Wrong.Denials, 10),
				"server_share": strconv.FormatFloat(p.ServerShare, 'g', -1, 64), "clients_ordinary": strconv.FormatInt(d.Log.Clients-d.Heavy.Clients, 10),
			} {
				if fields[head] != want {
					t.Errorf("%s: %s of policy %d is %q, want %q", name, head, i, fields[head], want)
				}
			}
			if (fields["choice"] == "recommended") != (choice == "recommended") {
				t.Errorf("%s: policy %d is %q, want %q", name, i, fields["choice"], choice)
			}
		}
	}
}

// A table of Markdown has as many cells in each line as in its head, and nothing from a
// log becomes markup.
func TestTuningMarkdown(t *testing.T) {
	all := tunings(t)
	for name, d := range hostileTunings(t) {
		all[name] = d
	}
	for name, d := range all {
		text := string(renderTuning(t, "markdown", d, report.Options{}))
		bars := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|▂") {
				bars = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
			if bars == 0 {
				bars = n
			}
			if n != bars {
				t.Errorf("%s: %d bars in a table with %d: %.200s", name, n, bars, line)
			}
		}
		if len(d.Command) > 0 {
			text = withoutCode(text)
		}
		if strings.ContainsAny(text, "<>@") {
			t.Errorf("%s: markup or a mention", name)
		}
	}
}
