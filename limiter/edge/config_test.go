package edge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

var background = context.Background()

func TestNewRefuses(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*edge.Config)
		fault  string
	}{
		{"a period that the binding does not have", func(c *edge.Config) { c.Limit.Window = 30 * time.Second }, "limit 10/30s: the binding has periods of 10s and 1m only"},
		{"an hour", func(c *edge.Config) { c.Limit.Window = time.Hour }, "periods of 10s and 1m only"},
		{"a limit of nothing", func(c *edge.Config) { c.Limit.Max = 0 }, "count 0 is outside 1 to 16777216"},
		{"a limit whose products overflow", func(c *edge.Config) { c.Limit.Max = edge.MaxLimit + 1 }, "count 16777217 is outside"},
		{"no kind", func(c *edge.Config) { c.Kind = "" }, "kind of window is not chosen"},
		{"another kind", func(c *edge.Config) { c.Kind = "leaky" }, `kind of window "leaky"`},
		{"nowhere", func(c *edge.Config) { c.Locations = 0 }, "0 locations: want 1 to 1024"},
		{"everywhere", func(c *edge.Config) { c.Locations = edge.MaxLocations + 1 }, "1025 locations"},
		{"no machine", func(c *edge.Config) { c.Machines = 0 }, "0 machines at each location: want 1 to 256"},
		{"too many machines", func(c *edge.Config) { c.Machines = edge.MaxMachines + 1 }, "257 machines"},
		{"no sync", func(c *edge.Config) { c.Sync = 0 }, "sync every 0s"},
		{"a sync before the last", func(c *edge.Config) { c.Sync = -time.Second }, "sync every -1s"},
		{"a sync finer than the clock", func(c *edge.Config) { c.Sync = time.Nanosecond }, "sync every 1ns"},
		{"a sync that is too rare", func(c *edge.Config) { c.Sync = edge.MaxSync + tick }, "to 1h"},
		{"less than no keys", func(c *edge.Config) { c.MaxKeys = -1 }, "at most -1 keys"},
	} {
		c := plain(10)
		row.change(&c)
		_, err := edge.New(c)
		if err == nil || !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: got %v, want an error with %q", row.why, err, row.fault)
		}
	}
	_, err := edge.New(edge.Config{})
	if err == nil || strings.Count(err.Error(), "\n") < 4 {
		t.Errorf("all mistakes at once: got %v", err)
	}
}

func TestAllowRefuses(t *testing.T) {
	stopped, stop := context.WithCancel(background)
	stop()
	b := open(t, plain(10))
	for _, row := range []struct {
		why   string
		ctx   context.Context
		r     limiter.Request
		fault string
	}{
		{"no key: nobody shares a bucket by accident", background, limiter.Request{At: t0}, "no key"},
		{"no instant and no clock", background, limiter.Request{Key: "k"}, "no instant and the binding no clock"},
		{"an instant before any clock", background, limiter.Request{Key: "k", At: time.Unix(-1, 0)}, "outside 1970 to 2112"},
		{"one location too far", edge.WithConnection(background, 1, 0), limiter.Request{Key: "k", At: t0}, "location 1: there are 0 to 0"},
		{"a negative location", edge.WithConnection(background, -1, 0), limiter.Request{Key: "k", At: t0}, "location -1"},
		{"nobody waits", stopped, limiter.Request{Key: "k", At: t0}, "context canceled"},
	} {
		_, err := b.Allow(row.ctx, row.r)
		if err == nil || !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: got %v, want an error with %q", row.why, err, row.fault)
		}
	}
	if b.Keys() != 0 {
		t.Errorf("errors were counted: %d keys", b.Keys())
	}
}

// TestTellsOnlySuccess: the numbers of a decision are unknown, and At is whole
// microseconds of the clock that decided.
func TestTellsOnlySuccess(t *testing.T) {
	c := plain(1)
	c.Now = func() time.Time { return t0.Add(1500 * time.Nanosecond) }
	b := open(t, c)
	for _, allowed := range []bool{true, false} {
		d, err := b.Allow(background, limiter.Request{Key: "k", Cost: 5})
		want := limiter.Decision{Allowed: allowed, At: t0.Add(tick), Source: edge.SourceEdge}
		if err != nil || d != want {
			t.Errorf("got %+v, %v, want %+v", d, err, want)
		}
	}
}
