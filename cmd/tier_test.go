package cmd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// laggard is a tier of two machines that learn of each other seconds late, a window
// that slides, and clients with several pseudonyms and budgets.
const laggard = `
version: 1
name: laggard
limit: 30/20s
clock: virtual
seed: 3
keys: {count: 3, distribution: cycle}
edge_tier: {limit: 20/10s, kind: sliding, inclusive: true, machines: 2, sync: 3s}
phases:
  - {name: a, at: edge - 7s, for: 31s, shape: constant, count: 211, pseudonym: 1}
  - {name: b, at: edge + 1ms, for: 23s, shape: constant, count: 101, pseudonym: 2, limit: 5}
  - {name: c, at: edge + 2s + 1us, for: 5s, shape: poisson, count: 97, pseudonym: 2, skew: 0s, limit: 5}
`

// What the model foretells of a tier is what happens, by the virtual clock exactly:
// who denied, in which phase, and what remained for the origin.
func TestTierIsForetold(t *testing.T) {
	tiered, err := scenarios.BuiltinNamed("tiered-api")
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := tiered.Read(scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	own, err := scenarios.Read(strings.NewReader(laggard), "laggard.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*scenarios.Scenario{builtin, own} {
		plan, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range limiter.Algorithms {
			h, err := runner.Run(context.Background(), runner.Config{
				Limiters: limitersOfModel(t, a, plan), Plan: plan, Identity: invented, MaxInFlight: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			j, err := oracle.Judge(&oracle.Case{
				Plan: h.Plan, Results: h.Results, Edge: h.Edge, Algorithm: &a, Name: a.Name, Tells: scenarios.TellsAll,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := expect(t, plan, a)
			if want.Measures.ByEdge == 0 || want.Measures.Denied == want.Measures.ByEdge {
				t.Errorf("%s, %s: %d denied, %d by the tier: want both to deny", s.Name, a.Name, want.Measures.Denied, want.Measures.ByEdge)
			}
			if diff := cmp.Diff(counted(want), counted(j)); diff != "" {
				t.Errorf("%s, %s (-foretold +happened):\n%s", s.Name, a.Name, diff)
			}
			for _, f := range j.Findings {
				if f.Verdict != scenarios.Pass {
					t.Errorf("%s, %s: [%s] %s %v", s.Name, a.Name, f.Check, f.Message, f.Evidence)
				}
			}
		}
	}
}

// counted is what a judgement counts, as a whole and by phase.
func counted(j *scenarios.Judgement) [][4]int64 {
	all := [][4]int64{{j.Measures.Planned, j.Measures.Admitted, j.Measures.Denied, j.Measures.ByEdge}}
	for _, m := range j.Phases {
		all = append(all, [4]int64{m.Planned, m.Admitted, m.Denied, m.ByEdge})
	}
	return all
}

// Through the whole program: the report and the table tell what the tier denied.
func TestTierIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "laggard.yaml")
	if err := os.WriteFile(file, []byte(laggard), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, per := range map[string]func(report.Row) int64{
		"tiered-api": func(report.Row) int64 { return 800 },
		file:         func(r report.Row) int64 { return foretold(t, r.Limiter).ByEdge },
	} {
		folder := t.TempDir()
		c := exec.Command(plainProgram(t), "run", name, "-a", "all", "--redis", "embedded", "-o", "table="+filepath.Join(folder, "table"), "-o", "json="+filepath.Join(folder, "json"))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		table, err := os.ReadFile(filepath.Join(folder, "table"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.ReadFile(filepath.Join(folder, "json"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := report.Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		var sum, whole int64
		for _, row := range r.Rows {
			if row.Phase != "" {
				sum += row.DeniedAtEdge
				continue
			}
			whole += row.DeniedAtEdge
			if row.DeniedAtEdge != per(row) {
				t.Errorf("%s, %s: %d denied at the edge, want %d", name, row.Limiter, row.DeniedAtEdge, per(row))
			}
		}
		if whole != sum || whole == 0 {
			t.Errorf("%s: %d denied at the edge, %d by phase", name, whole, sum)
		}
		if told := strings.Count(string(table), "the tier in front denied "); told != len(limiter.Algorithms) {
			t.Errorf("%s: told %d times\n%s", name, told, table)
		}
	}
}

// foretold is what an algorithm does behind the laggard.
func foretold(t *testing.T, name string) scenarios.Measures {
	t.Helper()
	s, err := scenarios.Read(strings.NewReader(laggard), "laggard.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	a, ok := limiter.Named(name)
	if !ok {
		t.Fatalf("no algorithm %q", name)
	}
	return expect(t, plan, a).Measures
}

// expect is what oracle.Expect says, which has an error only for a disk that cannot be
// read.
func expect(t testing.TB, p *scenarios.Plan, a limiter.Algorithm) *scenarios.Judgement {
	t.Helper()
	j, err := oracle.Expect(p, a)
	if err != nil {
		t.Fatal(err)
	}
	return j
}
