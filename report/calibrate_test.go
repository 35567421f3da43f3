package report_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlbench/rlbench/report"
)

func calibrated(t *testing.T, runs int) *report.Calibration {
	t.Helper()
	c, err := report.Calibrate(measuredRuns("noise.json", rand.New(rand.NewPCG(1, 9)), runs, nil).Report, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The floor is what nineteen of twenty null comparisons stay below, and shrinks with the
// runs; alarms are no more than alpha; and the runs asked for depend on the effect.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	few, many := calibrated(t, 10), calibrated(t, 40)
	if few.Runs != 5 || many.Runs != 20 || len(few.Rows) != 6 {
		t.Fatalf("%d and %d runs, %d rows", few.Runs, many.Runs, len(few.Rows))
	}
	for i, n := range many.Rows {
		// Medians of noise of a tenth: their difference has a deviation of some 0.1 * sqrt(2/n).
		if n.Floor < 0.02 || n.Floor > 0.1 || few.Rows[i].Floor <= n.Floor || n.Alarms > 0.08 || n.RunsFor5 <= 2*n.RunsFor10 {
			t.Errorf("%s of %s: %+v, with few runs %+v", n.Metric, n.Limiter, n, few.Rows[i])
		}
		if many.MinEffect < n.Floor {
			t.Errorf("min effect %v is below the floor %v", many.MinEffect, n.Floor)
		}
	}
	// Fresh pairs, not those that it was made of.
	r := rand.New(rand.NewPCG(2, 9))
	above := 0
	const trials = 200
	for range trials {
		d := metricOf(t, compared(t, measuredRuns("old", r, 20, nil), measuredRuns("new", r, 20, nil), usual), "log", "service p50")
		if shift := *d.Shift / d.Old; shift > many.Rows[3].Floor || -shift > many.Rows[3].Floor {
			above++
		}
	}
	if above > trials/8 {
		t.Errorf("%d of %d null pairs are above the floor of %s, want one in twenty", above, trials, many.Rows[3].Metric)
	}
	if _, err := report.Calibrate(fixtureNamed(t, "no-cases"), 0.05); err == nil {
		t.Error("an emulator is calibrated")
	}
}

// A machine that became slower meanwhile differs from itself by that, which halves that are
// mixed do not show.
func TestCalibrateSeesTheCourse(t *testing.T) {
	slower := measuredRuns("noise.json", rand.New(rand.NewPCG(3, 9)), 40, func(_ string, run int, row *report.Row) {
		*row.ServiceUS.All.P50 = 10_000 + int64(run%3)
		if run > 20 {
			*row.ServiceUS.All.P50 += 2_000
		}
	})
	c, err := report.Calibrate(slower.Report, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Rows {
		if n.Metric == "service p50" && (n.Floor < 0.15 || n.Floor > 0.25) {
			t.Errorf("the floor of %s is %g, want a fifth of the median", n.Limiter, n.Floor)
		}
	}
	var text bytes.Buffer
	write, err := report.CalibrationFormats.Named("json")
	if err != nil {
		t.Fatal(err)
	}
	if err := write(&text, c, report.Options{}); err != nil {
		t.Fatal(err)
	}
	if read, err := report.DecodeCalibration(text.Bytes()); err != nil || len(read.Rows) != len(c.Rows) || read.Rows[0] != c.Rows[0] {
		t.Errorf("%v: read %+v", err, read)
	}
	for _, wrong := range []string{"{}", "no JSON", `{"schema":"rlbench.calibration/v1"}`} {
		if _, err := report.DecodeCalibration([]byte(wrong)); err == nil {
			t.Errorf("%s is a calibration", wrong)
		}
	}
}

// More runs than can be made are no number that anybody could ask for.
func TestCalibrationOfNoise(t *testing.T) {
	c := calibrated(t, 20)
	c.Rows[0].RunsFor5, c.Rows[0].RunsFor10 = 1_000_000, 1000
	write, err := report.CalibrationFormats.Named("table")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, c, report.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), " >1000 ") || strings.Contains(b.String(), "1000000") {
		t.Errorf("a million runs: %s", b.String())
	}
}

func TestCalibrationFormats(t *testing.T) {
	c := calibrated(t, 20)
	for name, file := range map[string]string{"table": "calibration.80.txt", "json": "calibration.json"} {
		write, err := report.CalibrationFormats.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := write(&b, c, report.Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		golden(t, file, b.Bytes())
	}
}

func TestCalibrationSchema(t *testing.T) {
	schema := validator(t, "calibration_schema.json", report.CalibrationJSONSchema, &report.Calibration{}, "rlbench calibration",
		"How much times differ on a machine where nothing changed. What does not apply is absent.")
	write, err := report.CalibrationFormats.Named("json")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, calibrated(t, 8), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for from, valid := range map[string]bool{"": true, `"pairs": 1`: false} {
		instance, err := validate.UnmarshalJSON(strings.NewReader(strings.Replace(b.String(), from, strings.Replace(from, `: 1`, `: "1", "x": 1`, 1), 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("spoilt %q: %v", from, err)
		}
	}
}
