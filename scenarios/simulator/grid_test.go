package simulator_test

import (
	"strings"
	"testing"
	"time"

	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

func TestGridsRefused(t *testing.T) {
	for _, row := range []struct {
		change func(*sim.Grid, *sim.Options)
		want   string
	}{
		{func(g *sim.Grid, _ *sim.Options) { g.Algorithms = []string{"leaky"} }, `algorithm "leaky": want one of [fixed log log-packed counter counter-strict gcra]`},
		{func(g *sim.Grid, _ *sim.Options) { g.Algorithms = []string{"log", "fixed", "log"} }, "algorithm log is there twice"},
		{func(g *sim.Grid, _ *sim.Options) { g.Algorithms = nil }, "no algorithm"},
		{func(g *sim.Grid, _ *sim.Options) { g.Windows = nil }, "no window"},
		{func(g *sim.Grid, _ *sim.Options) { g.Windows = []time.Duration{time.Hour, time.Hour} }, "window 1h0m0s is there twice"},
		{func(g *sim.Grid, _ *sim.Options) { g.Windows = []time.Duration{0} }, "window 0"},
		{func(g *sim.Grid, _ *sim.Options) { g.Keys = nil }, "no key"},
		{func(g *sim.Grid, _ *sim.Options) { g.Keys = []sim.Key{"cookie"} }, `key "cookie": want one of [ip ip+route prefix]`},
		{func(g *sim.Grid, _ *sim.Options) { g.Limits = nil }, "0 limits: want 1 to 64"},
		{func(g *sim.Grid, _ *sim.Options) { g.Limits = ladder(65) }, "65 limits: want 1 to 64"},
		{func(g *sim.Grid, _ *sim.Options) { g.Limits = []int64{2, 1} }, "limit 1 after 2: want limits from the lowest up, each once"},
		{func(g *sim.Grid, _ *sim.Options) { g.Limits = []int64{2, 2} }, "limit 2 after 2"},
		{func(g *sim.Grid, _ *sim.Options) { g.Limits = []int64{-1} }, "limit -1/1m"},
		{func(g *sim.Grid, _ *sim.Options) { g.Limits = []int64{1<<30 + 1} }, "limit 1073741825: want at most 1073741824"},
		{func(g *sim.Grid, _ *sim.Options) {
			g.Algorithms, g.Limits, g.Windows = []string{"gcra"}, []int64{1 << 30}, []time.Duration{time.Hour}
		}, "cannot be computed exactly"},
		{func(g *sim.Grid, _ *sim.Options) { g.Keys, g.Limits = nil, nil }, "no key\n0 limits"}, // all at once
		{func(_ *sim.Grid, o *sim.Options) { o.Workers = -1 }, "-1 workers"},
		{func(_ *sim.Grid, o *sim.Options) { o.Class, o.Group = []uint8{99}, []uint8{99} }, "100 classes × 100 groups: want at most 4096 together"},
	} {
		g := sim.Grid{Algorithms: []string{"log"}, Windows: []time.Duration{time.Minute}, Limits: []int64{1}, Keys: []sim.Key{sim.PerClient}}
		var o sim.Options
		row.change(&g, &o)
		if _, err := sim.New(g, o); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: %v, want %q", g, err, row.want)
		}
	}
	if _, err := sim.NewDemand(nil, sim.Keys, sim.Options{Workers: -1}); err == nil || err.Error() != "measure demand: no window" {
		t.Errorf("demand: %v", err)
	}
	if _, err := sim.NewDemand([]time.Duration{time.Hour}, sim.Keys, sim.Options{Workers: -1}); err == nil || !strings.Contains(err.Error(), "-1 workers") {
		t.Errorf("demand: %v", err)
	}
}

// A batch with a bad event is refused as a whole, and the next one taken.
func TestEventsRefused(t *testing.T) {
	g := sim.Grid{Algorithms: []string{"log"}, Windows: []time.Duration{time.Minute}, Limits: []int64{1}, Keys: sim.Keys}
	s, err := sim.New(g, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := sim.NewDemand(g.Windows, g.Keys, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		events []sim.Event
		want   string // empty: taken
	}{
		{nil, ""},
		{[]sim.Event{{At: -1}}, "event 0 is at -1 µs: want instants since 1970 below 2^53 µs"},
		{[]sim.Event{{At: 1 << 53}}, "event 0 is at 9007199254740992 µs"},
		{[]sim.Event{{At: 5}, {At: 5}, {At: 7}}, ""},
		{[]sim.Event{{At: 6}}, "event 3 is at 6 µs, 1 µs before the one before it: want the order of time"},
		{[]sim.Event{{At: 8}, {At: 7}}, "event 4 is at 7 µs, 1 µs before"},
		{[]sim.Event{{At: 8, Client: 1 << 28}}, "event 3 is of client 268435456, network 0, route 0: want numbers below 268435456"},
		{[]sim.Event{{At: 8, Network: 1 << 31}}, "network 2147483648"},
		{[]sim.Event{{At: 8, Route: 1 << 31}}, "route 2147483648"},
		{[]sim.Event{{At: 1<<53 - 1}}, ""},
	} {
		for _, err := range []error{s.Add(row.events), d.Add(row.events)} {
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%v: %v, want %q", row.events, err, row.want)
			}
		}
	}
	if a, b := s.Result().Requests, d.Result().Total; a != 4 || b != 4 {
		t.Errorf("%d and %d requests were taken, want 4", a, b)
	}
}
