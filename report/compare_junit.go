package report

import (
	"fmt"
	"io"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// renderComparisonJUnit writes a suite for each scenario and a test case for each figure of
// each limiter. What got worse is a failure; what is undecided, and what is missing from the
// new report, an error; what got better passes. What the gate lets pass is skipped, so that
// a page of test results is as red as the job.
func renderComparisonJUnit(w io.Writer, c *Comparison, _ Options) error {
	all := junitSuites{Name: "rlbench compare", Time: seconds(0)}
	places := map[string]int{}
	at := func(name string) *junitSuite {
		if i, ok := places[name]; ok {
			return &all.Suites[i]
		}
		places[name] = len(all.Suites)
		all.Suites = append(all.Suites, junitSuite{
			Name: printable(name), Timestamp: c.New.Started.Format(time.DateOnly + "T15:04:05"),
			Properties: []junitProperty{{"old", printable(c.Old.Name)}, {"new", printable(c.New.Name)}, {"alpha", value{c.Alpha, true}.String()}, {"min-effect", plainShare(c.MinEffect)}, {"fail-on", c.FailOn}},
		})
		return &all.Suites[len(all.Suites)-1]
	}
	for i := range c.Rows {
		s := at(c.Rows[i].Scenario)
		s.Cases = append(s.Cases, c.testCase(c.Rows[i]))
	}
	for _, lost := range c.Missing {
		one := c.testCase(Compared{Subject: lost, Metric: "present"})
		one.outcome(scenarios.Inconclusive, c.passes(scenarios.Inconclusive, false), &junitOutcome{Type: "missing", Message: printable(lost.Limiter + " is in " + c.Old.Name + " and not in " + c.New.Name)})
		s := at(lost.Scenario)
		s.Cases = append(s.Cases, one)
	}
	if own := c.ownVerdict(); own != "" {
		one := junitCase{Class: "rlbench.compare", Name: "new result"}
		one.outcome(c.New.Verdict, !c.OwnGate && c.passes(c.New.Verdict, true), &junitOutcome{Type: string(c.New.Verdict), Message: printable(own)})
		s := at("rlbench compare")
		s.Cases = append(s.Cases, one)
	}
	return all.write(w)
}

// testCase is a row as a test case.
func (c *Comparison) testCase(d Compared) junitCase {
	name := d.Metric
	if d.Control {
		name += ", without the fault"
	}
	one := junitCase{Class: class(d.Scenario, d.Limiter), Name: printable(name)}
	if v := verdictOf(d.Change); v != scenarios.Pass {
		cells := d.cells()
		one.outcome(v, c.passes(v, false), &junitOutcome{Type: d.Change, Message: fmt.Sprintf("%s: %s was %s and is %s (%s)", d.word(), d.Metric, cells[2], cells[3], cells[4])})
	}
	return one
}
