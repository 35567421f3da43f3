package report_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// junitElement is what the schema that Jenkins checks JUnit files against, junit-10,
// allows in an element.
type junitElement struct {
	required, optional, children []string
	text                         bool
}

var junitSchema = map[string]junitElement{
	"testsuites": {optional: []string{"name", "time", "tests", "failures", "errors"}, children: []string{"testsuite"}},
	"testsuite": {
		required: []string{"name", "tests", "failures", "errors"},
		optional: []string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
		children: []string{"testsuite", "properties", "testcase", "system-out", "system-err"},
	},
	"properties": {children: []string{"property"}},
	"property":   {required: []string{"name", "value"}},
	"testcase": {
		required: []string{"name"}, optional: []string{"time", "classname", "group"},
		children: []string{"skipped", "error", "failure", "rerunFailure", "rerunError", "flakyFailure", "flakyError", "system-out", "system-err"},
	},
	"failure": {optional: []string{"type", "message"}, text: true},
	"error":   {optional: []string{"type", "message"}, text: true},
	"skipped": {optional: []string{"type", "message"}, text: true},
}

// surefireTime is the form of a time in it.
var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// validJUnit says what a document has that the schema does not allow.
func validJUnit(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if len(open) == 0 && name != "testsuites" || len(open) > 0 && !slices.Contains(junitSchema[open[len(open)-1]].children, name) {
				return fmt.Errorf("%s within %q", name, open)
			}
			if err := validAttributes(name, token.Attr); err != nil {
				return err
			}
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" && !junitSchema[open[len(open)-1]].text {
				return fmt.Errorf("text %q within %q", text, open)
			}
		}
	}
}

func validAttributes(name string, attributes []xml.Attr) error {
	element, ok := junitSchema[name]
	if !ok {
		return fmt.Errorf("no element %s", name)
	}
	left := slices.Clone(element.required)
	for _, a := range attributes {
		if !slices.Contains(element.required, a.Name.Local) && !slices.Contains(element.optional, a.Name.Local) {
			return fmt.Errorf("%s has an attribute %s", name, a.Name.Local)
		}
		if a.Name.Local == "time" && !surefireTime.MatchString(a.Value) {
			return fmt.Errorf("%s has a time of %q", name, a.Value)
		}
		left = slices.DeleteFunc(left, func(s string) bool { return s == a.Name.Local })
	}
	if len(left) > 0 {
		return fmt.Errorf("%s lacks %q", name, left)
	}
	return nil
}

func TestJUnitIsValid(t *testing.T) {
	for _, c := range append(fixtures(t), hostile(t)...) {
		if err := validJUnit(render(t, "junit", c.report, report.Options{})); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, broken := range []string{"<testsuite/>", "<testsuites><testcase/></testsuites>", `<testsuites skipped="1"/>`, `<testsuites time="1s"/>`, "<testsuites>x</testsuites>", "<testsuites>"} {
		if validJUnit([]byte(broken)) == nil {
			t.Errorf("%s is accepted", broken)
		}
	}
}

// junitFile is what readers of JUnit files look at.
type junitFile struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Suites   []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Class   string    `xml:"classname,attr"`
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// A case for each check of each limiter: as many as there are findings, and one for
// each run. What is not green in the report is not green here, and the other way round.
func TestJUnitSaysWhatTheReportSays(t *testing.T) {
	for _, c := range fixtures(t) {
		var file junitFile
		if err := xml.Unmarshal(render(t, "junit", c.report, report.Options{}), &file); err != nil {
			t.Fatal(err)
		}
		var failed, unsure, warned, runs int
		for _, f := range c.report.Findings {
			switch {
			case f.Verdict == scenarios.Pass:
			case f.Warn:
				warned++
			case f.Verdict == scenarios.Fail:
				failed++
			default:
				unsure++
			}
		}
		for _, row := range c.report.Rows {
			if row.Phase == "" && row.Run > 0 {
				runs++
			}
		}
		errs, skipped, cases := 0, 0, 0
		names := map[string]bool{}
		for _, s := range file.Suites {
			errs, skipped = errs+s.Errors, skipped+s.Skipped
			if len(s.Cases) != s.Tests || s.Tests == 0 {
				t.Errorf("%s: suite %s says %d tests and has %d", c.name, s.Name, s.Tests, len(s.Cases))
			}
			if s.Name == "rlbench" {
				continue
			}
			cases += len(s.Cases)
			for _, one := range s.Cases {
				id := s.Name + one.Class + one.Name
				if names[id] {
					t.Errorf("%s: two cases %s", c.name, id)
				}
				names[id] = true
			}
		}
		if file.Failures != failed || errs != file.Errors || skipped != warned || cases != len(c.report.Findings)+runs {
			t.Errorf("%s: %d failures, %d errors, %d skipped, %d cases; the report has %d, at least %d, %d and %d", c.name,
				file.Failures, file.Errors, skipped, cases, failed, unsure, warned, len(c.report.Findings)+runs)
		}
		if green := file.Failures+file.Errors == 0; green != (c.report.Verdict == scenarios.Pass) || file.Errors < unsure {
			t.Errorf("%s: %d failures and %d errors at verdict %s", c.name, file.Failures, file.Errors, c.report.Verdict)
		}
	}
}
