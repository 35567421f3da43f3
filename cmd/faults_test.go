package cmd

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// breaking are the built-ins that break Redis, by a clock, for a limit.
func breaking(t *testing.T, virtual bool, limit string) []loaded {
	t.Helper()
	var all []loaded
	for _, b := range scenarios.Scripted() {
		one, err := builtin(b.Name, 1, func(sc *scenarios.Scenario) {
			if limit != "" {
				l, err := limiter.ParseLimit(limit)
				if err != nil {
					t.Fatal(err)
				}
				sc.Limit = l
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(one.plan.Faults) > 0 && (one.plan.Clock == scenarios.Virtual) == virtual {
			all = append(all, one)
		}
	}
	return all
}

// reported runs the program and reads its report, whatever the verdict.
func reported(t *testing.T, args ...string) *report.Report {
	t.Helper()
	var out, errs bytes.Buffer
	h := still(&out, &errs)
	h.Stopwatch = nil // faults are made and requests are sent at once
	args = append(args, "-q", "-o", "json")
	return reportOf(t, args, Main(args, h), out.Bytes(), errs.String())
}

// reportedPlain is reported of the program that a user builds.
func reportedPlain(t *testing.T, args ...string) *report.Report {
	t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "-q", "-o", "json")
	c := exec.Command(plainProgram(t), args...)
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // its exit code says it
	return reportOf(t, args, c.ProcessState.ExitCode(), out.Bytes(), errs.String())
}

// reportOf reads the report of a run that has judged.
func reportOf(t *testing.T, args []string, code int, out []byte, errs string) *report.Report {
	t.Helper()
	if code != exitOK && code != exitFailed && code != exitInconclusive {
		t.Fatalf("%v: exit %d\n%s", args, code, errs)
	}
	var r report.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, errs)
	}
	return &r
}

// outcome is what became of the requests of a phase.
type outcome struct {
	Planned, Admitted, Denied, Errored, Unknown, Missed int64
	report.ByPolicy
}

func outcomeOfRow(r report.Row) outcome {
	return outcome{r.Planned, r.Admitted, r.Denied, r.Errored, r.Unknown, r.Missed, policyOf(r)}
}

func outcomeOfMeasures(m scenarios.Measures) outcome {
	return outcome{m.Planned, m.Admitted, m.Denied, m.Errored, m.Unknown, m.Missed, report.ByPolicy{Open: m.ByOpen, Closed: m.ByClosed, Local: m.ByLocal}}
}

// outcomes are those of all phases and of the whole, by the name of the phase.
func outcomes(p *scenarios.Plan, j *scenarios.Judgement) map[string]outcome {
	all := map[string]outcome{"": outcomeOfMeasures(j.Measures)}
	for i, phase := range p.Phases {
		all[phase.Name] = outcomeOfMeasures(j.Phases[i].Measures)
	}
	return all
}

// What is expected of a broken Redis is what happens on one, request by request, for
// every algorithm; and so it is in the control run, in which nothing breaks.
func TestFaultsOnARealRedis(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "managed")
	for _, s := range breaking(t, true, "10/1m") {
		t.Run(s.Name, func(t *testing.T) {
			if s.plan.OnFailure == "local" && !knowsLocal(t) {
				t.Skip("NOT TESTED: limiters have no cap of the process yet")
			}
			r := reportedPlain(t, "run", s.Name, "--limit", "10/1m", "-a", "all", "--redis", redis, "--timeout", "1m")
			if r.Verdict != scenarios.Pass || len(r.Reasons) > 0 || r.Scenarios[0].SHA256 != s.hash || len(r.Scenarios[0].Faults) != len(s.plan.Faults) {
				t.Errorf("%s, %+v, scenario %+v, planned is %s", r.Verdict, r.Reasons, r.Scenarios[0], s.hash)
			}
			for _, a := range limiter.Algorithms {
				for control, plan := range map[bool]*scenarios.Plan{false: s.plan, true: s.plan.Faultless()} {
					got := map[string]outcome{}
					for _, row := range r.Rows {
						if row.Limiter == a.Name && row.Control == control {
							got[row.Phase] = outcomeOfRow(row)
						}
					}
					if diff := cmp.Diff(outcomes(plan, expect(t, plan, a)), got); diff != "" {
						t.Errorf("%s, control %t (-expected +happened):\n%s", a.Name, control, diff)
					}
				}
			}
			checkFindings(t, s, r)
		})
	}
}

// knowsLocal reports whether limiters can be told to decide by themselves.
func knowsLocal(t *testing.T) bool {
	t.Helper()
	client, err := limiter.Dial("redis://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = limiter.New(client, limiter.Config{Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 1, Window: time.Second}, OnFailure: "local"})
	return err == nil
}

// checkFindings wants every fault to have hit somebody in the run, and none to have
// been in the control run, of which nothing written is asked.
func checkFindings(t *testing.T, s loaded, r *report.Report) {
	t.Helper()
	hit := map[string]int{}
	for _, f := range r.Findings {
		switch {
		case f.Verdict != scenarios.Pass && !f.Warn:
			t.Errorf("%+v", f)
		case f.Check == "faults" && f.Control:
			t.Errorf("a fault in the control run: %+v", f)
		case f.Check == "faults":
			hit[f.Limiter]++
		case f.Control && slices.ContainsFunc(s.Checks, func(c scenarios.Check) bool { return c.String() == f.Check }):
			t.Errorf("a check of the scenario about its control run: %+v", f)
		}
	}
	for _, name := range limiter.Names() {
		if hit[name] != len(s.plan.Faults) {
			t.Errorf("%s: %d faults hit somebody, want %d", name, hit[name], len(s.plan.Faults))
		}
	}
}

// In real time a machine may be slow, but not wrong: all is accounted for, the faults
// were made, and what Redis did not decide the policy did.
func TestFaultsInRealTime(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "managed")
	for _, s := range breaking(t, false, "") {
		t.Run(s.Name, func(t *testing.T) {
			r := reported(t, "run", s.Name, "-a", "log", "--redis", redis)
			row := rowOf(t, r, "log", "")
			if row.Planned != int64(len(s.plan.Arrivals)) || row.Errored+row.Unknown+row.Missed > 0 || row.Admitted+row.Denied != row.Planned {
				t.Errorf("%+v", row)
			}
			policy := policyOf(row)
			if decided := policy.Open + policy.Closed + policy.Local; decided == 0 || (policy.Open > 0) != (s.plan.OnFailure == "open") || (policy.Closed > 0) != (s.plan.OnFailure == "closed") {
				t.Errorf("on failure %s: %+v", s.plan.OnFailure, policy)
			}
			controls, made := 0, 0
			for _, row := range r.Rows {
				if row.Control && row.Phase == "" {
					controls++
				}
			}
			for _, f := range r.Findings {
				if f.Check == "faults" && f.Verdict == scenarios.Pass && !f.Control {
					made++
				}
				if (f.Check == "policy" || f.Check == "promise" || f.Check == "conformance") && f.Verdict == scenarios.Fail {
					t.Errorf("%+v", f)
				}
			}
			if controls != 1 || made != len(s.plan.Faults) {
				t.Errorf("%d control runs, %d faults made of %d", controls, made, len(s.plan.Faults))
			}
		})
	}
}
