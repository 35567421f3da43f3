package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// checkedUp is a check-up with all statuses.
func checkedUp() *report.Doctor {
	return &report.Doctor{
		Schema: report.DoctorSchema, Command: []string{"rlbench", "doctor"}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ElapsedUS: 790_000, Env: env,
		Checks: []report.Checkup{
			{Name: "redis", Status: report.StatusOK, Found: "redis 7.0.15, standalone, live"},
			{Name: "role", Status: report.StatusFail, Found: "it is a replica, which cannot count", Hint: "give --redis the URL of the primary"},
			{Name: "eviction", Status: report.StatusWarn, Found: "when 100 MB are full: allkeys-lru", Hint: "limiters must not be forgotten: redis-cli config set maxmemory-policy noeviction"},
			{Name: "timers", Status: report.StatusOK, Found: "a request is sent 21µs late (p50), 243µs (p99)"},
		},
	}
}

func renderDoctor(t *testing.T, format string, d *report.Doctor, o report.Options) []byte {
	t.Helper()
	write, err := report.DoctorFormats.Named(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDoctorGolden(t *testing.T) {
	d := checkedUp()
	d.Judge(false)
	golden(t, "doctor.80.txt", renderDoctor(t, "table", d, report.Options{Width: 80}))
	golden(t, "doctor.json", renderDoctor(t, "json", d, report.Options{}))
	for line := range strings.Lines(string(renderDoctor(t, "table", d, report.Options{Width: 50}))) {
		if len([]rune(line)) > 51 {
			t.Errorf("a line of %d: %s", len([]rune(line)), line)
		}
	}
	coloured := string(renderDoctor(t, "table", d, report.Options{Width: 80, Color: true}))
	for _, word := range []string{"ok", "warn", "fail", "FAIL"} {
		if !strings.Contains(coloured, "m"+word+"\x1b[") {
			t.Errorf("%s has no colour", word)
		}
	}
}

func TestDoctorVerdict(t *testing.T) {
	d := checkedUp()
	for _, row := range []struct {
		checks             []report.Checkup
		fatal, interrupted bool
		want               scenarios.Verdict
	}{
		{d.Checks, false, false, scenarios.Fail},
		{d.Checks[2:], false, false, scenarios.Pass},
		{d.Checks[2:], true, false, scenarios.Fail},
		{d.Checks[3:], true, false, scenarios.Pass},
		{d.Checks[3:], false, true, scenarios.Inconclusive},
		{d.Checks, false, true, scenarios.Fail},
	} {
		d.Checks, d.Interrupted = row.checks, row.interrupted
		if d.Judge(row.fatal); d.Verdict != row.want {
			t.Errorf("%+v: %s", row, d.Verdict)
		}
		d = checkedUp()
	}
}

func TestDoctorSchema(t *testing.T) {
	schema := validator(t, "doctor_schema.json", report.DoctorJSONSchema, &report.Doctor{}, "rlbench doctor",
		"What would distort a measurement. Durations are integers with their unit in the name; what was not found is absent.")
	d := checkedUp()
	d.Judge(false)
	for from, valid := range map[string]bool{"": true, `"status": "ok"`: false, `"schema": "rlbench.doctor/v1"`: false} {
		text := strings.Replace(string(renderDoctor(t, "json", d, report.Options{})), from, strings.Replace(from, ": \"", `: "x`, 1), 1)
		instance, err := validate.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("spoilt %q: %v", from, err)
		}
	}
}
