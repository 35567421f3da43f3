package edge_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// t0 is a multiple of both periods.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const tick = time.Microsecond

var kinds = []edge.Kind{edge.FixedWindow, edge.SlidingWindow}

// plain is a binding with one machine, to be changed by a test.
func plain(max int64) edge.Config {
	return edge.Config{
		Limit: limiter.Limit{Max: max, Window: time.Minute},
		Kind:  edge.FixedWindow, Locations: 1, Machines: 1, Sync: time.Second,
	}
}

func open(t testing.TB, c edge.Config) *edge.Binding {
	t.Helper()
	b, err := edge.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// over sends a request for key "k" and reports whether it is admitted.
func over(t fataler, b *edge.Binding, at time.Time, location int, connection uint64) bool {
	t.Helper()
	ctx := edge.WithConnection(background, location, connection)
	d, err := b.Allow(ctx, limiter.Request{Key: "k", At: at})
	if err != nil {
		t.Fatal(err)
	}
	return d.Allowed
}

// firstDenied sends requests a gap apart, each over the connection that is given
// for it, and returns the number of the first that is denied, or 0.
func firstDenied(t fataler, b *edge.Binding, requests int, gap time.Duration, connection func(i int) uint64) int {
	t.Helper()
	for i := range requests {
		if !over(t, b, t0.Add(time.Duration(i)*gap), 0, connection(i)) {
			return i + 1
		}
	}
	return 0
}

func pinned(int) uint64  { return 7 }
func fresh(i int) uint64 { return uint64(i) }
