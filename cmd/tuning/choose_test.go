package tuning

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/crowd"
)

func codes(d *report.Tuning) (all []string) {
	for _, r := range d.Reasons {
		all = append(all, r.Code)
	}
	return all
}

// What is not fit is not recommended even if nothing else was tried, and the reason against
// it is not given as one for it.
func TestWhatIsUnfitIsNotRecommended(t *testing.T) {
	path := written(t, logOf(traffic(4, 60, 2)))
	for _, row := range []struct {
		algorithms []string
		memory     int64
		against    string
	}{
		{[]string{"fixed"}, 1 << 20, "twice the limit"},
		{[]string{"log", "counter"}, 1, "more than the 1 B"},
	} {
		c := usual(path)
		c.Algorithms, c.Memory = row.algorithms, row.memory
		d := tuned(t, c).Document
		if d.Recommended != nil || d.Verdict != scenarios.Inconclusive || !slices.Contains(codes(d), "no-algorithm") || len(d.Rest) != len(row.algorithms) {
			t.Errorf("%v: verdict %s, %v, recommended %+v", row.algorithms, d.Verdict, codes(d), d.Recommended)
		}
		for _, r := range d.Rest {
			if r.Why != "" || !strings.Contains(r.Against, row.against) {
				t.Errorf("%s: why %q, against %q", r.Policy.Algorithm, r.Why, r.Against)
			}
		}
	}
	c := usual(path)
	c.Algorithms = []string{"fixed", "gcra", "log"}
	d := tuned(t, c).Document
	if d.Recommended == nil || d.Recommended.Policy.Algorithm != "log" || d.Recommended.Against != "" || d.RunnerUp == nil || d.RunnerUp.Policy.Algorithm != "gcra" {
		t.Errorf("recommended %+v, runner-up %+v", d.Recommended, d.RunnerUp)
	}
}

func TestWithoutOrdinaryClientsNothingIsRecommended(t *testing.T) {
	c := usual(written(t, logOf(traffic(4, 60, 2))))
	c.Heavy = 1
	if d := tuned(t, c).Document; d.Recommended != nil || d.Verdict != scenarios.Inconclusive || !slices.Contains(codes(d), "no-ordinary") {
		t.Errorf("verdict %s, %v, recommended %+v", d.Verdict, codes(d), d.Recommended)
	}
}

// Windows that are too long for a log are told, and the others are chosen from.
func TestEachWindowHasToFitTheLog(t *testing.T) {
	for _, windows := range [][]time.Duration{{10 * time.Second, time.Hour}, {time.Hour, 10 * time.Second}} {
		c := usual(written(t, logOf(traffic(4, 60, 2))))
		c.Windows = windows
		d := tuned(t, c).Document
		if d.Verdict != scenarios.Pass || !slices.Contains(codes(d), "long-window") || d.Recommended == nil || d.Recommended.Policy.WindowUS != 10e6 {
			t.Errorf("%v: verdict %s, %v, recommended %+v", windows, d.Verdict, codes(d), d.Recommended)
		}
	}
}

// The first window is left for one that refuses much more of what heavy clients ask for.
func TestWidestIsNoMatterOfAFewRequests(t *testing.T) {
	for refused, want := range map[int64]int64{1: 60e6, 50: 60e6, 51: 10e6} {
		d := &report.Tuning{Asked: report.Asked{WindowsUS: []int64{60e6, 10e6}, Keys: []string{"ip"}}, Heavy: report.Heavy{Requests: 1000}}
		window, _, ok := widest(d, map[string][]report.Policy{"log": {
			{WindowUS: 60e6, Key: "ip"}, {WindowUS: 10e6, Key: "ip", Refused: refused},
		}}, false)
		if !ok || window != want {
			t.Errorf("%d of 1000 refused: window %d µs, want %d", refused, window, want)
		}
	}
}

// A window in which nothing is fit is not preferred to one in which something is.
func TestWindowsAreOfWhatIsFit(t *testing.T) {
	policy := func(window, refused, peak int64) report.Policy {
		return report.Policy{Algorithm: "counter", Key: "ip", WindowUS: window, Limit: 100, Refused: refused, PeakInWindow: peak, Requests: 1000, Bytes: 1}
	}
	d := &report.Tuning{
		Asked:    report.Asked{Algorithms: []string{"counter"}, WindowsUS: []int64{60e6, 5e6}, Keys: []string{"ip"}, MemoryBytes: 1 << 20, Untouched: 1},
		Log:      report.TunedLog{Until: time.UnixMicro(0).Add(time.Hour), From: time.UnixMicro(0)},
		Heavy:    report.Heavy{Requests: 1000},
		Policies: []report.Policy{policy(60e6, 100, 105), policy(5e6, 900, 150)},
	}
	choose(d, 10)
	if d.Recommended == nil || d.Recommended.Policy.WindowUS != 60e6 {
		t.Errorf("recommended %+v, rest %+v", d.Recommended, d.Rest)
	}
}

// Limits that are chosen can be computed with by all algorithms, and the next one cannot.
func TestChosenLimitsCanBeComputed(t *testing.T) {
	for _, window := range []time.Duration{time.Second, time.Hour, 31 * 24 * time.Hour} {
		s := &study{Config: &Config{Algorithms: limiter.Names(), Windows: []time.Duration{time.Second, window}}}
		all := ladder(1, 1<<30)
		fit := s.computable(all)
		valid := func(max int64) bool {
			ok := true
			for _, name := range limiter.Names() {
				a, _ := limiter.Named(name)
				ok = ok && a.Validate(limiter.Limit{Max: max, Window: window}) == nil && max <= 1<<30
			}
			return ok
		}
		if len(fit) == 0 || !valid(fit[len(fit)-1]) || len(fit) < len(all) && valid(all[len(fit)]) {
			t.Errorf("%s: %d of %d limits, the highest %d", window, len(fit), len(all), fit[len(fit)-1])
		}
	}
}

// Whatever the placement, there is a limit high enough for everybody.
func TestLimitsAreEnoughForAllPlacements(t *testing.T) {
	for seed := range uint64(10) {
		all := traffic(seed, 20, 2)
		for i := range all {
			all[i].at -= all[i].at % 1e6
		}
		c := usual(written(t, logOf(all)))
		c.Untouched, c.Windows, c.Algorithms, c.Heavy = 1, []time.Duration{1500 * time.Millisecond}, []string{"log", "gcra"}, 1<<40
		d := tuned(t, c).Document
		highest, most := slices.Max(d.Asked.Limits), int64(0)
		for _, p := range d.Policies {
			if p.Limit == highest {
				most = max(most, p.Most.TouchedOrdinary)
			}
		}
		if most != 0 || d.Recommended == nil {
			t.Errorf("seed %d: the highest limit %d touches %d clients", seed, highest, most)
		}
	}
}

// Who does not wait for all gets what was found out until then.
func TestInterruptWhilePlaying(t *testing.T) {
	for _, step := range []string{"measuring demand", "simulating", "looking at routes", "limiting routes", "looking at the riskiest window"} {
		reading, stop := context.WithCancel(context.Background())
		c := usual(written(t, logOf(traffic(4, 60, 2))))
		c.Progress = func(what string, _, _ int64) {
			if what == step {
				stop()
			}
		}
		s, err := Tune(context.Background(), reading, c)
		if step == "measuring demand" {
			if err == nil {
				t.Errorf("%s: %+v", step, s)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		d := s.Document
		if !d.Interrupted || d.Verdict != scenarios.Inconclusive || len(d.Demands) == 0 || !slices.Contains(codes(d), "interrupted") || (len(d.Policies) > 0) != (step != "simulating") {
			t.Errorf("%s: %d policies, verdict %s, %v", step, len(d.Policies), d.Verdict, codes(d))
		}
		if known := step == "looking at the riskiest window"; len(d.Routes) > 0 != known || len(d.Asked.Algorithms) == 0 || d.Asked.Limits == nil || d.Asked.Untouched == 0 {
			t.Errorf("%s: routes %+v, asked %+v", step, d.Routes, d.Asked)
		}
	}
}

// The first interrupt while a log is read ends the log there; the second ends the rest too.
func TestInterruptTwice(t *testing.T) {
	for _, twice := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		reading, stop := context.WithCancel(context.Background())
		c := usual(written(t, logOf(traffic(4, 1200, 2))))
		c.Progress = func(what string, done, _ int64) {
			switch {
			case what == "reading" && done > 0:
				stop()
			case what == "simulating" && twice:
				cancel()
			}
		}
		s, err := Tune(ctx, reading, c)
		if err != nil {
			t.Fatal(err)
		}
		if d := s.Document; !d.Interrupted || d.Log.Requests == 0 || (len(d.Policies) == 0) != twice {
			t.Errorf("twice %t: %d requests, %d policies", twice, d.Log.Requests, len(d.Policies))
		}
		cancel()
	}
}

// Who is heavy, and so what is recommended, does not depend on the windows that are tried
// beside the one that is recommended, nor on their order: a long one hides what comes at once.
func TestWindowsDoNotChangeWhoIsHeavy(t *testing.T) {
	made := crowd.Config{Seed: 3, Start: crowd.Default().Start, Duration: 12 * time.Minute, Browsers: 120, Scrapers: 2, Crons: 2, Bots: 2, Crowds: 3}
	var log bytes.Buffer
	if _, err := crowd.Formats[2].Write(&log, crowd.Generate(made)); err != nil {
		t.Fatal(err)
	}
	path := written(t, log.String())
	var first report.Policy
	for i, windows := range [][]time.Duration{{time.Minute}, {5 * time.Minute, time.Minute}, {time.Minute, 5 * time.Minute}, {time.Hour, time.Minute}} {
		c := usual(path)
		c.Trace.Format, c.Windows, c.Untouched = "", windows, 1
		d := tuned(t, c).Document
		if d.Heavy.Clients != int64(made.Scrapers) || d.Recommended == nil {
			t.Fatalf("%v: heavy %+v, recommended %+v", windows, d.Heavy, d.Recommended)
		}
		p := d.Recommended.Policy
		if i == 0 {
			first = p
		}
		if p.Limit != first.Limit || p.WindowUS != first.WindowUS || p.Algorithm != first.Algorithm || len(d.Demands) != len(windows) {
			t.Errorf("%v: %s, %d in %d µs; want %s, %d in %d µs", windows, p.Algorithm, p.Limit, p.WindowUS, first.Algorithm, first.Limit, first.WindowUS)
		}
	}
}

// Of two that let as much through on a log, the one is recommended that can let less through
// whatever comes; a smaller one only if an exact one does not fit.
func TestExactIsPreferred(t *testing.T) {
	policy := func(algorithm string, bytes int64) report.Policy {
		return report.Policy{Algorithm: algorithm, Key: "ip", WindowUS: 60e6, Limit: 100, Refused: 10, PeakInWindow: 100, Requests: 1000, Bytes: bytes}
	}
	for memory, want := range map[int64]string{1 << 20: "log-packed", 2000: "counter-strict"} {
		d := &report.Tuning{
			Asked:    report.Asked{Algorithms: limiter.Names(), WindowsUS: []int64{60e6}, Keys: []string{"ip"}, MemoryBytes: memory, Untouched: 1},
			Log:      report.TunedLog{Until: time.UnixMicro(0).Add(time.Hour), From: time.UnixMicro(0)},
			Policies: []report.Policy{policy("counter-strict", 900), policy("log", 9000), policy("log-packed", 3000)},
		}
		choose(d, 10)
		if d.Recommended == nil || d.Recommended.Policy.Algorithm != want {
			t.Errorf("of %d bytes: recommended %+v", memory, d.Recommended)
			continue
		}
		if says := strings.Contains(d.Recommended.Price, "up to 199 in a window by its rules"); says != (want == "counter-strict") {
			t.Errorf("price of %s: %s", want, d.Recommended.Price)
		}
	}
}

// What makes figures those of another log, or of none, is said; without most of the lines, or
// of the requests as they would have been, nothing is sure.
func TestTrafficThatIsNotWhole(t *testing.T) {
	all := traffic(4, 60, 2)
	usually := logOf(all)
	late := usually
	for _, q := range all[:len(all)/10] {
		q.at -= 3600e6
		late += strings.SplitN(logOf([]asked{q}), "\n", 2)[1]
	}
	apart := slices.Clone(all)
	for i := range apart {
		if i > len(apart)/2 {
			apart[i].at += 365 * 24 * 3600e6
		}
	}
	for _, row := range []struct {
		name, log, code string
		heavy           int64
		verdict         scenarios.Verdict
		says            string
	}{
		{"whole", usually, "", 0, scenarios.Pass, ""},
		{"a tenth is late", late, report.CodeManyLate, 0, scenarios.Inconclusive, "--reorder 2h"},
		{"all were refused", strings.ReplaceAll(usually, ",200\n", ",429\n"), report.CodeLimited, 0, scenarios.Inconclusive, ""},
		{"a year is missing", logOf(apart), "gap", 0, scenarios.Pass, ""},
		{"nobody is heavy", usually, "refuses-nothing", 1 << 40, scenarios.Pass, "--heavy"},
	} {
		c := usual(written(t, row.log))
		c.Heavy, c.Untouched = row.heavy, 1
		d := tuned(t, c).Document
		i := slices.IndexFunc(d.Reasons, func(r scenarios.Reason) bool { return r.Code == row.code })
		if d.Verdict != row.verdict || d.Recommended == nil || (i >= 0) != (row.code != "") || i >= 0 && !strings.Contains(d.Reasons[i].Hint, row.says) {
			t.Errorf("%s: verdict %s, %+v, recommended %t", row.name, d.Verdict, d.Reasons, d.Recommended != nil)
		}
		if (len(d.Doubts()) > 0) != (d.Verdict != scenarios.Pass) {
			t.Errorf("%s: doubts %v", row.name, d.Doubts())
		}
	}
	// A window of more than half of what is there is too long, whatever is missing.
	c := usual(written(t, logOf(apart)))
	c.Windows = []time.Duration{time.Hour}
	if d := tuned(t, c).Document; d.Recommended != nil || !slices.Contains(codes(d), report.CodeTooShort) {
		t.Errorf("two windows of an hour in some minutes: %v", codes(d))
	}
}
