package cmd

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// metrics are samples by name and labels.
type metrics map[string]float64

func (m metrics) want(t *testing.T, sample string, value float64) {
	t.Helper()
	if got, ok := m[sample]; !ok || got != value {
		t.Errorf("%s is %v (%t), want %v", sample, got, ok, value)
	}
}

func (s *serving) metrics(t *testing.T) metrics {
	t.Helper()
	r := s.get(t, "/metrics", "")
	if kind := r.header.Get("Content-Type"); r.status != 200 || kind != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		t.Errorf("metrics: %d %s", r.status, kind)
	}
	return openMetrics(t, r.body)
}

var (
	metricName = `[a-zA-Z_:][a-zA-Z0-9_:]*`
	aLabel     = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`
	metaLine   = regexp.MustCompile(`^# (TYPE|UNIT|HELP) (` + metricName + `) (.+)$`)
	sampleLine = regexp.MustCompile(`^(` + metricName + `)(\{` + aLabel + `(?:,` + aLabel + `)*\})? (\S+)$`)
	labelNames = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="`)
)

// openMetrics reads a text of OpenMetrics 1.0 as strictly as its specification:
// families are whole and told once, the type comes first, counters end with _total
// and do not fall below zero, a unit is in the name, no sample is there twice, and
// the end is marked.
func openMetrics(t *testing.T, text string) metrics {
	t.Helper()
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok {
		t.Errorf("the text does not end with # EOF")
	}
	samples, kinds, said, family := metrics{}, map[string]string{}, map[string]bool{}, ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if m := metaLine.FindStringSubmatch(line); m != nil {
			what, name, value := m[1], m[2], m[3]
			switch {
			case said[what+name]:
				t.Errorf("again: %s", line)
			case what == "TYPE" && kinds[name] != "", what != "TYPE" && name != family:
				t.Errorf("outside of its family: %s", line)
			case what == "TYPE" && value != "counter" && value != "gauge":
				t.Errorf("not a type of ours: %s", line)
			case what == "UNIT" && !strings.HasSuffix(name, "_"+value):
				t.Errorf("the unit is not in the name: %s", line)
			}
			said[what+name] = true
			if what == "TYPE" {
				family, kinds[name] = name, value
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not OpenMetrics: %q", line)
			continue
		}
		name, labels := m[1], m[2]
		want := family
		if kinds[family] == "counter" {
			want += "_total"
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if _, twice := samples[name+labels]; twice || name != want || err != nil || value < 0 {
			t.Errorf("%s, in family %s: %s (%v)", kinds[family], family, line, err)
		}
		seen := map[string]bool{}
		for _, l := range labelNames.FindAllStringSubmatch(labels, -1) {
			if seen[l[1]] {
				t.Errorf("label %s twice: %s", l[1], line)
			}
			seen[l[1]] = true
		}
		samples[name+labels] = value
	}
	return samples
}
