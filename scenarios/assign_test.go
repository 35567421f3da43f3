package scenarios_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/scenarios"
)

const assignable = `version: 1
name: x
limit: 10/1s
phases:
  - {name: first, shape: burst, count: limit}
  - {name: second, shape: burst, count: 2*limit}
checks:
  - {metric: admitted, op: "<=", value: limit}
`

func assigned(t *testing.T, texts ...string) (*scenarios.Scenario, error) {
	t.Helper()
	var set []scenarios.Assignment
	for _, text := range texts {
		a, err := scenarios.ParseAssignment(text)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, a)
	}
	return scenarios.Read(strings.NewReader(assignable), "x.yaml", scenarios.BuiltinDefaults(), set...)
}

func TestParseAssignment(t *testing.T) {
	for _, row := range []struct {
		text string
		want scenarios.Assignment
		why  string
	}{
		{"limit=5/1s", scenarios.Assignment{Path: "limit", Value: "5/1s"}, "the plain form"},
		{"description=a=b", scenarios.Assignment{Path: "description", Value: "a=b"}, "only the first = splits"},
		{"description=", scenarios.Assignment{Path: "description"}, "the value may be nothing; whether that is allowed is the path's matter"},
		{"phases.0.at= 5s ", scenarios.Assignment{Path: "phases.0.at", Value: " 5s "}, "blanks are YAML's matter"},
	} {
		if got, err := scenarios.ParseAssignment(row.text); err != nil || got != row.want {
			t.Errorf("%q: got %+v and %v, want %+v (%s)", row.text, got, err, row.want, row.why)
		}
	}
	for _, text := range []string{"", "limit", "=5", "limit:5"} {
		want := `assignment "` + text + `": want path=value, such as phases.after-edge.count=50`
		if got, err := scenarios.ParseAssignment(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %+v and %v, want %s", text, got, err, want)
		}
	}
}

func TestAssignments(t *testing.T) {
	first := func(s *scenarios.Scenario) string { return s.Phases[0].Count.String() }
	second := func(s *scenarios.Scenario) string { return s.Phases[1].Count.String() }
	for _, row := range []struct {
		set  []string
		look func(*scenarios.Scenario) string
		want string
		why  string
	}{
		{[]string{"limit=5/2s"}, func(s *scenarios.Scenario) string { return s.Limit.String() }, "5/2s", "a key of the scenario"},
		{[]string{"phases.first.count=7"}, first, "7", "a phase by its name"},
		{[]string{"phases.1.count=limit/2"}, second, "limit/2", "a phase by its position, and an expression"},
		{[]string{"phases.first.count=7", "phases.0.count=8"}, first, "8", "the last of two wins"},
		{[]string{"phases.second.name=third", "phases.third.count=9"}, second, "9", "the second sees what the first has changed"},
		{[]string{"phases.first.cost=3"}, func(s *scenarios.Scenario) string { return s.Phases[0].Cost.String() }, "3", "a key that a phase did not have yet"},
		{[]string{"seed=99"}, func(s *scenarios.Scenario) string { return strings.Repeat("!", int(s.Seed-98)) }, "!", "a key that the scenario did not have yet"},
		{[]string{"keys={count: 5}"}, func(s *scenarios.Scenario) string { return strings.Repeat("k", s.Keys.Count) }, "kkkkk", "a whole mapping"},
		{[]string{"keys={}", "keys.count=3"}, func(s *scenarios.Scenario) string { return strings.Repeat("k", s.Keys.Count) }, "kkk", "a key of a mapping that is new itself"},
		{[]string{"phases=[{name: only, shape: burst, count: 1}]"}, func(s *scenarios.Scenario) string { return s.Phases[0].Name }, "only", "a whole list"},
		{[]string{"checks.0.value=2*limit"}, func(s *scenarios.Scenario) string { return s.Checks[0].String() }, "admitted <= 2*limit", "a check, which has no name"},
		{[]string{"keys.zipf.s=1.2"}, func(s *scenarios.Scenario) string { return fmt.Sprintf("%s %g", s.Keys.Distribution, s.Keys.S) }, "zipf 1.2", "a mapping in a mapping, both new"},
		{[]string{"keys.count=3", "keys.zipf.s=2"}, func(s *scenarios.Scenario) string { return fmt.Sprintf("%d %g", s.Keys.Count, s.Keys.S) }, "3 2", "one in another that is there by now"},
		{[]string{"phases.first.retry.mode=constant", "phases.first.retry.wait=2s"}, func(s *scenarios.Scenario) string {
			return s.Phases[0].Retry.Mode + " " + s.Phases[0].Retry.Wait.String()
		}, "constant 2s", "two parts of a new mapping of a phase"},
		{[]string{"phases.0.repeat={times: 2, every: 1s}", "phases.first.repeat.times=5"}, func(s *scenarios.Scenario) string { return s.Phases[0].Repeat.Times.String() }, "5", "a part of one that was set as a whole"},
		{[]string{"drain=2*window"}, func(s *scenarios.Scenario) string { return s.Drain.String() }, "2*window", "a wait"},
		{[]string{"phases.second.pseudonym=4"}, func(s *scenarios.Scenario) string { return fmt.Sprint(s.Phases[1].Pseudonym) }, "4", "a number"},
		{[]string{"on_failure=closed"}, func(s *scenarios.Scenario) string { return s.OnFailure }, "closed", "a key that the scenario did not have"},
		{[]string{"faults=[{at: first, kind: restart}]", "faults.0.at=second"}, faultsOf, "restart second", "a fault, which has no name"},
		{[]string{"faults=[{at: first, for: 1s, kind: latency, delay: 1s}]", "faults.0.delay=2*window", "faults.0.every=3"}, func(s *scenarios.Scenario) string {
			return s.Faults[0].Delay.String() + " " + s.Faults[0].Every.String()
		}, "2*window 3", "fields of a fault, old and new"},
		{[]string{"faults.+={at: first, kind: restart}", "faults.+={at: edge - 1s, kind: script-flush}"}, faultsOf, "restart first, script-flush edge - 1s", "a list that was not there, and one more"},
		{[]string{"checks.+={metric: sent, op: '==', value: 3}"}, func(s *scenarios.Scenario) string { return s.Checks[1].String() }, "sent == 3", "one more of a list that was there"},
		{[]string{"phases.+={name: third, shape: burst, count: 3}"}, func(s *scenarios.Scenario) string { return s.Phases[2].Name }, "third", "one more phase"},
		{[]string{"description='a = b: c'"}, func(s *scenarios.Scenario) string { return s.Description }, "a = b: c", "a quoted text"},
	} {
		s, err := assigned(t, row.set...)
		if err != nil {
			t.Errorf("%q: %v (%s)", row.set, err, row.why)
			continue
		}
		if got := row.look(s); got != row.want {
			t.Errorf("%q: got %s, want %s (%s)", row.set, got, row.want, row.why)
		}
	}
}

func TestAssignmentsThatCannotBeMade(t *testing.T) {
	for _, row := range []struct{ set, want, why string }{
		{
			"phases.frist.count=1", `x.yaml: set phases.frist.count=1: nothing is called "frist" there (did you mean "first"?); there is first, second`,
			"a typo in the name of a phase",
		},
		{
			"phases.2.count=1", `x.yaml: set phases.2.count=1: nothing is called "2" there; there is first, second`,
			"a position behind the last",
		},
		{
			"phase.first.count=1", `x.yaml: set phase.first.count=1: nothing is called "phase" there (did you mean "phases"?); there is version, name, limit, phases, checks`,
			"a typo in the middle of a path",
		},
		{
			"limits=5/1s", `x.yaml: unknown key "limits" in the scenario (did you mean "limit"?); known: version, name, description, limit, clock, seed, keys, phases, checks, faults, on_failure, edge_tier, service, max_in_flight, timeout, drain, late, overload`,
			"a typo at the end of a path is a new key, which is unknown",
		},
		{
			"limit.max=5", `x.yaml: set limit.max=5: limit is a single value and has no parts`,
			"a path into a value",
		},
		{
			"phases.first.count=[", `x.yaml: set phases.first.count=[: the value is not YAML`,
			"a value that is not YAML",
		},
		{
			"phases.first.count=*x", `x.yaml: set phases.first.count=*x: the value is not YAML`,
			"an alias of nothing",
		},
		{
			"limit=", `x.yaml: set limit=: the value is not YAML`,
			"no value at all",
		},
		{
			"limit=60", `x.yaml: limit "60": want count/window, such as 100/1m`,
			"a value that the scenario refuses has no place in the file",
		},
		{
			"phases.second.name=first", `x.yaml:6:5: two phases are called "first"
    - {name: second, shape: burst, count: 2*limit}
      ^`,
			"a value that clashes with one of the file",
		},
		{
			"phases.first.retry.wait=2s", `x.yaml: retry has no "mode"`,
			"half of a new mapping",
		},
		{
			"phases.first.rety.wait=2s", `x.yaml: set phases.first.rety.wait=2s: nothing is called "rety" there; there is name, shape, count`,
			"a typo in the name of a mapping that is not there",
		},
		{
			"phases.first.count.max=2", `x.yaml: set phases.first.count.max=2: phases.first.count is a single value and has no parts`,
			"a path into a value of a phase",
		},
		{
			"keys.zipf.s=0", `x.yaml: zipf s "0": want a number above 0, at most 20`,
			"a value that a new mapping refuses",
		},
		{
			"keys.zpf.s=1", `x.yaml: set keys.zpf.s=1: nothing is called "zpf" there; there is nothing`,
			"a typo in a mapping that is new itself",
		},
		{
			"phases.+.count=5", `x.yaml: set phases.+.count=5: nothing is called "+" there; there is first, second`,
			"+ adds a whole element",
		},
		{
			"limit.+=5", `x.yaml: set limit.+=5: limit is a single value and has no parts`,
			"+ adds to lists",
		},
		{
			"fault.+={at: first, kind: restart}", `x.yaml: set fault.+={at: first, kind: restart}: nothing is called "fault" there; there is version, name, limit, phases, checks`,
			"a list that is none",
		},
		{
			"faults.+={at: first, kind: latency}", `x.yaml: fault latency: it needs "delay"`,
			"a fault that is refused has no place in the file",
		},
		{
			"faults.0.every=2", `x.yaml: set faults.0.every=2: nothing is called "faults" there; there is version, name, limit, phases, checks`,
			"a part of a fault that is not there",
		},
		{
			".limit=5/1s", `x.yaml: set .limit=5/1s: nothing is called "" there; there is version, name, limit, phases, checks`,
			"an empty step",
		},
	} {
		s, err := assigned(t, row.set)
		if err == nil || err.Error() != row.want {
			t.Errorf("%s: got %v and\n%v\nwant\n%s\n(%s)", row.set, s, err, row.want, row.why)
		}
	}
}

// faultsOf are the faults of a scenario with their places.
func faultsOf(s *scenarios.Scenario) string {
	var all []string
	for _, f := range s.Faults {
		all = append(all, f.Kind+" "+f.Phase+f.At.String())
	}
	return strings.Join(all, ", ")
}

// Two mistakes on the command line are both told, and so are those of the file.
func TestAllAssignmentsAreTried(t *testing.T) {
	_, err := assigned(t, "phases.x.count=1", "limit=5", "phases.first.shape=brust")
	var problems scenarios.Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Errorf("got %v, want three problems", err)
	}
	if _, err := assigned(t); err != nil {
		t.Errorf("without any: %v", err)
	}
}

// An assignment to one of several places that share an anchor changes that one.
func TestAnAssignmentChangesOnePlaceOnly(t *testing.T) {
	const file = "version: 1\nname: x\nphases:\n- {name: a, shape: burst, count: 1}\nchecks:\n- &c {metric: sent, op: ==, value: 1}\n- *c\n"
	s, err := scenarios.Read(strings.NewReader(file), "x.yaml", scenarios.BuiltinDefaults(), scenarios.Assignment{Path: "checks.1.value", Value: "2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Checks[0].String() + ", " + s.Checks[1].String(); got != "sent == 1, sent == 2" {
		t.Errorf("got %s, want sent == 1, sent == 2", got)
	}
}
