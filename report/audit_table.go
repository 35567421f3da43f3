package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// renderAuditTable writes a line for each finding, then each with its examples and
// what to do, then what was not looked at.
func renderAuditTable(w io.Writer, a *Audit, o Options) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	var b strings.Builder
	writeWrapped(&b, "audit  ", swept(a), o.Width)
	if len(a.Findings) > 0 {
		b.WriteString("\n" + findingRows(a))
	}
	for _, f := range a.Findings {
		b.WriteString("\n")
		writeWrapped(&b, fmt.Sprintf("%s: [%s] ", f.Severity, f.Code), f.Message, o.Width)
		for _, e := range f.Examples {
			writeWrapped(&b, "  at ", e.text(), max(o.Width, longestExample))
		}
		writeWrapped(&b, "  hint: ", f.Hint, o.Width)
	}
	for _, u := range a.Unchecked {
		b.WriteString("\n")
		text := u.Message
		if u.Keys > 0 {
			text += fmt.Sprintf(" (%s)", counted(u.Keys, "key"))
		}
		writeWrapped(&b, "unchecked: ", text, o.Width)
		writeWrapped(&b, "  hint: ", u.Hint, o.Width)
	}
	summary := server(a.Env.Redis) + ", " + roundMicros(a.ElapsedUS)
	if a.Interrupted {
		summary += ", interrupted"
	}
	fmt.Fprintf(&b, "\n%s  %s\n", paint(a.Verdict, strings.ToUpper(string(a.Verdict)), o.Color), summary)
	_, err := io.WriteString(w, b.String())
	return err
}

// longestExample lets a key stay on one line, where it can be copied.
const longestExample = 250

func swept(a *Audit) string {
	text := fmt.Sprintf("%s, database %d: ", a.Sweep.Node, a.Sweep.Database)
	if a.Env.Redis.Flavour == "" {
		return "no Redis was opened"
	}
	text += counted(a.Sweep.Keys, "key") + " looked at"
	if a.Sweep.TotalKeys != nil {
		text += fmt.Sprintf(" of %d", *a.Sweep.TotalKeys)
	}
	if a.Sweep.KeyPrefix != "" {
		text += fmt.Sprintf(", those that begin with %q", a.Sweep.KeyPrefix)
	}
	text += ", " + counted(a.Sweep.Elements, "element") + " in them; "
	if a.Sweep.Addresses == 0 {
		return text + "no address was given, so hashed and packed ones were not looked for"
	}
	return text + counted(int64(a.Sweep.Addresses), "address") + " given"
}

// findingRows are the findings as a table.
func findingRows(a *Audit) string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, len(gap), ' ', 0)
	fmt.Fprintln(t, "\tfinding\tin\tkeys\tcount\tas")
	for _, f := range a.Findings {
		keys := "-"
		if f.Keys > 0 {
			keys = number(f.Keys)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\n", f.Severity, f.Code, cmp.Or(f.Place, "server"), keys, f.Count, f.Form)
	}
	_ = t.Flush() // a buffer takes everything
	var rows strings.Builder
	for line := range strings.Lines(b.String()) {
		rows.WriteString(strings.TrimRight(printable(line[:len(line)-1]), " ") + "\n")
	}
	return rows.String()
}

func (e AuditExample) text() string {
	text := e.Key
	if e.Shown != "" && !strings.Contains(text, e.Shown) {
		text = strings.TrimPrefix(text+" holds "+e.Shown, " holds ")
	}
	switch {
	case e.TTLUS != nil && e.MaxTTLUS != nil:
		text += fmt.Sprintf(" lives %s, want at most %s", lasting(*e.TTLUS), lasting(*e.MaxTTLUS))
	case e.TTLUS != nil:
		text += " lives " + lasting(*e.TTLUS)
	}
	return text
}

func lasting(us int64) string {
	return limiter.FormatDuration(time.Duration(us) * time.Microsecond)
}

func counted(n int64, what string) string { return scenarios.Counted(n, what) }
