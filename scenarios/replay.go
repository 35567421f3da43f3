package scenarios

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Replay is the log that a phase of shape replay sends again, and which part of it. The
// zero value names no log.
type Replay struct {
	// Trace are the files of the log; none leaves it to whoever plans.
	Trace []string
	// Format of the lines; "" detects it.
	Format string
	// Speed divides the distances in time between requests; 0 is 1.
	Speed Speed
	// Since and Until bound the part, the end excluded; absent is all of the log.
	Since, Until Moment
	// Spread is one of Spreads; "" is the first.
	Spread string
	// Requests are those of that part, in the order of their arrival, which has to be
	// known to make a plan. Whoever reads logs puts them here.
	Requests []Recorded
}

// Recorded is a request of a log.
type Recorded struct {
	At  int64 // of its arrival, in µs since 1970
	Key int32 // who sent it, from 0 in the order of appearance: no address, no name
}

// Spreads say where the requests of a log are within what its stamps leave open, such as
// a second: evenly apart, all at its beginning, all at its end, or independent of each
// other, as the seed draws them.
var Spreads = []string{"even", "front", "back", "poisson"}

// Replays reports whether a scenario has a phase that replays a log.
func (s *Scenario) Replays() bool {
	for _, p := range s.Phases {
		if p.Replay != nil {
			return true
		}
	}
	return false
}

// Speed is how many times faster than a log its replay is, in thousandths; 0 is 1×.
type Speed int64

// The slowest and the fastest.
const (
	minSpeed Speed = 100
	maxSpeed Speed = 1_000_000
)

// ParseSpeed reads a factor such as 10x, 2.5 or 0.1x.
func ParseSpeed(text string) (Speed, error) {
	const want = "want 0.1x to 1000x, with three decimals at most"
	digits := strings.TrimSuffix(text, "x")
	if len(digits) > 8 || strings.Trim(digits, "0123456789.") != "" {
		return 0, fmt.Errorf("speed %q: %s", clip(text), want)
	}
	factor, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, fmt.Errorf("speed %q: %s", clip(text), want)
	}
	factor.Mul(factor, big.NewRat(1000, 1))
	s := Speed(factor.Num().Int64())
	if !factor.IsInt() || s < minSpeed || s > maxSpeed {
		return 0, fmt.Errorf("speed %q: %s", clip(text), want)
	}
	return s, nil
}

// String is the form that ParseSpeed reads.
func (s Speed) String() string {
	text := big.NewRat(int64(s.thousandths()), 1000).FloatString(3)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "x"
}

func (s Speed) thousandths() Speed {
	if s == 0 {
		return 1000
	}
	return s
}

// Of is how long a time of the replay was in the log.
func (s Speed) Of(d time.Duration) time.Duration { return d / 1000 * time.Duration(s.thousandths()) }

// latest is the latest instant that can be replayed, in µs since 1970: of the year 2112.
const latest = 1 << 52

// offsets are the instants of requests after an edge. The edge stands for one of the
// log's own, the last at or before the first request, so that each request is as far
// into a window as it was: with a speed, into a window that was so many times longer.
func (r *Replay) offsets(requests []Recorded, window time.Duration) ([]time.Duration, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	// In thousandths of microseconds of the log, as the speed is in thousandths.
	speed := int64(r.Speed.thousandths()) // nothing overflows before the latest instant
	first := requests[0].At
	if first < 0 || requests[len(requests)-1].At > latest {
		return nil, errors.New("there are requests before 1970 or after 2112 in the log")
	}
	into := first * 1000 % (window.Microseconds() * speed)
	offsets := make([]time.Duration, len(requests))
	for i, q := range requests {
		switch {
		case i > 0 && q.At < requests[i-1].At:
			return nil, fmt.Errorf("request %d of the log is before the one before it", i+1)
		case q.Key < 0 || q.Key >= maxKeys:
			return nil, fmt.Errorf("the log has more than %d clients", maxKeys)
		}
		us := (into + (q.At-first)*1000) / speed
		if us > maxSpan.Microseconds() {
			return nil, fmt.Errorf("the log is longer than %s", limiter.FormatDuration(maxSpan))
		}
		offsets[i] = time.Duration(us) * time.Microsecond
	}
	return offsets, nil
}

// logged draws keys as the log has them, of which a phase sends the first n requests.
func (p Phase) logged(k Keys, n int) (picker, error) {
	switch {
	case p.Replay == nil || p.Replay.Requests == nil:
		return nil, errors.New("it replays a log, and there is none")
	case k.Addresses.Network.IsValid():
		return nil, errors.New("it replays a log, whose clients have no addresses any more; leave them out of keys")
	}
	return func(i int, _ *rand.Rand) int32 { return p.Replay.Requests[i%n].Key }, nil
}

// AtMost is how many requests a phase that replays a log takes of it at a limit.
func (p Phase) AtMost(l limiter.Limit) int64 {
	if p.Count.Present() {
		if n, err := evalCount(p.Count, l, 1, MaxArrivals); err == nil {
			return n
		}
	}
	return MaxArrivals
}
