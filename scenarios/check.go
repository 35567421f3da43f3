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

var checkForm = regexp.MustCompile(`^\s*(?:([\w:./-]+)\s*:\s+)?([A-Za-z_]\w*)(?:@([\w.-]+))?\s*(==|!=|<=|>=|<|>)\s*(.*)$`)

// ParseCheck reads a check of the command line:
//
//	[algorithm: ]metric[@phase] op expression
//	log: peak_in_window <= limit
//	admitted@after-edge <= 2
func ParseCheck(text string) (Check, error) {
	m := checkForm.FindStringSubmatch(text)
	if m == nil || m[5] == "" {
		return Check{}, fmt.Errorf("check %q: want [algorithm: ]metric[@phase] op value, such as \"log: peak_in_window <= limit\"", text)
	}
	c := Check{Algorithm: m[1], Metric: m[2], Phase: m[3], Op: m[4]}
	metric, err := metricNamed(c.Metric)
	if err != nil {
		return Check{}, fmt.Errorf("check %q: %w", text, err)
	}
	value, err := ParseExpr(strings.TrimSpace(m[5]))
	if err != nil {
		return Check{}, fmt.Errorf("check %q: %w", text, err)
	}
	// Whether the value can be computed shows only with the limit of the run; a
	// wrong dimension shows with any.
	if q, err := value.Eval(BuiltinDefaults().Limit); err == nil && q.time != metric.dimension() {
		return Check{}, fmt.Errorf("check %q: %s", text, evalValue(value, BuiltinDefaults().Limit, metric))
	}
	c.Value = value
	return c, nil
}

// Validate reports whether the check's value can be computed for a limit.
func (c Check) Validate(l limiter.Limit) error {
	metric, err := metricNamed(c.Metric)
	if err == nil {
		err = evalValue(c.Value, l, metric)
	}
	if err != nil {
		return fmt.Errorf("check %q: limit %s: %w", c, l, err)
	}
	return nil
}
