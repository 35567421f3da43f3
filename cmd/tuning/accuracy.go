package tuning

import (
	"math/rand/v2"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// Accuracy is how algorithms decide the same made-up traffic: clients that ask for a share
// of the limit a window on average.
type Accuracy struct {
	Population string // how requests of a client come
	Load       float64
	Requests   int64
	Rows       []AccuracyRow
}

// AccuracyRow is one algorithm. Differ is the share of requests that a log decides
// otherwise, Wrong that of decisions that an exact window over what this limiter itself
// admitted would not have made.
type AccuracyRow struct {
	Algorithm             string
	Admitted, Differ      float64
	Wrong                 float64
	PeakInWindow, OfLimit float64
}

// Of is the row of an algorithm; the zero value if it was not played.
func (a *Accuracy) Of(algorithm string) AccuracyRow {
	for _, r := range a.Rows {
		if r.Algorithm == algorithm {
			return r
		}
	}
	return AccuracyRow{}
}

// Loads are those of the tables.
var Loads = []float64{0.5, 0.8, 0.9, 1, 1.2, 2}

// Populations are how requests of a client come: by themselves, or ten at a time.
var Populations = []struct {
	Name  string
	Burst int
}{{"poisson", 1}, {"bursts of ten", 10}}

const (
	accuracyLimit   = 100
	accuracyWindows = 200
)

// Measure plays clients of one population and load, each for two hundred windows of a minute
// with a limit of 100. It is the same for the same seed.
func Measure(population int, load float64, clients int, seed uint64, algorithms []string) (Accuracy, error) {
	window := time.Minute
	s, err := simulator.New(simulator.Grid{
		Algorithms: algorithms, Windows: []time.Duration{window}, Limits: []int64{accuracyLimit}, Keys: []simulator.Key{simulator.PerClient},
	}, simulator.Options{})
	p := Populations[population]
	a := Accuracy{Population: p.Name, Load: load}
	if err != nil {
		return a, err
	}
	// Clients do not know of each other: one after another is as good as all at once.
	random := rand.New(rand.NewPCG(seed, uint64(population)))
	gap := float64(window.Microseconds()) * float64(p.Burst) / (load * accuracyLimit)
	begin := int64(0)
	for client := range clients {
		end := begin + accuracyWindows*window.Microseconds()
		var events []simulator.Event
		for at := float64(begin) + random.ExpFloat64()*gap; at < float64(end); at += random.ExpFloat64() * gap {
			for range p.Burst {
				events = append(events, simulator.Event{At: int64(at), Client: uint32(client)})
			}
		}
		if err := s.Add(events); err != nil {
			return a, err
		}
		begin = end
	}
	r := s.Result()
	a.Requests = r.Requests
	for _, group := range r.Policies {
		one := group.Limits[0]
		total := one.Total()
		n := float64(max(total.Requests, 1))
		a.Rows = append(a.Rows, AccuracyRow{
			Algorithm: group.Algorithm, Admitted: float64(total.Admitted) / n, Differ: float64(total.Differ) / n,
			Wrong:        float64(total.WrongAdmissions+total.WrongDenials) / n,
			PeakInWindow: float64(one.Peak.Admitted), OfLimit: float64(one.Peak.Admitted) / accuracyLimit,
		})
	}
	return a, nil
}

// AccuracyAlgorithms are those of the tables.
var AccuracyAlgorithms = []string{limiter.Fixed.Name, limiter.Log.Name, limiter.Counter.Name, limiter.GCRA.Name}
