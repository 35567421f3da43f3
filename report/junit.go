package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// JUnit XML as Jenkins and GitLab read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitOutcome `xml:"failure"`
		Error   *junitOutcome `xml:"error"`
		Skipped *junitOutcome `xml:"skipped"`
	}
	junitOutcome struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// renderJUnit writes a suite for each scenario and a test case for each check of each
// limiter. What fails is a failure, what is inconclusive an error, and a warning is
// skipped. A run that was not decided as a whole is an error even if no check says so.
func renderJUnit(w io.Writer, r *Report, _ Options) error {
	all := junitSuites{Name: "rlbench", Time: seconds(r.ElapsedUS)}
	for i := range r.Scenarios {
		all.Suites = append(all.Suites, suiteOf(r, &r.Scenarios[i]))
	}
	if own := runSuite(r); len(own.Cases) > 0 {
		all.Suites = append(all.Suites, own)
	}
	return all.write(w)
}

// write counts the cases and writes them all.
func (all *junitSuites) write(w io.Writer) error {
	for i := range all.Suites {
		s := &all.Suites[i]
		s.count()
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("encode junit: %w", err)
	}
	b.WriteString("\n")
	_, err := w.Write(b.Bytes())
	return err
}

func seconds(us int64) string { return strconv.FormatFloat(float64(us)/1e6, 'f', 3, 64) }

func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

func suiteOf(r *Report, s *Scenario) junitSuite {
	suite := junitSuite{Name: printable(s.Name), Timestamp: r.Started.Format(time.DateOnly + "T15:04:05")}
	for _, p := range [][2]string{
		{"limit", s.limit().String()},
		{"clock", string(s.Clock)},
		{"seed", strconv.FormatUint(s.Seed, 10)},
		{"plan", s.SHA256},
		{"runs", runsMade(r, s)},
		{"redis", server(r.Env.Redis)},
		{"rlbench", r.Env.Rlbench},
		{"machine", machine(r.Env)},
		{"command", strings.Join(r.Command, " ")},
	} {
		suite.Properties = append(suite.Properties, junitProperty{p[0], printable(p[1])})
	}
	for _, row := range r.Rows {
		if row.Scenario == s.Name && row.Phase == "" && row.Run > 0 {
			suite.Cases = append(suite.Cases, decidedCase(r, s, &row))
		}
	}
	for _, f := range r.Findings {
		if f.Scenario == s.Name {
			suite.Cases = append(suite.Cases, caseOf(s, f))
		}
	}
	return suite
}

// decidedCase is about a run itself: was it all sent and decided, so that its checks
// mean something? A verdict that no finding explains is this one's.
func decidedCase(r *Report, s *Scenario, row *Row) junitCase {
	c := junitCase{Class: class(row.Scenario, row.Limiter), Name: caseName("decided", s, "", row.Run, row.Control)}
	explained := slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Scenario == row.Scenario && f.Limiter == row.Limiter && f.Run == row.Run && f.Control == row.Control && f.Verdict == row.Verdict && !f.Warn
	})
	if row.Verdict == scenarios.Pass || explained {
		return c
	}
	o := &junitOutcome{Type: string(row.Verdict), Message: fmt.Sprintf("%d planned: %d admitted, %d denied, %s, %d of unknown fate, %d not sent",
		row.Planned, row.Admitted, row.Denied, counted(row.Errored, "error"), row.Unknown, row.Missed)}
	for _, reason := range r.Reasons {
		o.Text += printable(reason.Code+": "+reason.Message) + "\n"
	}
	c.outcome(row.Verdict, false, o)
	return c
}

func caseOf(s *Scenario, f Finding) junitCase {
	c := junitCase{Class: class(f.Scenario, f.Limiter), Name: caseName(f.Check, s, f.Phase, f.Run, f.Control)}
	o := &junitOutcome{Type: string(f.Verdict), Message: printable(f.Message)}
	for _, line := range f.Evidence {
		o.Text += printable(line) + "\n"
	}
	c.outcome(f.Verdict, f.Warn, o)
	return c
}

// outcome says how a case ended.
func (c *junitCase) outcome(v scenarios.Verdict, warn bool, o *junitOutcome) {
	switch {
	case v == scenarios.Pass:
	case warn:
		o.Type = "warn"
		c.Skipped = o
	case v == scenarios.Fail:
		c.Failure = o
	default:
		c.Error = o
	}
}

// class is what test reports group by; dots in a name would make more groups.
func class(scenario, limiter string) string {
	return printable(strings.ReplaceAll(scenario, ".", "_") + "." + strings.ReplaceAll(limiter, ".", "_"))
}

func caseName(check string, s *Scenario, phase string, run int, control bool) string {
	name := check
	if phase != "" {
		name += ", phase " + phase
	}
	if s.Runs > 1 && run > 0 {
		name += ", run " + strconv.Itoa(run)
	}
	if control {
		name += ", without the fault"
	}
	return printable(name)
}

// runSuite has a case for each reason why the run as a whole is not to be trusted, and
// so is not empty where no scenario was run.
func runSuite(r *Report) junitSuite {
	suite := junitSuite{Name: "rlbench", Timestamp: r.Started.Format(time.DateOnly + "T15:04:05"), Properties: []junitProperty{}}
	for _, reason := range reasonsOnce(r) {
		c := junitCase{Class: "rlbench.run", Name: printable(reason.Code)}
		c.Error = &junitOutcome{Type: reason.Code, Message: printable(reason.Message), Text: printable(reason.Hint)}
		suite.Cases = append(suite.Cases, c)
	}
	if len(r.Scenarios) == 0 {
		c := junitCase{Class: "rlbench.run", Name: "run"}
		c.Error = &junitOutcome{Type: string(r.Verdict), Message: "no scenario was run"}
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}
