package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// A workload is what contestants are timed with.
type workload struct {
	name      string
	limit     limiter.Limit
	callers   int
	decisions int // of a round
	// identity of a decision.
	identity func(i int) int
}

// admitted sends a window's budget of many identities, in turns: nobody is denied.
func admitted(callers, decisions int) workload {
	return workload{
		name: fmt.Sprintf("%d callers", callers), limit: limiter.Limit{Max: 100, Window: time.Minute}, callers: callers, decisions: decisions,
		identity: func(i int) int { return i % 1000 },
	}
}

// abusive sends what is nearly all denied: 100 identities drawn by zipf, 10 a minute
// each, so that of 100,000 decisions at most 1000 admit.
func abusive(callers, decisions int) workload {
	drawn := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, 99)
	sequence := make([]int, decisions)
	for i := range sequence {
		sequence[i] = int(drawn.Uint64())
	}
	return workload{
		name: "abuse", limit: limiter.Limit{Max: 10, Window: time.Minute}, callers: callers, decisions: decisions,
		identity: func(i int) int { return sequence[i] },
	}
}

// crowd draws from so many identities in an order of the round's own, in which none
// follows its neighbour, and of whom none is denied. The step is a prime, and larger
// than any number of identities here.
func crowd(identities, round int) workload {
	const decisions = 20_000
	return workload{
		name: fmt.Sprintf("%d identities", identities), limit: limiter.Limit{Max: 1_000_000, Window: time.Hour}, callers: 64, decisions: decisions,
		identity: func(i int) int { return (i + decisions*round) * 7_368_787 % identities },
	}
}

// timing is a contestant's rounds of one workload.
type timing struct {
	name   string
	rates  []float64 // decisions in a second
	p99s   []time.Duration
	denied int
	errors int // decisions that were none
}

// round times one round. Every identity has a name of the round's own, so that each
// begins with full budgets.
func (w workload) round(ctx context.Context, l limiter.Limiter, round string, t *timing) {
	names := map[int]string{}
	keys := make([]string, w.decisions)
	for i := range keys {
		id := w.identity(i)
		if names[id] == "" {
			names[id] = round + strconv.Itoa(id)
		}
		keys[i] = names[id]
	}
	took := make([]time.Duration, w.decisions)
	var next, denied, failed atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range w.callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < w.decisions; i = int(next.Add(1)) - 1 {
				sent := time.Now()
				d, err := l.Allow(ctx, limiter.Request{Key: keys[i]})
				switch {
				case err != nil:
					failed.Add(1)
				case !d.Allowed:
					denied.Add(1)
				}
				took[i] = time.Since(sent)
			}
		})
	}
	all.Wait()
	t.rates = append(t.rates, float64(w.decisions)/time.Since(start).Seconds())
	t.denied += int(denied.Load())
	t.errors += int(failed.Load())
	slices.Sort(took)
	t.p99s = append(t.p99s, took[w.decisions*99/100])
}

// entrant is a limiter that is timed.
type entrant struct {
	name    string
	limiter limiter.Limiter
}

// race times entrants in turns, each round in another order.
func race(ctx context.Context, s *backend.Server, w workload, entrants []entrant, rounds int) ([]timing, error) {
	timings := make([]timing, len(entrants))
	order := make([]int, len(entrants))
	for i, e := range entrants {
		timings[i].name = e.name
		order[i] = i
		// Connections and scripts are there before anybody is timed.
		w.round(ctx, e.limiter, "warm:", new(timing))
	}
	shuffled := rand.New(rand.NewPCG(1, uint64(rounds)))
	for r := range rounds {
		shuffled.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			if err := s.Clear(ctx); err != nil {
				return nil, err
			}
			w.round(ctx, entrants[i].limiter, strconv.Itoa(r)+":", &timings[i])
		}
	}
	return timings, s.Clear(ctx)
}

// ratio is the median of the ratios of the rounds of two entrants, with the least
// and the most.
func ratio(a, b timing) spread {
	ratios := make([]float64, len(a.rates))
	for i := range ratios {
		ratios[i] = a.rates[i] / b.rates[i]
	}
	return spreadOf(ratios)
}

// spread is the median, the least and the most of some numbers.
type spread struct{ median, least, most float64 }

// String writes a ratio.
func (s spread) String() string { return fmt.Sprintf("%.2f (%.2f to %.2f)", s.median, s.least, s.most) }

func spreadOf(numbers []float64) spread {
	sorted := slices.Sorted(slices.Values(numbers))
	return spread{sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]}
}
