package simulator

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Event is a request of a log. Events come in the order of time; those of one instant are
// decided in the order in which they come. Numbers count from 0 and are to have few gaps:
// there is memory for each number below the highest.
type Event struct {
	At                     int64 // microseconds since 1970
	Client, Network, Route uint32
}

// Bounds of what is simulated.
const (
	// MostLimits are decided at once: one bit each of what a decision is.
	MostLimits = 64
	// MostNumbers is above all numbers of clients, networks and routes.
	MostNumbers = 1 << 28
	// MostCells is how many classes × groups can be told apart.
	MostCells = 1 << 12
	// HighestLimit keeps counts in 32 bits.
	HighestLimit = 1 << 30
	// latest is the first instant that a Lua number cannot hold.
	latest = int64(1) << 53
)

// Key says what one budget is kept for.
type Key string

// The keys.
const (
	PerClient Key = "ip"       // a client
	PerRoute  Key = "ip+route" // a client on a route
	PerPrefix Key = "prefix"   // a network
)

// Keys are all of them.
var Keys = []Key{PerClient, PerRoute, PerPrefix}

// Of is the number of the key of a request: those of one key are the same.
func (k Key) Of(e *Event) uint64 {
	switch k {
	case PerRoute:
		return uint64(e.Route)<<32 | uint64(e.Client)
	case PerPrefix:
		return uint64(e.Network)
	default:
		return uint64(e.Client)
	}
}

// Grid is the policies to simulate: each algorithm with each window, limit and key.
type Grid struct {
	Algorithms []string // names of package limiter
	Windows    []time.Duration
	Limits     []int64 // from the lowest up
	Keys       []Key
}

// Validate reports everything that is wrong with a grid.
func (g Grid) Validate() error {
	errs := []error{
		eachOnce("algorithm", g.Algorithms, limiter.Names()), eachOnce("key", g.Keys, Keys), eachOnce("window", g.Windows, nil),
	}
	if n := len(g.Limits); n == 0 || n > MostLimits {
		errs = append(errs, fmt.Errorf("%d limits: want 1 to %d", n, MostLimits))
	}
	for i, limit := range g.Limits {
		if i > 0 && limit <= g.Limits[i-1] {
			errs = append(errs, fmt.Errorf("limit %d after %d: want limits from the lowest up, each once", limit, g.Limits[i-1]))
		}
		if limit > HighestLimit {
			errs = append(errs, fmt.Errorf("limit %d: want at most %d", limit, HighestLimit))
		}
	}
	return errors.Join(append(errs, g.fits()...)...)
}

// fits reports limits and windows that an algorithm cannot compute. The first of a kind
// is enough: a bad window is bad with all limits.
func (g Grid) fits() (errs []error) {
	for _, window := range g.Windows {
		seen := map[string]bool{}
		for _, name := range g.Algorithms {
			a, _ := limiter.Named(name)
			for _, limit := range g.Limits {
				if err := a.Validate(limiter.Limit{Max: limit, Window: window}); err != nil && !seen[err.Error()] {
					seen[err.Error()] = true
					errs = append(errs, err)
					break
				}
			}
		}
	}
	return errs
}

// eachOnce reports what is missing, twice, or none of what is wanted.
func eachOnce[T comparable](what string, given, wanted []T) error {
	if len(given) == 0 {
		return fmt.Errorf("no %s", what)
	}
	var errs []error
	for i, v := range given {
		if wanted != nil && !slices.Contains(wanted, v) {
			errs = append(errs, fmt.Errorf("%s %q: want one of %v", what, fmt.Sprint(v), wanted))
		}
		if slices.Contains(given[:i], v) {
			errs = append(errs, fmt.Errorf("%s %v is there twice", what, v))
		}
	}
	return errors.Join(errs...)
}

// Options tune a pass. The zero value works.
type Options struct {
	// Workers is how many policies are decided at a time; 0 is GOMAXPROCS. Results do
	// not depend on it.
	Workers int
	// Group is the group of each client, by its number: clients are counted by group.
	// Clients without one are in group 0.
	Group []uint8
	// Class is the class of each route, by its number: requests are counted by class.
	// Routes without one are in class 0.
	Class []uint8
}

func (o Options) validate() error {
	if o.Workers < 0 {
		return fmt.Errorf("%d workers: want 0, which is all processors, or more", o.Workers)
	}
	if cells := o.classes() * o.groups(); cells > MostCells {
		return fmt.Errorf("%d classes × %d groups: want at most %d together", o.classes(), o.groups(), MostCells)
	}
	return nil
}

func (o Options) workers() int {
	if o.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Workers
}

func (o Options) groups() int  { return kindsIn(o.Group) }
func (o Options) classes() int { return kindsIn(o.Class) }

func kindsIn(kinds []uint8) int {
	if len(kinds) == 0 {
		return 1
	}
	return int(slices.Max(kinds)) + 1
}

// kindOf is the group of a client or the class of a route.
func kindOf(kinds []uint8, number uint32) int {
	if int(number) >= len(kinds) {
		return 0
	}
	return int(kinds[number])
}

// inOrder refuses events of which the numbers or instants cannot be; last is the instant
// before them. Which it is helps to find it in the log.
func inOrder(events []Event, last, seen int64) error {
	for i := range events {
		e := &events[i]
		switch {
		case e.At < 0 || e.At >= latest:
			return fmt.Errorf("event %d is at %d µs: want instants since 1970 below 2^53 µs", seen+int64(i), e.At)
		case e.At < last:
			return fmt.Errorf("event %d is at %d µs, %d µs before the one before it: want the order of time", seen+int64(i), e.At, last-e.At)
		case max(e.Client, e.Network, e.Route) >= MostNumbers:
			return fmt.Errorf("event %d is of client %d, network %d, route %d: want numbers below %d", seen+int64(i), e.Client, e.Network, e.Route, MostNumbers)
		}
		last = e.At
	}
	return nil
}
