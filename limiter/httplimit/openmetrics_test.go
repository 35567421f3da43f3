package httplimit_test

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

var (
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)$`)
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\\n"]|\\[\\n"])+)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[^"]|"(?:[^"\\]|\\.)*")*)\} ([0-9]+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,|$)`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)
)

// parseOpenMetrics is a strict reader of the part of OpenMetrics 1.0 that is
// written here: families one after another, TYPE and HELP first and once,
// counters with _total, no sample twice, # EOF at the very end.
func parseOpenMetrics(text string) (map[string]int64, error) {
	body, found := strings.CutSuffix(text, "# EOF\n")
	if !found {
		return nil, errors.New("no # EOF at the end")
	}
	samples, families := map[string]int64{}, map[string]bool{}
	family, kind, helped := "", "", false
	for n, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		switch typed, help, sample := typeLine.FindStringSubmatch(line), helpLine.FindStringSubmatch(line), sampleLine.FindStringSubmatch(line); {
		case typed != nil:
			if families[typed[1]] {
				return nil, fmt.Errorf("line %d: family %s again", n+1, typed[1])
			}
			family, kind, helped = typed[1], typed[2], false
			families[family] = true
		case help != nil:
			if help[1] != family || helped {
				return nil, fmt.Errorf("line %d: stray help", n+1)
			}
			helped = true
		case sample != nil:
			name := family
			if kind == "counter" {
				name += "_total"
			}
			if sample[1] != name {
				return nil, fmt.Errorf("line %d: %s in family %s", n+1, sample[1], family)
			}
			labels, err := parseLabels(sample[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			key := name + labels
			if _, twice := samples[key]; twice {
				return nil, fmt.Errorf("line %d: sample twice", n+1)
			}
			samples[key], err = strconv.ParseInt(sample[3], 10, 64)
			if err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("line %d: %q", n+1, line)
		}
	}
	return samples, nil
}

func parseLabels(text string) (string, error) {
	var values []string
	for text != "" {
		pair := labelPair.FindStringSubmatch(text)
		if pair == nil {
			return "", fmt.Errorf("label %q", text)
		}
		values = append(values, pair[1]+"="+unescape.Replace(pair[2]))
		text = text[len(pair[0]):]
	}
	return "{" + strings.Join(values, ",") + "}", nil
}

func TestMetrics(t *testing.T) {
	odd := append([]limiter.Policy{{Name: `o"d\d`, Algorithm: limiter.Log, Limit: policies[0].Limit}}, policies...)
	c := service(newMemory(odd))
	c.Policies = odd
	c.Default = httplimit.Route{Charges: []httplimit.Charge{{Policy: `o"d\d`}}}
	m := newLimit(t, c)
	h := m.Wrap(ok)
	for range 13 {
		send(h, "a", "GET", "/api/v1/search")
	}
	send(h, "a", "GET", "/")
	send(h, "", "GET", "/")

	more := func(w io.Writer) error {
		_, err := io.WriteString(w, "# TYPE circuit gauge\n# HELP circuit State.\ncircuit{state=\"open\"} 1\n")
		return err
	}
	w := send(httplimit.Metrics(m.Counters().WriteOpenMetrics, more), "", "GET", "/metrics")
	if got := w.Header().Get("Content-Type"); got != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	samples, err := parseOpenMetrics(w.Body.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.Body)
	}
	for key, want := range map[string]int64{
		`ratelimit_requests_total{outcome=admitted}`:                      11,
		`ratelimit_requests_total{outcome=denied}`:                        3,
		`ratelimit_requests_total{outcome=unidentified}`:                  1,
		`ratelimit_requests_total{outcome=errored}`:                       0,
		`ratelimit_decisions_total{policy=search,outcome=admitted}`:       10,
		`ratelimit_decisions_total{policy=search,outcome=denied}`:         3,
		`ratelimit_decisions_total{policy=global,outcome=uncharged}`:      3,
		`ratelimit_decisions_total{policy=o"d\d,outcome=admitted}`:        1,
		`ratelimit_decisions_total{policy=feed,outcome=would_deny}`:       0,
		`ratelimit_failure_decisions_total{policy=feed,source=fail-open}`: 0,
		`ratelimit_errors_total{policy=feed}`:                             0,
		`circuit{state=open}`:                                             1,
	} {
		if got, found := samples[key]; !found || got != want {
			t.Errorf("%s is %d (there: %t), want %d", key, got, found, want)
		}
	}
}

// Half an exposition would be taken for all of it.
func TestMetricsFailWhole(t *testing.T) {
	good := newLimit(t, service(newMemory(policies))).Counters()
	bad := func(io.Writer) error { return errors.New("10.1.2.3 is away") }
	w := send(httplimit.Metrics(good.WriteOpenMetrics, bad), "", "GET", "/metrics")
	if w.Code != 500 || strings.Contains(w.Body.String(), "ratelimit") || strings.Contains(w.Body.String(), "10.1") {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

// The reader of these tests notices what it is there for.
func TestParserIsStrict(t *testing.T) {
	good := "# TYPE a counter\n# HELP a Text.\na_total{x=\"1\"} 1\n"
	if _, err := parseOpenMetrics(good + "# EOF\n"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		good, good + "# EOF", good + good + "# EOF\n", good + "a_total{x=\"1\"} 2\n# EOF\n", "\n" + good + "# EOF\n",
		"# TYPE a counter\na{x=\"1\"} 1\n# EOF\n", "# TYPE a counter\na_total{x=\"\"\"} 1\n# EOF\n", "b_total{} 1\n# EOF\n",
		"# TYPE a counter\na_total{x=\"\\x\"} 1\n# EOF\n",
	} {
		if _, err := parseOpenMetrics(bad); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}
