package report_test

import (
	"bytes"
	"testing"

	"github.com/rlbench/rlbench/report"
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
		golden(t, file, renderTuning(t, c.format, all[c.name], report.Options{Width: c.width}))
	}
}
