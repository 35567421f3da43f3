package edge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// inMemory is a limiter by its specification.
type inMemory struct {
	a      limiter.Algorithm
	l      limiter.Limit
	states map[string]any
}

func precise(perMinute int64) *inMemory {
	return &inMemory{a: limiter.Log, l: limiter.Limit{Max: perMinute, Window: time.Minute}, states: map[string]any{}}
}

func (m *inMemory) Allow(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	state, ok := m.states[r.Key]
	if !ok {
		state = m.a.Model.Init()
	}
	next, d := m.a.Model.Step(m.l, state, r)
	m.states[r.Key] = next
	d.Source = limiter.SourceRedis
	return d, nil
}

// says is a limiter that always says the same.
type says struct {
	d   limiter.Decision
	err error
}

func (s says) Allow(context.Context, limiter.Request) (limiter.Decision, error) { return s.d, s.err }

func front(t *testing.T, e, origin limiter.Limiter) *edge.Tiers {
	t.Helper()
	tiers, err := edge.Front(e, origin)
	if err != nil {
		t.Fatal(err)
	}
	return tiers
}

func TestFrontRefuses(t *testing.T) {
	_, err := edge.Front(nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no edge limiter\nno origin limiter") {
		t.Errorf("got %v", err)
	}
}

func TestTiers(t *testing.T) {
	broken := errors.New("broken")
	admits := limiter.Decision{Allowed: true, Source: edge.SourceEdge}
	told := limiter.Decision{Allowed: true, Limit: 100, Remaining: 7, ResetAfter: time.Second, At: t0, Source: limiter.SourceRedis}
	denied := limiter.Decision{Limit: 100, RetryAfter: time.Second, At: t0, Source: limiter.SourceRedis}
	atEdge := denied
	atEdge.Source = edge.SourceEdge
	shadow := denied
	shadow.Shadow = true

	for _, row := range []struct {
		why            string
		edge, origin   says
		want           limiter.Decision
		err            error
		atEdge, behind edge.Counts
	}{
		{"both admit: the origin's numbers", says{d: admits}, says{d: told}, told, nil, edge.Counts{Admitted: 1}, edge.Counts{Admitted: 1}},
		{"the origin denies: its own decision", says{d: admits}, says{d: denied}, denied, nil, edge.Counts{Admitted: 1}, edge.Counts{Denied: 1}},
		{"the edge denies: the origin is not asked, and the source says so", says{d: denied}, says{d: told}, atEdge, nil, edge.Counts{Denied: 1}, edge.Counts{}},
		{"a shadow at the edge denies nothing", says{d: shadow}, says{d: told}, told, nil, edge.Counts{Admitted: 1}, edge.Counts{Admitted: 1}},
		{"the edge fails: nobody decides on", says{err: broken}, says{d: told}, limiter.Decision{}, broken, edge.Counts{Errored: 1}, edge.Counts{}},
		{"the origin fails", says{d: admits}, says{err: broken}, limiter.Decision{}, broken, edge.Counts{Admitted: 1}, edge.Counts{Errored: 1}},
	} {
		tiers := front(t, row.edge, row.origin)
		d, err := tiers.Allow(background, limiter.Request{Key: "k", At: t0})
		if d != row.want || !errors.Is(err, row.err) {
			t.Errorf("%s: got %+v, %v", row.why, d, err)
		}
		if tiers.Edge() != row.atEdge || tiers.Origin() != row.behind {
			t.Errorf("%s: counted %+v and %+v", row.why, tiers.Edge(), tiers.Origin())
		}
		if tiers.Edge().Asked() != 1 {
			t.Errorf("%s: the edge was asked %d times", row.why, tiers.Edge().Asked())
		}
	}
}

// endpoints are the article's two tiers: one ceiling of 600 a minute for a
// client, and behind it a budget for each endpoint.
func endpoints(t *testing.T, origins ...limiter.Limiter) []*edge.Tiers {
	t.Helper()
	shared := open(t, plain(600))
	var tiers []*edge.Tiers
	for _, o := range origins {
		tiers = append(tiers, front(t, shared, o))
	}
	return tiers
}

// TestTwoTierArithmetic: 600 a minute at the edge and 100+30+10 at the origin
// are 140 a minute, so the edge bites floods only, and a client that obeys three
// budgets does not feel it.
func TestTwoTierArithmetic(t *testing.T) {
	for _, row := range []struct {
		why                 string
		perMinute           [3]int // offered to each endpoint, evenly
		passed, edge, inAll int64
	}{
		{"obedient at all three", [3]int{100, 30, 10}, 140, 0, 140},
		{"three times too much: the origin alone denies", [3]int{200, 200, 200}, 140, 0, 600},
		{"a flood: what the edge lets through is 600", [3]int{2000, 2000, 2000}, 140, 5400, 600},
	} {
		tiers := endpoints(t, precise(100), precise(30), precise(10))
		var admitted int64
		for second := range 60 {
			for i, n := range row.perMinute {
				for share := n * second / 60; share < n*(second+1)/60; share++ {
					d, err := tiers[i].Allow(background, limiter.Request{Key: "client", At: t0.Add(time.Duration(second) * time.Second)})
					if err != nil {
						t.Fatal(err)
					}
					if d.Allowed {
						admitted++
					}
				}
			}
		}
		var deniedAtEdge, reached int64
		for _, two := range tiers {
			deniedAtEdge += two.Edge().Denied
			reached += two.Origin().Asked()
		}
		if admitted != row.passed || deniedAtEdge != row.edge || reached != row.inAll {
			t.Errorf("%s: admitted %d, denied at the edge %d, reached the origin %d, want %d, %d, %d",
				row.why, admitted, deniedAtEdge, reached, row.passed, row.edge, row.inAll)
		}
	}
}

// TestOutage: while the origin fails open, the edge still stands: what passes is
// 600 on every machine of every location.
func TestOutage(t *testing.T) {
	c := plain(600)
	c.Locations, c.Machines, c.Sync = 2, 4, time.Hour
	failsOpen := says{d: limiter.Decision{Allowed: true, Source: limiter.SourceFailOpen}}
	tiers := front(t, open(t, c), failsOpen)
	for i := range 20_000 {
		ctx := edge.WithConnection(background, i%2, uint64(i))
		if _, err := tiers.Allow(ctx, limiter.Request{Key: "client", At: t0}); err != nil {
			t.Fatal(err)
		}
	}
	if got := tiers.Origin().Admitted; got != 600*2*4 || got != c.Worst() {
		t.Errorf("%d passed, want 600 × 2 locations × 4 machines", got)
	}
}
