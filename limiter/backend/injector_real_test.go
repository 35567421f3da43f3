package backend

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// With many requests under way, as many are hit as the fault says, each that is
// hit is told so, and all are counted once.
func TestHitsOfConcurrentRequests(t *testing.T) {
	const workers, each, every = 8, 40, 5
	for _, flavour := range []Flavour{Managed, Embedded} {
		t.Run(string(flavour), func(t *testing.T) {
			s := injectable(t, flavour, Options{PoolSize: workers})
			l, err := limiter.New(s.Client(), limiter.Config{
				Algorithm: limiter.Log, Limit: limiter.Limit{Max: 1000, Window: time.Hour}, OnFailure: limiter.FailError,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Compile(t.Context(), limiter.Log.Script); err != nil {
				t.Fatal(err)
			}
			i := inject(t, s, Fault{Kind: "lost-reply", Every: every})
			var lost atomic.Int64
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for range each {
						switch err := ask(t, l, "a"); fateOf(err) {
						case unknown:
							lost.Add(1)
						case fine:
						default:
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			end(t, i)
			if hits := len(i.Hits()); hits != workers*each/every || lost.Load() != int64(hits) {
				t.Errorf("%d hits, %d lost, want %d", hits, lost.Load(), workers*each/every)
			}
			d, err := l.Peek(t.Context(), limiter.Request{Key: "a", At: at})
			if n := 1000 - 1 - d.Remaining; n != workers*each || err != nil {
				t.Errorf("%d counted, want %d; %v", n, workers*each, err)
			}
		})
	}
}

// Faults work on what is inside TLS, and the Server's own questions know the
// password.
func TestFaultsUnderTLS(t *testing.T) {
	requireRedis(t)
	addr := secureRedis(t, "no")
	url := "rediss://default:" + secret + "@" + addr + "?skip_verify=true"
	s := open(t, url, Options{Injectable: true})
	if err := s.Client().ConfigSet(t.Context(), "requirepass", secret).Err(); err != nil {
		t.Fatal(err)
	}
	l := limiterOn(t, s, limiter.Log)
	for _, row := range []struct {
		kind   string
		want   fate
		counts int
	}{{"reset", unknown, 0}, {"lost-reply", unknown, 1}, {"loading", answered, 0}, {"partial", unknown, 0}} {
		i := inject(t, s, Fault{Kind: row.kind})
		if err := ask(t, l, row.kind); fateOf(err) != row.want {
			t.Errorf("%s: %v", row.kind, err)
		}
		end(t, i)
		if n := counted(t, l, row.kind); n != row.counts || len(i.Hits()) != 1 {
			t.Errorf("%s: %d counted, hits %v", row.kind, n, i.Hits())
		}
	}
	if _, err := s.Unstick(t.Context()); err != nil {
		t.Error(err)
	}
}
