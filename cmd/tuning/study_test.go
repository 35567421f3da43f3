package tuning

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// written is a log in a file.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// usual is what is asked of a log in tests.
func usual(path string) Config {
	_, measured := BuiltIn()
	return Config{
		Files: []string{path}, Algorithms: limiter.Names(), Windows: []time.Duration{10 * time.Second}, Keys: []simulator.Key{simulator.PerClient},
		Trace: trace.Options{Format: "csv"}, Untouched: 0.95, Memory: 1 << 20, Spread: trace.Even, Seed: 1, Measured: measured,
	}
}

func tuned(t *testing.T, c Config) *Study {
	t.Helper()
	s, err := Tune(context.Background(), context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every figure of a report, counted again one request after another.
func TestFiguresAreThoseOfASlowCount(t *testing.T) {
	all := traffic(3, 40, 3)
	c := usual(written(t, logOf(all)))
	c.Windows = []time.Duration{10 * time.Second, 3 * time.Second}
	c.Keys = simulator.Keys
	c.Limits = []int64{2, 5, 9, 30}
	d := tuned(t, c).Document
	heavy := map[string]bool{}
	for i, q := range all {
		if behind(all, i, d.Heavy.WindowUS, "ip", func(int) bool { return true }) > d.Heavy.Above {
			heavy[q.client] = true
		}
	}
	if d.Heavy.Clients != 3 || len(heavy) != 3 || d.Heavy.Requests != 3*3*60 || d.Heavy.Gap < 2 {
		t.Errorf("heavy clients: %+v, counted %v", d.Heavy, heavy)
	}
	if want := len(limiter.Names()) * 2 * 3 * 4; len(d.Policies) != want {
		t.Fatalf("%d policies, want %d", len(d.Policies), want)
	}
	for _, p := range d.Policies {
		if want := naive(all, p, heavy, c.Measured); !reflect.DeepEqual(p, want) {
			t.Errorf("got  %+v\nwant %+v", p, want)
		}
	}
	for _, m := range d.Demands {
		everybody := naivePeaks(all, m.WindowUS, m.Key, func(asked) bool { return true })
		others := naivePeaks(all, m.WindowUS, m.Key, func(q asked) bool { return !heavy[q.client] })
		seconds := naivePeaks(all, 1e6, m.Key, func(asked) bool { return true })
		for _, q := range []struct {
			got  report.Quantiles
			want []int64
		}{{m.InWindow, everybody}, {m.Ordinary, others}, {m.InSecond, seconds}} {
			want := report.Quantiles{P50: nearestRank(q.want, 500), P90: nearestRank(q.want, 900), P99: nearestRank(q.want, 990), P999: nearestRank(q.want, 999), Max: q.want[len(q.want)-1]}
			if q.got != want {
				t.Errorf("%s in %d µs: %+v, want %+v", m.Key, m.WindowUS, q.got, want)
			}
		}
		for _, p := range m.Curve {
			if n, few := atMost(everybody, p.Peak), atMost(others, p.Peak); p.Clients != n || p.Ordinary != few {
				t.Errorf("%d and %d clients ask for at most %d, want %d and %d", p.Clients, p.Ordinary, p.Peak, n, few)
			}
		}
	}
	slowRoutes(t, d, all, heavy)
	slowRiskiest(t, d, all)
	if l := d.Log; l.Requests != int64(len(all)) || l.Clients != 43 || l.Networks != 5 || l.Routes != 3 || !l.From.Equal(instant(all[0].at)) || !l.Until.Equal(instant(all[len(all)-1].at)) {
		t.Errorf("the log is %+v", l)
	}
}

func atMost(sorted []int64, value int64) (n int64) {
	for _, v := range sorted {
		if v <= value {
			n++
		}
	}
	return n
}

// slowRoutes counts again what is said of routes: a log of ten seconds for each client on each.
func slowRoutes(t *testing.T, d *report.Tuning, all []asked, heavy map[string]bool) {
	t.Helper()
	if len(d.Routes) != 3 {
		t.Fatalf("routes %+v", d.Routes)
	}
	for _, r := range d.Routes {
		here := func(q asked) bool { return q.route == r.Route }
		peaks := naivePeaks(all, 10e6, "ip+route", here)
		others := naivePeaks(all, 10e6, "ip+route", func(q asked) bool { return here(q) && !heavy[q.client] })
		needed, limit := nearestRank(others, 950), int64(0)
		for _, l := range d.Asked.Limits {
			if limit == 0 && l >= needed {
				limit = l
			}
		}
		admit, requests, refused := decided(all, "log", limit, 10e6, "ip+route"), int64(0), int64(0)
		for i, q := range all {
			if here(q) {
				requests++
				if !admit[i] {
					refused++
				}
			}
		}
		if r.Requests != requests || r.Clients != int64(len(peaks)) || r.Demand.Max != peaks[len(peaks)-1] || r.Limit != limit || r.Refused != refused {
			t.Errorf("%+v, want %d requests of %d clients, a limit of %d (for %d) and %d refused", r, requests, len(peaks), limit, needed, refused)
		}
	}
}

// slowRiskiest counts again what happens in the riskiest window.
func slowRiskiest(t *testing.T, d *report.Tuning, all []asked) {
	t.Helper()
	window, kind := d.Recommended.Policy.WindowUS, d.Recommended.Policy.Key
	most, worst := int64(0), 0
	for i := range all {
		if n := behind(all, i, window, kind, func(int) bool { return true }); n > most {
			most, worst = n, i
		}
	}
	r, total := d.Riskiest, int64(0)
	from := r.From.UnixMicro()
	for _, q := range all {
		if q.at >= from && q.at < from+int64(len(r.Wanted))*r.BinUS {
			total++
		}
	}
	if r.WindowUS != window || r.Requests != total {
		t.Errorf("two windows of %d µs have %d requests, want %d of %d µs", r.WindowUS, r.Requests, total, window)
	}
	if end := r.From.UnixMicro() + int64(len(r.Wanted))*r.BinUS; all[worst].at < r.From.UnixMicro()+window || all[worst].at >= end {
		t.Errorf("the peak at %d is not in the picture from %s to %d, or its window is not", all[worst].at, r.From, end)
	}
	for _, course := range r.Courses {
		admit := decided(all, course.Algorithm, course.Limit, window, kind)
		for bin := range r.Wanted {
			from := r.From.UnixMicro() + int64(bin)*r.BinUS
			wanted, admitted := int64(0), int64(0)
			for i, q := range all {
				if q.key(kind) == all[worst].key(kind) && q.at >= from && q.at < from+r.BinUS {
					wanted++
					if admit[i] {
						admitted++
					}
				}
			}
			highest := int64(0)
			for _, at := range append(instants(all, from, from+r.BinUS), from) {
				n := int64(0)
				for i, q := range all {
					if admit[i] && q.key(kind) == all[worst].key(kind) && q.at > at-window && q.at <= at {
						n++
					}
				}
				highest = max(highest, n)
			}
			if r.Wanted[bin] != wanted || course.Admitted[bin] != admitted || course.InWindow[bin] != highest {
				t.Errorf("%s in bin %d: %d of %d admitted, %d in the window; want %d of %d and %d", course.Algorithm, bin,
					course.Admitted[bin], r.Wanted[bin], course.InWindow[bin], admitted, wanted, highest)
			}
		}
	}
}

// instants are those of requests in [from, until).
func instants(all []asked, from, until int64) (at []int64) {
	for _, q := range all {
		if q.at >= from && q.at < until {
			at = append(at, q.at)
		}
	}
	return at
}

// The recommendation is the smallest limit that leaves so many clients untouched: the next
// lower one does not.
func TestRecommendedLimitIsTheSmallest(t *testing.T) {
	for seed := range uint64(20) {
		d := tuned(t, usual(written(t, logOf(traffic(seed, 60, 2))))).Document
		if d.Recommended == nil || d.RunnerUp == nil {
			t.Fatalf("seed %d: nothing is recommended: %+v", seed, d.Reasons)
		}
		ordinary := float64(d.Log.Clients - d.Heavy.Clients)
		for _, c := range append(append([]report.Choice{*d.Recommended, *d.RunnerUp}, d.Rest...), report.Choice{}) {
			below, least := -1.0, -1.0
			for _, p := range d.Policies {
				if p.Algorithm == c.Policy.Algorithm && p.Limit < c.Policy.Limit {
					below = float64(p.TouchedOrdinary) / ordinary
				}
				if p.Algorithm == c.Policy.Algorithm && p.Limit == c.Policy.Limit {
					least = float64(p.TouchedOrdinary) / ordinary
				}
			}
			if least > 0.05+1e-9 || below >= 0 && below <= 0.05 {
				t.Errorf("seed %d: %s at %d touches %.3f of clients, and the limit below %.3f", seed, c.Policy.Algorithm, c.Policy.Limit, least, below)
			}
		}
		if d.Recommended.Policy.TouchedHeavy != 2 {
			t.Errorf("seed %d: %d of 2 heavy clients are touched", seed, d.Recommended.Policy.TouchedHeavy)
		}
	}
}

// Where nobody knows when within a second requests came, figures have a least and a most.
func TestPlacementsAreTried(t *testing.T) {
	all := traffic(5, 20, 2)
	for i := range all {
		all[i].at -= all[i].at % 1e6
	}
	c := usual(written(t, logOf(all)))
	c.Limits = []int64{5, 20}
	c.Spread = trace.Front
	d := tuned(t, c).Document
	if !d.Log.WholeSeconds || len(d.Asked.Spreads) != 4 || d.Asked.Spreads[0] != "front" {
		t.Fatalf("whole seconds %t, spreads %v", d.Log.WholeSeconds, d.Asked.Spreads)
	}
	differ := false
	for _, p := range d.Policies {
		want := naive(all, p, map[string]bool{}, c.Measured) // all at the beginning of a second, as the log has it
		if p.Refused != want.Refused || p.PeakInWindow != want.PeakInWindow {
			t.Errorf("%s at %d: refused %d, peak %d, want %d and %d", p.Algorithm, p.Limit, p.Refused, p.PeakInWindow, want.Refused, want.PeakInWindow)
		}
		if p.Least == nil || p.Most == nil || p.Least.Refused > p.Refused || p.Most.Refused < p.Refused {
			t.Fatalf("%+v is not between %+v and %+v", p, p.Least, p.Most)
		}
		differ = differ || p.Least.Refused < p.Most.Refused
	}
	if !differ {
		t.Error("no placement makes a difference")
	}
}

// A log in which more than a window is missing, one client, or nothing, decides nothing.
func TestLittleEvidenceIsInconclusive(t *testing.T) {
	one := traffic(1, 1, 0)
	short := traffic(1, 30, 0)
	short = short[:60]
	for code, all := range map[string][]asked{"one-client": one, "too-short": short} {
		c := usual(written(t, logOf(all)))
		if code == "too-short" {
			c.Windows = []time.Duration{time.Hour}
		}
		d := tuned(t, c).Document
		found := false
		for _, r := range d.Reasons {
			found = found || r.Code == code
		}
		if d.Verdict != "inconclusive" || d.Recommended != nil || !found {
			t.Errorf("%s: verdict %s, reasons %+v", code, d.Verdict, d.Reasons)
		}
	}
}

func TestMemoryGoesBetweenMeasurements(t *testing.T) {
	_, m := BuiltIn()
	for _, row := range []struct {
		algorithm string
		entries   int64
		want      float64
	}{
		{"log", 1, 136},
		{"log", 128, 3176},
		{"log", 129, 16056},
		{"log", 82, 1640 + 18.0/36*(2664-1640)},
		{"log", 2000, 206368},
		{"counter", 1, 136},
		{"counter", 5000, 136},
		{"nobody", 1, 0},
	} {
		if got := bytesOf(m, row.algorithm, row.entries); math.Abs(got-row.want) > 0.5 {
			t.Errorf("%s with %d entries takes %.1f bytes, want %.1f", row.algorithm, row.entries, got, row.want)
		}
	}
	if below, above := crossover(m); math.Abs(below-3176.0/136) > 1e-9 || math.Abs(above-16056.0/136) > 1e-9 {
		t.Errorf("a log takes %.1f and %.1f times what a counter does", below, above)
	}
}

// Who interrupts before there is a log to look at gets an error, and not a bug.
func TestInterruptsBeforeTheFirstLine(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, path := range map[string]string{"no file": filepath.Join(t.TempDir(), "none"), "a file": written(t, logOf(traffic(1, 3, 0)))} {
		if s, err := Tune(context.Background(), ctx, usual(path)); err == nil || s != nil {
			t.Errorf("%s: %+v, error %v", name, s, err)
		}
	}
}
