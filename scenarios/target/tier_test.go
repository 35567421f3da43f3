package target_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
	"github.com/rlbench/rlbench/scenarios/target"
)

// origin admits everything and remembers who asked.
type origin struct {
	mu    sync.Mutex
	asked []limiter.Request
}

func (o *origin) Allow(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, r)
	return limiter.Decision{Allowed: true, Source: limiter.SourceRedis, At: r.At}, nil
}

// What the tier refuses no origin is asked about; all origins share the tier, which
// knows clients and not their pseudonyms. The origin is asked under the identity.
func TestTierSparesTheOrigin(t *testing.T) {
	tier, err := target.Front(&edge.Config{
		Limit: limiter.Limit{Max: 3, Window: 10 * time.Second}, Kind: edge.FixedWindow, Locations: 1, Machines: 1, Sync: time.Second,
	}, func(identity string) string { return identity[:1] })
	if err != nil {
		t.Fatal(err)
	}
	origins := []*origin{{}, {}}
	var fronts []limiter.Limiter
	for _, o := range origins {
		f, err := tier.Limiter(o)
		if err != nil {
			t.Fatal(err)
		}
		fronts = append(fronts, f)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, row := range []struct {
		front    int
		identity string
		at       time.Time
		by       limiter.Source
	}{
		{0, "a-p1", at, limiter.SourceRedis},
		{1, "a-p2", at, limiter.SourceRedis},
		{0, "a", at.Add(time.Second), limiter.SourceRedis},
		{0, "a-p1", at.Add(time.Second), limiter.SourceEdge}, // the third was the last of the client
		{1, "a-p3", at.Add(9 * time.Second), limiter.SourceEdge},
		{1, "b-p1", at.Add(9 * time.Second), limiter.SourceRedis},  // another client
		{1, "a-p2", at.Add(10 * time.Second), limiter.SourceRedis}, // another period
	} {
		before := len(origins[0].asked) + len(origins[1].asked)
		d, err := fronts[row.front].Allow(context.Background(), limiter.Request{Key: row.identity, At: row.at, Cost: 1})
		if err != nil {
			t.Fatal(err)
		}
		asked := len(origins[0].asked) + len(origins[1].asked) - before
		if d.Source != row.by || d.Allowed != (row.by == limiter.SourceRedis) || asked != map[bool]int{true: 1}[d.Allowed] {
			t.Errorf("request %d: %+v, %d asked, want %s", i, d, asked, row.by)
		}
		if d.Allowed {
			last := origins[row.front].asked[len(origins[row.front].asked)-1]
			if last.Key != row.identity || !last.At.Equal(row.at) {
				t.Errorf("request %d: the origin was asked about %+v", i, last)
			}
		}
	}
}

func TestNoTierIsTheOrigin(t *testing.T) {
	tier, err := target.Front(nil, nil)
	if err != nil || tier != nil {
		t.Fatalf("%v, %v", tier, err)
	}
	o := &origin{}
	if l, err := tier.Limiter(o); err != nil || l != limiter.Limiter(o) {
		t.Errorf("%v, %v", l, err)
	}
}

func TestTierThatCannotBe(t *testing.T) {
	if _, err := target.Front(&edge.Config{}, func(s string) string { return s }); err == nil {
		t.Error("opened")
	}
}
