package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/limiter"
)

// An op compares what was measured with what was expected.
type op struct {
	name  string
	holds func(cmp int) bool // cmp is the sign of measured - expected
}

var ops = []op{
	{"==", func(cmp int) bool { return cmp == 0 }},
	{"!=", func(cmp int) bool { return cmp != 0 }},
	{"<=", func(cmp int) bool { return cmp <= 0 }},
	{"<", func(cmp int) bool { return cmp < 0 }},
	{">=", func(cmp int) bool { return cmp >= 0 }},
	{">", func(cmp int) bool { return cmp > 0 }},
}

// Holds reports whether "measured Op expected" is true.
func (c Check) Holds(measured, expected Quantity) bool {
	i := slices.IndexFunc(ops, func(o op) bool { return o.name == c.Op })
	return ops[i].holds(measured.Cmp(expected))
}

func opNames() []string {
	names := make([]string, len(ops))
	for i, o := range ops {
		names[i] = o.name
	}
	return names
}

var checkForm = regexp.MustCompile(`^\s*(?:([\w:./-]+)\s*:\s+)?([A-Za-z_]\w*)(?:@([\w.-]+))?\s*(==|!=|<=|>=|<|>)\s*(.+)$`)

// ParseCheck reads a check of the command line:
//
//	[algorithm: ]metric[@phase] op expression
//	log: peak_in_window <= limit
//	admitted@after-edge <= 2
func ParseCheck(text string) (Check, error) {
	m := checkForm.FindStringSubmatch(text)
	if m == nil {
		return Check{}, fmt.Errorf("check %q: want [algorithm: ]metric[@phase] op value, such as \"log: peak_in_window <= limit\"", text)
	}
	c := Check{Algorithm: m[1], Metric: m[2], Phase: m[3], Op: m[4]}
	if _, err := metricNamed(c.Metric); err != nil {
		return Check{}, fmt.Errorf("check %q: %w", text, err)
	}
	value, err := ParseExpr(strings.TrimSpace(m[5]))
	if err != nil {
		return Check{}, fmt.Errorf("check %q: %w", text, err)
	}
	if err := numberOf(value, BuiltinDefaults().Limit); err != nil {
		return Check{}, fmt.Errorf("check %q: %w", text, err)
	}
	c.Value = value
	return c, nil
}

// numberOf refuses expressions that are no number: every metric is one.
func numberOf(e Expr, l limiter.Limit) error {
	q, err := e.Eval(l)
	if err == nil && q.time != 0 {
		return fmt.Errorf("want a number, %s is %s", e, q.kind())
	}
	return err
}

// unknownName is the error for a name that is not in a closed list.
func unknownName(what, got string, known []string) error {
	return fmt.Errorf("unknown %s %q%s; known: %s", what, got, DidYouMean(got, known), strings.Join(known, ", "))
}
