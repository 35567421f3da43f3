package edge_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// TestPinned: one connection gets exactly L, or L+1.
func TestPinned(t *testing.T) {
	for _, kind := range kinds {
		for _, inclusive := range []bool{false, true} {
			c := plain(300)
			c.Kind, c.Inclusive, c.Machines, c.Locations = kind, inclusive, 16, 4
			want := int(c.Pinned()) + 1
			if inclusive && want != 302 || !inclusive && want != 301 {
				t.Fatalf("first denied after Pinned would be %d", want)
			}
			if got := firstDenied(t, open(t, c), 1000, 50*time.Millisecond, pinned); got != want {
				t.Errorf("%s, inclusive %t: first denied is request %d, want %d", kind, inclusive, got, want)
			}
		}
	}
}

// TestBurst: connections that reach every machine get L on each at each
// location before anything is exchanged, and nothing more.
func TestBurst(t *testing.T) {
	for _, row := range []struct {
		locations, machines int
		inclusive           bool
		want                int64
	}{
		{1, 1, false, 10},
		{1, 8, false, 80},
		{1, 8, true, 88},
		{3, 1, false, 30},
		{3, 8, true, 264},
	} {
		for _, kind := range kinds {
			c := plain(10)
			c.Locations, c.Machines, c.Inclusive, c.Kind, c.Sync = row.locations, row.machines, row.inclusive, kind, time.Hour
			b := open(t, c)
			var admitted int64
			for i := range 200 * row.machines * row.locations {
				if over(t, b, t0, i%row.locations, uint64(i)) {
					admitted++
				}
			}
			if admitted != row.want || c.Worst() != row.want {
				t.Errorf("%+v %s: admitted %d, Worst %d", row, kind, admitted, c.Worst())
			}
		}
	}
}

// TestSustained: at a steady rate over changing connections a location admits
// the limit and what arrives within the lag, and reaches more than the limit.
func TestSustained(t *testing.T) {
	for _, row := range []struct {
		perSecond int
		sync      time.Duration
	}{
		{20, 100 * time.Millisecond},
		{20, time.Second},
		{200, 500 * time.Millisecond},
		{1000, 10 * time.Second}, // as much as every machine's limit: the burst bound
	} {
		for _, kind := range kinds {
			c := plain(100)
			c.Kind, c.Machines, c.Sync = kind, 8, row.sync
			b := open(t, c)
			gap := time.Second / time.Duration(row.perSecond)
			for period := range 5 {
				begin := t0.Add(time.Duration(period) * c.Limit.Window)
				var admitted int64
				for i := range 60 * row.perSecond {
					if over(t, b, begin.Add(time.Duration(i)*gap), 0, uint64(i)) {
						admitted++
					}
				}
				bound := c.Sustained(float64(row.perSecond))
				if admitted > bound {
					t.Errorf("%+v %s period %d: admitted %d, more than %d", row, kind, period, admitted, bound)
				}
				if period == 0 && admitted <= c.Pinned() {
					t.Errorf("%+v %s: admitted %d, no more than one connection would get", row, kind, admitted)
				}
			}
		}
	}
}

func TestSustainedBound(t *testing.T) {
	for _, row := range []struct {
		why       string
		perSecond float64
		want      int64
	}{
		{"a trickle: whoever asks knows all", 0.1, 100},
		{"none at all", 0, 100},
		{"50/s unseen for 2s, and 99 seen", 50, 199},
		{"never above the burst", 1e6, 800},
		{"no rate", -1, 100},
		{"without end", 1e300, 800},
	} {
		c := plain(100)
		c.Machines = 8
		if got := c.Sustained(row.perSecond); got != row.want {
			t.Errorf("%s: Sustained(%g) = %d, want %d", row.why, row.perSecond, got, row.want)
		}
	}
}

func drawConfig(t *rapid.T) edge.Config {
	return edge.Config{
		Limit: limiter.Limit{
			Max:    rapid.SampledFrom([]int64{1, 2, 3, 7, 20}).Draw(t, "max"),
			Window: rapid.SampledFrom([]time.Duration{10 * time.Second, time.Minute}).Draw(t, "window"),
		},
		Kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
		Inclusive: rapid.Bool().Draw(t, "inclusive"),
		Locations: rapid.IntRange(1, 3).Draw(t, "locations"),
		Machines:  rapid.IntRange(1, 5).Draw(t, "machines"),
		Sync:      rapid.SampledFrom([]time.Duration{tick, 3 * tick, time.Second, 7 * time.Second, time.Hour}).Draw(t, "sync"),
		Seed:      rapid.Uint64().Draw(t, "seed"),
	}
}

// TestBoundsHold: whatever arrives, a location admits in a period at most
// Pinned-1 and the most that arrived within Lag, and never more than Burst; a
// machine never more than Pinned.
func TestBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		b, err := edge.New(c)
		if err != nil {
			t.Fatal(err)
		}
		type place struct {
			location int
			period   int64
		}
		type wire struct {
			place
			connection uint64
		}
		arrived := make([][]time.Time, c.Locations)
		admitted, byWire := map[place]int64{}, map[wire]int64{}
		now := t0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, tick, 2 * tick, time.Second, c.Sync, c.Limit.Window - tick, c.Limit.Window}).Draw(t, "gap"))
			location := rapid.IntRange(0, c.Locations-1).Draw(t, "location")
			connection := rapid.Uint64Range(0, 9).Draw(t, "connection")
			arrived[location] = append(arrived[location], now)
			if over(t, b, now, location, connection) {
				p := place{location, now.UnixMicro() / c.Limit.Window.Microseconds()}
				admitted[p]++
				byWire[wire{p, connection}]++
			}
		}
		for p, n := range admitted {
			bound := min(c.Pinned()-1+mostWithin(c.Lag(), arrived[p.location]), c.Burst())
			if n > bound {
				t.Fatalf("%+v admitted %d, more than %d", p, n, bound)
			}
		}
		for w, n := range byWire {
			if n > c.Pinned() {
				t.Fatalf("%+v admitted %d over one connection, more than %d", w, n, c.Pinned())
			}
		}
	})
}

// mostWithin is the most of the instants, which are in order, that any half-open
// interval (t-length, t] holds.
func mostWithin(length time.Duration, instants []time.Time) int64 {
	most, first := 0, 0
	for i, at := range instants {
		for !instants[first].After(at.Add(-length)) {
			first++
		}
		most = max(most, i-first+1)
	}
	return int64(most)
}

// TestFieldMeasurements: what users measured on the real thing, with a network
// on which the model does the same. Unaudited figures from public repositories.
func TestFieldMeasurements(t *testing.T) {
	const never = 0
	for _, row := range []struct {
		seen             string
		limit            int64
		inclusive        bool
		machines         int
		sync             time.Duration
		requests         int
		gap              time.Duration
		connection       func(int) uint64
		earliest, latest int // of the first denial
	}{
		{"5/60 in the local simulator: the first 429 at request 6", 5, false, 1, time.Second, 50, time.Millisecond, fresh, 6, 6},
		{"5/60 in production: the first 429 at request 22", 5, false, 8, 10 * time.Second, 50, 50 * time.Millisecond, fresh, 7, 41},
		{"10/60: 23 requests over fresh connections are never limited", 10, false, 64, 10 * time.Second, 23, 100 * time.Millisecond, fresh, never, never},
		{"10/60: one connection is limited at request 11", 10, false, 64, 10 * time.Second, 23, 100 * time.Millisecond, pinned, 11, 11},
		// 7 s of requests: only machines that do not meet in that time explain it.
		{"20/60: 140 requests over fresh connections are never limited", 20, true, 64, time.Hour, 140, 50 * time.Millisecond, fresh, never, never},
		{"20/60: one connection is limited after 21", 20, true, 64, 10 * time.Second, 140, 10 * time.Millisecond, pinned, 22, 22},
		{"300/60 one after the other: 301 admitted, number 302 denied", 300, true, 64, 10 * time.Second, 400, 10 * time.Millisecond, pinned, 302, 302},
		{"300/60, 360 at once: no denial", 300, true, 64, 10 * time.Second, 360, 0, fresh, never, never},
		{"300/60, 1200 at once: no denial", 300, true, 64, 10 * time.Second, 1200, 0, fresh, never, never},
	} {
		for _, kind := range kinds {
			for seed := range uint64(20) {
				c := plain(row.limit)
				c.Kind, c.Inclusive, c.Machines, c.Sync, c.Seed = kind, row.inclusive, row.machines, row.sync, seed
				got := firstDenied(t, open(t, c), row.requests, row.gap, row.connection)
				if got < row.earliest || got > row.latest {
					t.Errorf("%s; %s, seed %d: first denied is request %d", row.seen, kind, seed, got)
				}
			}
		}
	}
}

// ExampleBinding_Allow: 40 requests at once are all admitted at a limit of 10,
// and denied once the machines have spoken to each other.
func ExampleBinding_Allow() {
	b, err := edge.New(edge.Config{
		Limit: limiter.Limit{Max: 10, Window: time.Minute}, Kind: edge.FixedWindow,
		Locations: 1, Machines: 32, Sync: time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clients := edge.Fresh(b) // a connection for every request
	for _, after := range []time.Duration{0, 2 * time.Second} {
		admitted := 0
		for range 40 {
			d, err := clients.Allow(background, limiter.Request{Key: "client", At: noon.Add(after)})
			if err != nil {
				fmt.Println(err)
				return
			}
			if d.Allowed {
				admitted++
			}
		}
		fmt.Printf("after %s: %d of 40\n", after, admitted)
	}
	// Output:
	// after 0s: 40 of 40
	// after 2s: 0 of 40
}
