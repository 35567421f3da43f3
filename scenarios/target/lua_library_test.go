package target_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// needs is what a plan asks of a target.
func needs(t *testing.T, sc *scenarios.Scenario) target.Needs {
	t.Helper()
	p, err := scenarios.NewPlan(sc)
	if err != nil {
		t.Fatal(err)
	}
	n := target.Needs{Clock: p.Clock, Policy: p.OnFailure, Limits: []limiter.Limit{p.Limit}}
	for _, phase := range p.Phases {
		n.Limits = append(n.Limits, phase.Limit)
		n.Waits = n.Waits || phase.Retry != nil && phase.Retry.Mode == "obey"
		n.Names = n.Names || phase.Also != nil
	}
	for _, a := range p.Arrivals {
		n.Costs = n.Costs || a.Cost > 1
	}
	return n
}

// luaVerdicts are what the library says about the examples: the checks that fail,
// each under every scenario that suits, and the warnings by scenario. Nobody else
// is accused of anything.
//
// Of the 56 virtual scenarios three have costs, which no example takes; three have
// clients that obey, for which a wait has to be told; and two have a window that is
// no whole number of seconds.
var luaVerdicts = []struct {
	file   string
	suited int
	always string // a check that warns under every scenario
	fails  string
	warns  map[string][]string
	why    string
}{
	{"default-log", 48, "", "", nil, "a wait is told, but nothing promises it before a run"},
	{"fixed-incr", 48, "", "", byOwnClock, "no wait is told"},
	{"weighted-counter", 48, "", "", countedLate, "no wait is told"},
	{"log-seconds", 48, "", "", nil, "no wait is told"},
	{"token-bucket", 48, "", "", nil, "claims nothing, and keeps what holds for all"},
	{"gcra", 51, "", "", nil, "tells all"},
	{"booleans", 48, "", "", byOwnClock, "no wait is told"},
	{"limited", 51, "", "", nil, "keeps to the newest window, as the bundled one does"},
	{"numeric-strings", 51, "", "", nil, "tells waits"},
	{"article-fixed", 46, "denied-is-free", "", byOwnClock, "counts denials, in whole seconds"},
	{"article-log", 48, "", "", nil, "who is ahead forgets, as in the model"},
	{"article-counter", 46, "", "keys", countedLate, "no hash tag, in whole seconds"},
}

var (
	// A key for each window of the caller's clock: who is behind meets the budget of
	// its own window, and in the model that of the newest.
	byOwnClock = map[string][]string{
		"clock-behind": {"conformance", "fixed: admitted@on-time == 0", "fixed: peak_in_window == 2*limit"},
		"clock-ladder": {"conformance"},
	}
	// Two of them. On the ladder both deny: the own window is as full as what the
	// model still weighs of it.
	countedLate = map[string][]string{"clock-behind": {"conformance", "counter: peak_in_window == limit"}}
)

// inSteps are wrong where the limit changes while it is used: one is exact only
// where the limit divides the window, and says so; what the other has denied and
// counted uses up what a raise would give.
var inSteps = map[string]bool{"gcra": true, "article-fixed": true}

func TestLuaExamplesUnderTheLibrary(t *testing.T) {
	s := server(t, "managed")
	library := virtualBuiltins(t, 10)
	if len(library) != 56 || len(luaVerdicts) != len(luaExamples) {
		t.Errorf("%d scenarios and %d rows for %d examples", len(library), len(luaVerdicts), len(luaExamples))
	}
	for _, row := range luaVerdicts {
		t.Run(row.file, func(t *testing.T) {
			name := "lua:" + examples + row.file + ".lua"
			suited, interviews, warnedAlways := 0, 0, 0
			warned := map[string][]string{}
			for _, sc := range library {
				if target.Check(name, needs(t, sc), "") != nil {
					continue
				}
				suited++
				p := play(t, s, sc, name)
				var failed []string
				stepped := false
				for _, f := range p.Findings {
					switch {
					case f.Verdict == scenarios.Pass:
						continue
					case f.Check == row.always && f.Warn:
						warnedAlways++
					case sc.Name == "limit-steps" && inSteps[row.file]:
						stepped = true
					case f.Warn:
						warned[sc.Name] = append(warned[sc.Name], f.Check)
					default:
						failed = append(failed, f.Check)
						if f.Check != row.fails || f.Verdict != scenarios.Fail {
							t.Errorf("%s: %+v (%s)", sc.Name, f, row.why)
						}
					}
				}
				want := scenarios.Pass
				if stepped {
					want, failed = scenarios.Fail, []string{"conformance"}
				}
				if row.fails != "" {
					want = scenarios.Fail
				}
				if p.Verdict != want || want == scenarios.Fail && len(failed) != 1 {
					t.Errorf("%s: %s for %q, want %s for %q (%s)", sc.Name, p.Verdict, failed, want, row.fails, row.why)
				}
				interviews += len(p.oracle.Examined.Interviews)
				for _, check := range []string{"denies", "denied-is-free", "recovers"} {
					if !slices.Contains(p.asked(), check) {
						t.Errorf("%s: nothing was asked about %s", sc.Name, check)
					}
				}
			}
			if diff := cmp.Diff(row.warns, warned, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if row.always != "" && warnedAlways != suited {
				t.Errorf("%s warns under %d of %d scenarios", row.always, warnedAlways, suited)
			}
			if suited != row.suited || interviews < suited {
				t.Errorf("%d scenarios suit, want %d; %d interviews", suited, row.suited, interviews)
			}
		})
	}
}

// Whoever reads the server's clock takes no virtual scenario, and the one in real
// time.
func TestServerClockExampleUnderTheLibrary(t *testing.T) {
	name := "lua:" + examples + "server-window.lua"
	for _, b := range scenarios.Scripted() {
		sc, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			t.Fatal(err)
		}
		n := needs(t, sc)
		n.Policy, n.Names = "", false // which no script takes, by any clock
		err = target.Check(name, n, "")
		if (err == nil) != (sc.Clock == scenarios.Server) || err != nil && !strings.Contains(err.Error(), "use --clock server") {
			t.Errorf("%s by the clock %s: %v", b.Name, sc.Clock, err)
		}
	}
}
