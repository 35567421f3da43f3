package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// kind is a kind of document that can be read again.
type kind struct {
	name  string
	saved []byte
	again func(data []byte, render func(name string, write func(io.Writer, report.Options) error)) error
}

func kindOf[T any](t *testing.T, document T, formats report.Formatters[T], decode func([]byte) (T, error)) kind {
	t.Helper()
	render, err := formats.Named("json")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := render(&b, document, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return kind{report.SchemaOf(b.Bytes()), b.Bytes(), func(data []byte, render func(string, func(io.Writer, report.Options) error)) error {
		d, err := decode(data)
		if err != nil {
			return err
		}
		for _, f := range formats {
			render(f.Name, func(w io.Writer, o report.Options) error { return f.Render(w, d, o) })
		}
		return nil
	}}
}

func kinds(t *testing.T) []kind {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	a, b := measuredRuns("a", random, 6, nil), measuredRuns("b", random, 6, nil)
	var formats report.Formatters[*report.Report]
	for _, f := range report.Formats {
		formats = append(formats, struct {
			Name, Doc string
			Render    func(io.Writer, *report.Report, report.Options) error
		}{f.Name, f.Doc, f.Render})
	}
	result := build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log}, runs: 2})
	return []kind{
		kindOf(t, result, formats, report.Decode),
		kindOf(t, tunings(t)["whole"], report.TuningFormats, report.DecodeTuning),
		kindOf(t, compared(t, a, b, report.CompareOptions{Alpha: 0.05, MinEffect: 0.05}), report.ComparisonFormats, report.DecodeComparison),
		kindOf(t, calibrated(t, 8), report.CalibrationFormats, report.DecodeCalibration),
		kindOf(t, checkedUp(), report.DoctorFormats, report.DecodeDoctor),
		kindOf(t, audited(), report.AuditFormats, report.DecodeAudit),
	}
}

// What was saved is what is read again, in every format; and it is no document of another kind.
func TestSavedDocuments(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	for _, k := range all {
		err := k.again(k.saved, func(format string, write func(io.Writer, report.Options) error) {
			var b bytes.Buffer
			if err := write(&b, report.Options{}); err != nil {
				t.Errorf("%s as %s: %v", k.name, format, err)
			}
			if format == "json" && !bytes.Equal(b.Bytes(), k.saved) {
				t.Errorf("%s is not what was saved", k.name)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		for _, other := range all {
			if err := k.again(other.saved, func(string, func(io.Writer, report.Options) error) {}); (err == nil) != (k.name == other.name) {
				t.Errorf("%s read as %s: %v", other.name, k.name, err)
			}
		}
	}
	for _, text := range []string{"", "[]", "null", "{", `{"schema":1}`, "rubbish"} {
		if got := report.SchemaOf([]byte(text)); got != "" {
			t.Errorf("%q says that it is %q", text, got)
		}
	}
}

// Results that were saved before figures had names of their own have them all the same.
func TestOlderDocuments(t *testing.T) {
	t.Parallel()
	r := build(t, experiment{
		builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log},
		spoil: func(results []scenarios.Result) {
			results[0] = scenarios.Result{Outcome: scenarios.Unknown, Err: limiter.ErrUnknown}
		},
	})
	saved := regexp.MustCompile(`\n *"peak_at_most": \d+,`).ReplaceAll(render(t, "json", r, report.Options{}), nil)
	old, err := report.Decode(saved)
	if err != nil {
		t.Fatal(err)
	}
	if row := whole(t, old, "log", 1); row.PeakAtMost != row.PeakInWindow+1 || bytes.Contains(saved, []byte(`"peak_at_most": 1`)) {
		t.Errorf("peak %d to %d", row.PeakInWindow, row.PeakAtMost)
	}
	tuning := tunings(t)["whole"]
	tuning.Heavy.WindowUS = 0
	data, err := json.Marshal(tuning)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := report.DecodeTuning(data); err != nil || again.Heavy.WindowUS != tuning.Asked.WindowsUS[0] {
		t.Errorf("heavy in %d µs, %v", again.Heavy.WindowUS, err)
	}
}

// Documents come from files, and what is wrong with one has to end with a word. A value at a
// time is replaced by another, or a list is cut: whatever is read is rendered.
func TestSpoiltDocuments(t *testing.T) {
	t.Parallel()
	spoilt, read := 200, 0
	if raced {
		spoilt = 15
	}
	for _, k := range kinds(t) {
		random := rand.New(rand.NewPCG(7, uint64(len(k.saved))))
		for n := range spoilt {
			var document any
			if err := json.Unmarshal(k.saved, &document); err != nil {
				t.Fatal(err)
			}
			what := spoil(random, "", &document)
			if n == 0 {
				what = without(document, "shift") // a time that changed by nothing that is known
			}
			data, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s with %s: %v", k.name, what, r)
					}
				}()
				err := k.again(data, func(format string, write func(io.Writer, report.Options) error) {
					what := what + " as " + format
					defer func() {
						if r := recover(); r != nil {
							t.Errorf("%s with %s: %v", k.name, what, r)
						}
					}()
					if err := write(io.Discard, report.Options{Width: 60}); err != nil {
						t.Logf("%s with %s: %v", k.name, what, err)
					}
				})
				if err == nil {
					read++
				}
			}()
		}
	}
	if read < spoilt {
		t.Errorf("%d of the documents were read at all", read)
	}
}

// spoil replaces one value somewhere in a document, and says which.
func spoil(random *rand.Rand, path string, at *any) string {
	odd := []any{nil, -1.0, 0.0, 1.0, 1e15, 9e18, "", "pass", "\x1b[31m<b>|\n", true, []any{}, map[string]any{}}
	inner := func(place string, v any, set func(any)) string {
		what := spoil(random, path+"/"+place, &v)
		set(v)
		return what
	}
	switch v := (*at).(type) {
	case map[string]any:
		if names := keysOf(v); len(names) > 0 && random.IntN(8) > 0 {
			name := names[random.IntN(len(names))]
			if random.IntN(12) == 0 {
				delete(v, name)
				return path + "/" + name + " gone"
			}
			return inner(name, v[name], func(to any) { v[name] = to })
		}
	case []any:
		if len(v) > 0 {
			switch i := random.IntN(len(v)); random.IntN(6) {
			case 0:
				*at = v[:i]
				return fmt.Sprintf("%s cut to %d", path, i)
			case 1:
				*at = append(v, v[i])
				return path + " longer"
			default:
				return inner(fmt.Sprint(i), v[i], func(to any) { v[i] = to })
			}
		}
	}
	*at = odd[random.IntN(len(odd))]
	return fmt.Sprintf("%s = %s", path, strings.TrimSpace(fmt.Sprintf("%#v", *at)))
}

// without takes a name out of all objects of a document, and says so.
func without(document any, name string) string {
	switch v := document.(type) {
	case map[string]any:
		delete(v, name)
		for _, inner := range v {
			without(inner, name)
		}
	case []any:
		for _, inner := range v {
			without(inner, name)
		}
	}
	return "every " + name + " gone"
}

// keysOf are the names of an object, in an order that is always the same.
func keysOf(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}
