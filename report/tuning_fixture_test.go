package report_test

import (
	"math"
	"testing"
	"time"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// tuningSize is how much is in a made tuning.
type tuningSize struct {
	algorithms, keys []string
	windows          []time.Duration
	limits           []int64
}

var usualTuning = tuningSize{
	algorithms: []string{"fixed", "log", "counter"}, keys: []string{"ip"},
	windows: []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute},
	limits:  []int64{10, 20, 30, 40, 60, 80, 100, 120, 150, 200, 300, 500},
}

const (
	ordinaryClients = 12_300
	heavyClients    = 44
	tunedRequests   = 1_293_012
)

// asking is the share of ordinary clients that ask for more than so many in a window: few
// ask for much.
func asking(n int64, window time.Duration) float64 {
	return math.Exp(-math.Pow(float64(n)/(3.6*math.Sqrt(window.Seconds()/10)), 0.5))
}

// tuned is what was made of the log of a shop: the numbers follow from a few formulas, so
// that they rise and fall as those of a real one.
func tuned(s tuningSize) *report.Tuning {
	from := time.Date(2026, 3, 2, 0, 0, 1, 0, time.UTC)
	t := &report.Tuning{
		Schema: report.TuningSchema, Verdict: scenarios.Pass, Reasons: []scenarios.Reason{},
		Command: []string{"rlbench", "tune", "access.log", "access.log.1.gz"}, Started: time.Date(2026, 3, 9, 8, 7, 6, 0, time.UTC), ElapsedUS: 4_812_345,
		Env: report.Env{Rlbench: "v0", Go: "go1.26", OS: "linux", Arch: "amd64", Cores: 2},
		Log: report.TunedLog{
			Files: 2, Format: "combined", Lines: 1_293_031, Bytes: 187_443_212, Bad: 17, Late: 2, Requests: tunedRequests, From: from, Until: from.Add(7*24*time.Hour - 2*time.Second),
			Clients: ordinaryClients + heavyClients, Networks: 9_871, Routes: 231, WholeSeconds: true, Limited: 1204,
			Examples: []report.BadLine{{File: "access.log", Line: 1022, Why: "no time in brackets"}, {File: "access.log.1.gz", Line: 7, Why: "the request has no closing quote"}},
		},
		Asked: report.Asked{Untouched: 0.99, MemoryBytes: 64 << 20, Algorithms: s.algorithms, Keys: s.keys, Limits: s.limits, Spreads: []string{"even", "front", "back", "poisson"}},
		Heavy: report.Heavy{Above: 410, WindowUS: 10e6, Gap: 3.7, Clients: heavyClients, Requests: 402_118},
		Rest:  []report.Choice{},
	}
	for _, w := range s.windows {
		t.Asked.WindowsUS = append(t.Asked.WindowsUS, w.Microseconds())
		for _, key := range s.keys {
			t.Demands = append(t.Demands, demanded(w, key))
		}
	}
	for k, a := range s.algorithms {
		for _, w := range s.windows {
			for _, key := range s.keys {
				for _, l := range s.limits {
					t.Policies = append(t.Policies, policied(k, a, w, l, key, from))
				}
			}
		}
	}
	t.Routes = []report.Route{
		{"GET /", 402_331, 11_020, report.Quantiles{P50: 3, P90: 9, P99: 31, P999: 120, Max: 812}, 40, 3012},
		{"GET /search", 120_442, 4021, report.Quantiles{P50: 4, P90: 17, P99: 62, P999: 311, Max: 640}, 80, 811},
		{"POST /login", 20_117, 3302, report.Quantiles{P50: 1, P90: 2, P99: 5, P999: 14, Max: 233}, 6, 1904},
		{"GET /<script>alert(1)</script>|\x1b[31m\n漢字&amp;*_`", 613, 1, report.Quantiles{P50: 613, P90: 613, P99: 613, P999: 613, Max: 613}, 613, 0},
		{"", 749_509, 8120, report.Quantiles{P50: 5, P90: 21, P99: 77, P999: 288, Max: 1411}, 100, 12_088},
	}
	choose(t, s, from)
	return t
}

func demanded(w time.Duration, key string) report.Demand {
	d := report.Demand{WindowUS: w.Microseconds(), Key: key}
	quantile := func(share float64) (n int64) {
		for asking(n, w) > 1-share {
			n++
		}
		return n
	}
	d.InWindow = report.Quantiles{P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.991), P999: quantile(0.9995), Max: quantile(0.99999) * 3}
	d.Ordinary = report.Quantiles{P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.99), P999: quantile(0.999), Max: quantile(0.9999)}
	d.InSecond = report.Quantiles{P50: 1, P90: 3, P99: 9, P999: 22, Max: 61}
	for n := int64(1); n < d.Ordinary.Max; n += 1 + n/12 {
		ordinary := int64(ordinaryClients * (1 - asking(n, w)))
		d.Curve = append(d.Curve, report.DemandPoint{Peak: n, Clients: ordinary, Ordinary: ordinary})
	}
	return append1(d,
		report.DemandPoint{Peak: d.Ordinary.Max, Clients: ordinaryClients, Ordinary: ordinaryClients},
		report.DemandPoint{Peak: d.InWindow.Max / 2, Clients: ordinaryClients + heavyClients/2, Ordinary: ordinaryClients},
		report.DemandPoint{Peak: d.InWindow.Max, Clients: ordinaryClients + heavyClients, Ordinary: ordinaryClients})
}

func append1(d report.Demand, points ...report.DemandPoint) report.Demand {
	d.Curve = append(d.Curve, points...)
	return d
}

// policied is what a policy does; an algorithm further down the list is a bit stricter.
func policied(place int, algorithm string, w time.Duration, limit int64, key string, from time.Time) report.Policy {
	strict := 1 + 0.03*float64(place)
	touched := int64(ordinaryClients * asking(limit, w) * strict)
	refused := touched*7 + int64(402_118*math.Exp(-float64(limit)/(220*math.Sqrt(w.Seconds()/60))))
	peak := limit
	if algorithm != "log" {
		peak += limit * int64(2+place) / 7
	}
	p := report.Policy{
		Algorithm: algorithm, WindowUS: w.Microseconds(), Limit: limit, Key: key, Requests: tunedRequests,
		Refused: refused, RefusedOrdinary: touched * 7, TouchedOrdinary: touched, TouchedHeavy: max(heavyClients-limit/30, 0),
		PeakInWindow: peak, PeakInSecond: min(61, limit), PeakAt: from.Add(50*time.Hour + time.Duration(limit)*time.Second),
		Wrong: report.Wrong{Admissions: refused / 40, Denials: refused / 55}, Differ: refused / 20, Repeated: refused * 7 / 8,
		Keys: 880 + limit, Bytes: (880 + limit) * (140 + 60*int64(place)), ServerShare: 0.0031 * strict,
		Least: &report.Placement{Refused: refused * 97 / 100, TouchedOrdinary: touched * 95 / 100, PeakInWindow: peak, PeakInSecond: min(44, limit)},
		Most:  &report.Placement{Refused: refused * 102 / 100, TouchedOrdinary: touched * 104 / 100, PeakInWindow: peak * 104 / 100, PeakInSecond: min(61, limit)},
	}
	if algorithm == "log" {
		p.Wrong, p.Differ = report.Wrong{}, 0
		p.Bytes, p.Most.PeakInWindow = p.Keys*(90*min(limit, 128)), limit
	}
	return p
}

func sumOf(list []int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}

// choose makes the first algorithms the best, each with a limit of its own.
func choose(t *report.Tuning, s tuningSize, from time.Time) {
	pick := func(algorithm string, limit int64) report.Choice {
		for _, p := range t.Policies {
			if p.Algorithm == algorithm && p.Limit == limit && p.WindowUS == time.Minute.Microseconds() && p.Key == "ip" {
				return report.Choice{Policy: p, Why: "It is the least limit that leaves what was asked for untouched.", Price: "A client may be admitted more than the limit in some minutes."}
			}
		}
		panic("no policy " + algorithm)
	}
	last := len(s.algorithms) - 1
	best, second := pick(s.algorithms[last], s.limits[len(s.limits)*3/4]), pick(s.algorithms[max(last-1, 0)], s.limits[len(s.limits)*3/4])
	second.Why, second.Price = "It is exact.", "It takes nine times the memory."
	if second.Policy.Algorithm == "fixed" {
		second.Why, second.Against = "", "Whoever waits for the edge gets twice the limit."
	}
	t.Recommended = &best
	if last > 0 {
		t.RunnerUp = &second
	}
	for i := 0; i < last-1; i++ {
		t.Rest = append(t.Rest, pick(s.algorithms[i], s.limits[len(s.limits)*3/4]))
	}
	t.Riskiest = &report.Riskiest{From: from.Add(50 * time.Hour).Truncate(time.Minute), BinUS: 2_000_000, WindowUS: 60_000_000, Requests: 9120}
	for _, c := range append([]report.Choice{best, second}, t.Rest...)[:last+1] {
		t.Riskiest.Courses = append(t.Riskiest.Courses, report.Course{Algorithm: c.Policy.Algorithm, Limit: c.Policy.Limit})
	}
	for i := range 150 {
		wanted := int64(2 + 3*(i%4))
		if i > 40 && i < 80 {
			wanted = 12
		}
		t.Riskiest.Wanted = append(t.Riskiest.Wanted, wanted)
		for k := range t.Riskiest.Courses {
			c := &t.Riskiest.Courses[k]
			trailing := int64(0)
			for j := max(0, i-29); j < i; j++ {
				trailing += c.Admitted[j]
			}
			budget := c.Limit - trailing
			if c.Algorithm != "log" { // that of a minute of the clock
				budget = c.Limit - sumOf(c.Admitted[i/30*30:])
			}
			admitted := max(min(wanted, budget), 0)
			c.Admitted, c.InWindow = append(c.Admitted, admitted), append(c.InWindow, trailing+admitted)
		}
	}
	t.Memory = report.Memory{Redis: report.Redis{Server: "redis", Version: "7.0.15", Flavour: "managed"}, BuiltIn: true, CheapUntil: 128, Below: 4.1, Above: 26.3}
	for k, a := range s.algorithms {
		for _, n := range []int64{1, 16, 64, 128, 129, 512, 1024} {
			m := report.MeasuredKey{Algorithm: a, Entries: n, Bytes: 120 + 40*int64(k), ScriptUS: 8.1 + float64(k)}
			if a == "log" {
				if m.Bytes = 110 + 33*n; n > 128 {
					m.Bytes = 1100 + 140*n
				}
				m.ScriptUS = 11.4 + float64(n)/100
			}
			t.Memory.Measured = append(t.Memory.Measured, m)
		}
	}
}

// tunings are a whole one, and those in which something is not there.
func tunings(t *testing.T) map[string]*report.Tuning {
	t.Helper()
	all := map[string]*report.Tuning{}
	make := func(name string, change func(*report.Tuning)) {
		all[name] = tuned(usualTuning)
		change(all[name])
	}
	make("whole", func(*report.Tuning) {})
	make("not-recommended", func(t *report.Tuning) {
		t.Recommended, t.RunnerUp, t.Rest, t.Riskiest.Courses = nil, nil, []report.Choice{}, []report.Course{}
		t.Verdict = scenarios.Inconclusive
		t.Reasons = []scenarios.Reason{{Code: "no-ordinary", Message: "12 clients are too few to tell what an ordinary one asks for", Hint: "give it a log of a whole week"}}
	})
	make("no-reason", func(t *report.Tuning) {
		t.Recommended, t.RunnerUp, t.Rest, t.Riskiest = nil, nil, []report.Choice{}, nil
	})
	make("one-policy", func(t *report.Tuning) {
		t.Policies = []report.Policy{t.Recommended.Policy}
		t.Demands, t.RunnerUp, t.Rest, t.Riskiest.Courses = t.Demands[1:2], nil, []report.Choice{}, t.Riskiest.Courses[:1]
	})
	make("no-heavy", func(t *report.Tuning) { t.Log.Clients -= t.Heavy.Clients; t.Heavy = report.Heavy{} })
	make("stated-heavy", func(t *report.Tuning) { t.Heavy.Gap, t.Heavy.Stated = 0, true })
	make("only-heavy", func(t *report.Tuning) { t.Log.Clients = t.Heavy.Clients })
	make("no-riskiest", func(t *report.Tuning) { t.Riskiest = nil })
	make("nothing-measured", func(t *report.Tuning) { t.Memory = report.Memory{Measured: []report.MeasuredKey{}} })
	make("arrivals", func(t *report.Tuning) {
		t.Log.WholeSeconds, t.Log.Arrivals, t.Log.Bad, t.Log.Late, t.Log.Limited, t.Log.Examples = false, true, 0, 0, 0, []report.BadLine{}
		for i := range t.Policies {
			t.Policies[i].Least, t.Policies[i].Most = nil, nil
		}
		for _, c := range []*report.Choice{t.Recommended, t.RunnerUp, &t.Rest[0]} {
			c.Policy.Least, c.Policy.Most = nil, nil
		}
	})
	all["empty"] = &report.Tuning{Schema: report.TuningSchema, Verdict: scenarios.Inconclusive, Interrupted: true, Log: report.TunedLog{Files: 1, Format: "common"}}
	all["no-requests"] = tuned(usualTuning)
	quiet := all["no-requests"]
	quiet.Verdict, quiet.Recommended, quiet.RunnerUp, quiet.Rest, quiet.Riskiest = scenarios.Inconclusive, nil, nil, []report.Choice{}, nil
	quiet.Log, quiet.Heavy, quiet.Routes = report.TunedLog{Files: 1, Format: "combined", Lines: 17, Bad: 17, Examples: []report.BadLine{}}, report.Heavy{}, []report.Route{}
	for i := range quiet.Policies {
		p := quiet.Policies[i]
		quiet.Policies[i] = report.Policy{Algorithm: p.Algorithm, WindowUS: p.WindowUS, Limit: p.Limit, Key: p.Key}
	}
	for i := range quiet.Demands {
		quiet.Demands[i] = report.Demand{WindowUS: quiet.Demands[i].WindowUS, Key: quiet.Demands[i].Key, Curve: []report.DemandPoint{{}}}
	}
	return all
}
