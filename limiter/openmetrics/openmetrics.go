// Package openmetrics writes OpenMetrics 1.0 text, the part of it that counters of
// a limiter need: counters and gauges with labels. It is what limiter,
// limiter/httplimit and the demo API have in common; a service that has a metrics
// library of its own reads their Snapshot instead.
package openmetrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// ContentType is that of a whole exposition, which ends with EOF.
const (
	ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	EOF         = "# EOF\n"
)

// Text is an exposition in the making, without the EOF. The zero value is empty
// and ready. It is not safe for concurrent use.
type Text struct{ bytes.Buffer }

// Family is one metric family of a Text. Its samples follow before the next
// family begins.
type Family struct {
	text   *Text
	sample string // their name
}

// Counter begins a family of a value that only grows. Its samples have the name
// with "_total" behind. unit is "" if there is none, else also the name's last word.
func (t *Text) Counter(name, unit, help string) Family {
	t.begin(name, "counter", unit, help)
	return Family{t, name + "_total"}
}

// Gauge begins a family of a value that goes up and down.
func (t *Text) Gauge(name, unit, help string) Family {
	t.begin(name, "gauge", unit, help)
	return Family{t, name}
}

func (t *Text) begin(name, kind, unit, help string) {
	fmt.Fprintf(t, "# TYPE %s %s\n", name, kind)
	if unit != "" {
		fmt.Fprintf(t, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(t, "# HELP %s %s\n", name, escape.Replace(help))
}

// Count writes a sample; labels are names and values in turn.
func (f Family) Count(value int64, labels ...string) {
	f.write(strconv.FormatInt(value, 10), labels)
}

// Value writes a sample that need not be whole, such as one of seconds.
func (f Family) Value(value float64, labels ...string) {
	f.write(strconv.FormatFloat(value, 'f', -1, 64), labels)
}

func (f Family) write(value string, labels []string) {
	f.text.WriteString(f.sample)
	for i := 0; i+1 < len(labels); i += 2 {
		f.text.WriteByte("{,"[min(i, 1)])
		f.text.WriteString(labels[i] + `="` + escape.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 1 {
		f.text.WriteByte('}')
	}
	f.text.WriteString(" " + value + "\n")
}

// Within quotes and in a line of help the same three are escaped.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
