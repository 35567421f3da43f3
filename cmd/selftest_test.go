package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

func found(checks ...string) []scenarios.Finding {
	var findings []scenarios.Finding
	for _, c := range checks {
		findings = append(findings, scenarios.Finding{Check: c, Verdict: scenarios.Fail, Message: "seen by " + c})
	}
	return findings
}

// A selftest that could not fail would prove nothing.
func TestSelftestVerdicts(t *testing.T) {
	bug := &faulty.Specimen{Name: "bug", Doc: "is wrong", Scenario: "herd", Check: "ttl"}
	alone := &faulty.Specimen{Name: "lone", Doc: "is wrong", Scenario: "herd", Check: "ttl", Only: true}
	written := &faulty.Specimen{Name: "written", Doc: "is wrong", Scenario: "herd", Check: "checks"}
	specimen := func(s *faulty.Specimen, checks ...string) result {
		return result{scenario: "herd", limiter: "faulty:" + s.Name, seed: 1, specimen: s, verdict: scenarios.Fail, findings: found(checks...)}
	}
	sound := func(v scenarios.Verdict, checks ...string) result {
		return result{scenario: "herd", limiter: "log", seed: 7, verdict: v, findings: found(checks...)}
	}
	for _, row := range []struct {
		why      string
		results  []result
		complete bool
		code     int
		text     string
	}{
		{"all is well", []result{specimen(bug, "ttl"), sound(scenarios.Pass)}, true, 0, "1 of "},
		{"others may find it too", []result{specimen(bug, "heal", "ttl")}, true, 0, "PASS"},
		{"nobody found it", []result{specimen(bug)}, true, 1, "SURVIVED bug: is wrong under herd has to be found by ttl, was found by nothing"},
		{"only others found it", []result{specimen(bug, "heal")}, true, 1, "was found by heal"},
		{"it had to be found by one alone", []result{specimen(alone, "ttl", "heal")}, true, 1, "has to be found by ttl alone, was found by ttl, heal"},
		{"found by that one alone", []result{specimen(alone, "ttl")}, true, 0, "PASS"},
		{"a written check is known by its text", []result{specimen(written, "admitted == 2*limit")}, true, 0, "PASS"},
		{"a built-in check is no written one", []result{specimen(written, "ttl")}, true, 1, "was found by ttl"},
		{"a sound limiter is accused", []result{sound(scenarios.Fail, "retry")}, true, 1, "ACCUSED log under herd, seed 7, by retry: seen by retry"},
		{"nobody knows", []result{sound(scenarios.Inconclusive, "evidence")}, true, 3, "INCONCLUSIVE log under herd, seed 7"},
		{"it did not get to the end", []result{sound(scenarios.Pass)}, false, 3, "INCONCLUSIVE  redis"},
		{"an accusation is worse than a doubt", []result{sound(scenarios.Fail, "retry"), sound(scenarios.Inconclusive, "evidence")}, true, 1, "1 accused, 1 inconclusive"},
	} {
		s := &selftest{selftestOptions: &selftestOptions{part: "all"}, experiment: &experiment{app: &app{}}, complete: row.complete}
		var out strings.Builder
		code := s.tell(&out, row.results, report.Env{}, time.Second)
		if code != row.code || !strings.Contains(out.String(), row.text) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", row.why, code, row.code, row.text, out.String())
		}
	}
}
