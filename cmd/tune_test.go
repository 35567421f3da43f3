package cmd

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/cmd/tuning"
	"github.com/rlbench/rlbench/report"
)

// What is built in is what a Redis says when it is asked, give or take a version.
func TestBuiltInFigures(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	dir := t.TempDir()
	program := plainProgram(t)
	if out, err := exec.Command(program, "init", "--log", "caddy", "--requests", "8000", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command(program, "tune", filepath.Join(dir, "access.json"), "--measure", "managed", "-q", "-o", "json")
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	var d report.Tuning
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	_, built := tuning.BuiltIn()
	if d.Memory.BuiltIn || len(d.Memory.Measured) != len(built) {
		t.Fatalf("%d figures were measured, %d are built in", len(d.Memory.Measured), len(built))
	}
	for i, m := range d.Memory.Measured {
		b := built[i]
		if m.Algorithm != b.Algorithm || m.Entries != b.Entries || math.Abs(float64(m.Bytes-b.Bytes)) > 0.25*float64(b.Bytes) || m.ScriptUS <= 0 {
			t.Errorf("measured %+v, built in %+v", m, b)
		}
	}
}
