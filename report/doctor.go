package report

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// DoctorSchema names the version of the document of a check-up.
const DoctorSchema = "rlbench.doctor/v1"

// DoctorJSONSchema is the JSON Schema of a check-up. It is generated from the types in
// this package by "go test ./report -update".
//
//go:embed doctor_schema.json
var DoctorJSONSchema []byte

// Doctor says what would distort a measurement on this machine and this Redis.
type Doctor struct {
	Schema      string            `json:"schema" jsonschema:"enum=rlbench.doctor/v1"`
	Verdict     scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Interrupted bool              `json:"interrupted"`
	Command     []string          `json:"command"`
	Started     time.Time         `json:"started"`
	ElapsedUS   int64             `json:"elapsed_us"`
	Env         Env               `json:"env"`
	Checks      []Checkup         `json:"checks"`
}

// The statuses of a Checkup.
const (
	StatusOK   = "ok"
	StatusWarn = "warn" // figures will be worse than they could be
	StatusFail = "fail" // nothing can be measured, or what is measured is wrong
)

// Checkup is one thing that was looked at.
type Checkup struct {
	Name   string `json:"name"`
	Status string `json:"status" jsonschema:"enum=ok,enum=warn,enum=fail"`
	Found  string `json:"found"`
	Hint   string `json:"hint,omitempty"` // what to do about it
}

// Judge sets the verdict: that of what fails, and with fatal of what is only warned
// about too.
func (d *Doctor) Judge(fatal bool) {
	d.Verdict = scenarios.Pass
	for _, c := range d.Checks {
		if c.Status == StatusFail || fatal && c.Status == StatusWarn {
			d.Verdict = scenarios.Fail
		}
	}
	if d.Interrupted {
		d.Verdict = d.Verdict.Worse(scenarios.Inconclusive)
	}
}

// DoctorFormats is the table of all formats of check-ups.
var DoctorFormats = Formatters[*Doctor]{
	{"table", "a table for people, fitted to the terminal", renderDoctorTable},
	{"json", "the whole document, schema " + DoctorSchema, renderDoctorJSON},
}

func renderDoctorJSON(w io.Writer, d *Doctor, _ Options) error { return encode(w, "check-up", d) }

// renderDoctorTable writes a line for each check, with what to do under those that
// are not well.
func renderDoctorTable(w io.Writer, d *Doctor, o Options) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	widest := 0
	for _, c := range d.Checks {
		widest = max(widest, len(c.Name))
	}
	var b strings.Builder
	warned := 0
	for _, c := range d.Checks {
		if c.Status == StatusWarn {
			warned++
		}
		writeWrapped(&b, fmt.Sprintf("%-4s  %-*s  ", c.Status, widest, c.Name), c.Found, o.Width)
		if c.Status != StatusOK {
			writeWrapped(&b, "      hint: ", c.Hint, o.Width)
		}
	}
	text := server(d.Env.Redis) + ", " + machine(d.Env) + ", " + roundMicros(d.ElapsedUS)
	if warned > 0 {
		text += ", " + counted(int64(warned), "warning")
	}
	if failed := slices.ContainsFunc(d.Checks, func(c Checkup) bool { return c.Status == StatusFail }); !failed && d.Verdict == scenarios.Fail {
		text += ", which --fatal takes for a failure"
	}
	if d.Interrupted {
		text += ", interrupted"
	}
	b.WriteString("\n")
	writeWrapped(&b, strings.ToUpper(string(d.Verdict))+"  ", text, o.Width)
	_, err := io.WriteString(w, colouredStatus(b.String(), d, o))
	return err
}

// colouredStatus paints what a line begins with: its width is measured before.
func colouredStatus(text string, d *Doctor, o Options) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for word, v := range map[string]scenarios.Verdict{
			StatusOK: scenarios.Pass, StatusWarn: scenarios.Inconclusive, StatusFail: scenarios.Fail, strings.ToUpper(string(d.Verdict)): d.Verdict,
		} {
			if rest, ok := strings.CutPrefix(line, word+" "); ok {
				line = paint(v, word, o.Color) + " " + rest
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
