package target_test
import ("testing";"time";"fmt";"math/rand/v2"
"github.com/rlbench/rlbench/limiter";"github.com/rlbench/rlbench/limiter/backend")
func TestZZ(t *testing.T) {
	s, err := backend.Open(t.Context(), "embedded", backend.Options{})
	if err != nil { t.Fatal(err) }
	defer s.Close()
	for _, a := range limiter.Algorithms {
		bad := 0
		for seed := range uint64(3000) {
			r := rand.New(rand.NewPCG(seed, 1))
			l := limiter.Limit{Max: 1+r.Int64N(5), Window: time.Millisecond}
			lim, err := limiter.New(s.Client(), limiter.Config{Algorithm: a, Limit: l, OnFailure: limiter.FailError, TTLFloor: time.Hour})
			if err != nil { t.Fatal(err) }
			st := a.Model.Init()
			base := time.UnixMicro(1767225600000000)
			trace := ""
			for range 8 {
				req := limiter.Request{Key: fmt.Sprint(a.Name, seed), At: base.Add(time.Duration(r.IntN(4000))*time.Microsecond), Cost: 1+r.Int64N(l.Max+1)}
				got, err := lim.Allow(t.Context(), req)
				if err != nil { t.Fatal(err) }
				ns, want := a.Model.Step(l, st, req)
				trace += fmt.Sprintf("\n  +%s cost %d: redis %v %d %s %s, model %v %d %s %s", req.At.Sub(base), req.Cost, got.Allowed, got.Remaining, got.RetryAfter, got.ResetAfter, want.Allowed, want.Remaining, want.RetryAfter, want.ResetAfter)
				if got.Allowed != want.Allowed || got.Remaining != want.Remaining || got.RetryAfter != want.RetryAfter || got.ResetAfter != want.ResetAfter {
					bad++
					if bad <= 1 { fmt.Println(a.Name, l, seed, trace) }
					break
				}
				st = ns
			}
		}
		fmt.Println(a.Name, "bad", bad)
	}
}
