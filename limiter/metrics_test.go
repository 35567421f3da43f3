package limiter

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOpenMetrics holds the text to the OpenMetrics grammar, and its numbers to
// what happened.
func TestOpenMetrics(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Policy = "login" })
	d.ask(t, 3)
	d.always(reply("OOM no memory"))
	d.ask(t, 2)
	d.always(refused)
	d.ask(t, 7)
	d.wait(time.Minute)
	other := newDesk(t, func(c *Config) { c.OnFailure, c.Counters = FailError, d.Counters() })
	other.always(silence)
	if _, err := other.Allow(t.Context(), Request{Key: "k"}); err == nil {
		t.Fatal("want an error")
	}
	got := exposed(t, d.Counters())
	for line, want := range map[string]float64{
		`decisions_total{policy="login",source="redis",allowed="true"}`:       3,
		`decisions_total{policy="login",source="redis",allowed="false"}`:      0,
		`decisions_total{policy="login",source="fail-open",allowed="true"}`:   9,
		`decisions_total{policy="default",source="redis",allowed="true"}`:     0,
		`undecided_total{policy="default"}`:                                   1,
		`undecided_total{policy="login"}`:                                     0,
		`errors_total{kind="answer"}`:                                         2,
		`errors_total{kind="dial"}`:                                           5,
		`errors_total{kind="circuit-open"}`:                                   2,
		`errors_total{kind="timeout"}`:                                        1,
		`answers_total{answer="OOM"}`:                                         2,
		`circuits_open`:                                                       1,
		`circuit_openings_total`:                                              1,
		`circuit_open_seconds_total`:                                          60,
		`forgotten_total{policy="login"}`:                                     0,
		`decisions_total{policy="login",source="local",allowed="false"}`:      0,
		`decisions_total{policy="login",source="fail-closed",allowed="true"}`: 0,
	} {
		if v, ok := got[metricPrefix+line]; !ok || v != want {
			t.Errorf("%s is %v, want %v", line, v, want)
		}
	}
}

// TestNoCountersYet: nothing was counted, and the text is valid all the same.
func TestNoCountersYet(t *testing.T) { exposed(t, new(Counters)) }

// TestLabelsAreEscaped: a label's value can hold anything.
func TestLabelsAreEscaped(t *testing.T) {
	c := new(Counters)
	c.trouble(TroubleAnswer, "a\"b\\c\nd")
	if got := exposed(t, c); got[metricPrefix+`answers_total{answer="a\"b\\c\nd"}`] != 1 {
		t.Errorf("got %v", slices.Collect(maps.Keys(got)))
	}
}

func TestMetricsTellOfWriteErrors(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	if err := new(Counters).WriteOpenMetrics(w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

var (
	metaForm   = regexp.MustCompile(`^# (TYPE|UNIT|HELP) (rlbench_limiter_[a-z_]+) (.+)$`)
	sampleForm = regexp.MustCompile(`^(rlbench_limiter_[a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z]+="(?:[^"\\\n]|\\["\\n])*")*\})? ([0-9.]+)$`)
)

// exposed parses the text strictly: families are whole and named once, counters
// end in _total, a unit is the end of the name, no sample comes twice.
func exposed(t *testing.T, c *Counters) map[string]float64 {
	t.Helper()
	var text bytes.Buffer
	if err := c.WriteOpenMetrics(&text); err != nil {
		t.Fatal(err)
	}
	all, families := map[string]float64{}, map[string]bool{}
	family, kind := "", ""
	body, ended := strings.CutSuffix(text.String(), "\n")
	if !ended || strings.Contains(body, "# EOF") {
		t.Fatalf("the text does not end with its last line:\n%s", text.String())
	}
	for line := range strings.SplitSeq(body, "\n") {
		if m := metaForm.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "TYPE":
				family, kind = m[2], m[3]
				if families[family] {
					t.Errorf("family %s comes twice", family)
				}
				families[family] = true
			case "UNIT":
				if !strings.HasSuffix(family, "_"+m[3]) {
					t.Errorf("family %s does not end with its unit %s", family, m[3])
				}
			}
			if m[2] != family {
				t.Errorf("%q within family %s", line, family)
			}
			continue
		}
		m := sampleForm.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not a sample: %q", line)
			continue
		}
		if want := family + map[string]string{"counter": "_total", "gauge": ""}[kind]; m[1] != want {
			t.Errorf("sample %s in family %s of kind %s", m[1], family, kind)
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if _, twice := all[m[1]+m[2]]; twice || err != nil {
			t.Errorf("%q: twice %t, error %v", line, twice, err)
		}
		all[m[1]+m[2]] = v
	}
	return all
}
