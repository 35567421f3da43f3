package edge

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Bounds of a Config.
const (
	MaxLimit     = 1 << 24 // keeps products of counts and microseconds in 64 bits
	MaxLocations = 1024
	MaxMachines  = 256
	MaxSync      = time.Hour
)

// DefaultMaxKeys is the MaxKeys of a configuration that names none.
const DefaultMaxKeys = 1 << 16

// Kind says how a machine counts a period. It is chosen, never defaulted.
type Kind string

// The kinds of window.
const (
	// FixedWindow counts from one multiple of the period to the next.
	FixedWindow Kind = "fixed"
	// SlidingWindow adds the share of the period before that still overlaps, as
	// limiter.Counter does.
	SlidingWindow Kind = "sliding"
)

func (k Kind) validate() error {
	switch k {
	case FixedWindow, SlidingWindow:
		return nil
	case "":
		return fmt.Errorf("kind of window is not chosen: set Kind to FixedWindow or SlidingWindow")
	default:
		return fmt.Errorf("kind of window %q: want %q or %q", string(k), FixedWindow, SlidingWindow)
	}
}

// Config describes a binding and the network that it runs on. Limit, Kind,
// Locations, Machines and Sync are required.
type Config struct {
	// Limit has 1 to MaxLimit requests and a window of 10s or 1m: the binding
	// knows no other periods.
	Limit limiter.Limit
	// Kind of window.
	Kind Kind
	// Inclusive admits at the limit too, and so one more: Limit+1 over one
	// connection. Both were seen in the field.
	Inclusive bool
	// Locations count on their own and never exchange anything.
	Locations int
	// Machines of each location. A connection stays on one.
	Machines int
	// Sync is how often a machine adds what it counted to the store of its
	// location and reads the store, in whole microseconds up to MaxSync. Machines
	// take turns: each has its own phase. Longer than the window is never.
	Sync time.Duration
	// Seed decides which connection meets which machine, and the phases.
	Seed uint64
	// MaxKeys is how many pairs of key and location are counted in one period; a
	// sliding window remembers as many of the period before. A key that finds no
	// room is admitted uncounted: the tier is permissive, and to evict others
	// would let a flood of names wipe the counter of a name. Each pair takes
	// about 200 bytes and 32 for each machine. Zero means DefaultMaxKeys.
	MaxKeys int
	// Now is the clock of requests without an instant. Without a clock they are
	// an error.
	Now func() time.Time
}

// Validate reports everything that is wrong with the configuration.
func (c Config) Validate() error {
	errs := []error{validateLimit(c.Limit), c.Kind.validate()}
	if c.Locations < 1 || c.Locations > MaxLocations {
		errs = append(errs, fmt.Errorf("%d locations: want 1 to %d", c.Locations, MaxLocations))
	}
	if c.Machines < 1 || c.Machines > MaxMachines {
		errs = append(errs, fmt.Errorf("%d machines at each location: want 1 to %d", c.Machines, MaxMachines))
	}
	if c.Sync <= 0 || c.Sync > MaxSync || c.Sync%time.Microsecond != 0 {
		errs = append(errs, fmt.Errorf("sync every %s: want whole microseconds, 1µs to %s", c.Sync, limiter.FormatDuration(MaxSync)))
	}
	return errors.Join(append(errs, validateMaxKeys(c.MaxKeys))...)
}

func validateLimit(l limiter.Limit) error {
	var errs []error
	if l.Max < 1 || l.Max > MaxLimit {
		errs = append(errs, fmt.Errorf("limit %s: count %d is outside 1 to %d", l, l.Max, MaxLimit))
	}
	if l.Window != 10*time.Second && l.Window != time.Minute {
		errs = append(errs, fmt.Errorf("limit %s: the binding has periods of 10s and 1m only", l))
	}
	return errors.Join(errs...)
}

func validateMaxKeys(n int) error {
	if n < 0 {
		return fmt.Errorf("at most %d keys: want a positive number, or 0 for %d", n, DefaultMaxKeys)
	}
	return nil
}

// Pinned is exactly what one connection gets in one period if nobody else uses
// the key: the limit, or one more if Inclusive.
func (c Config) Pinned() int64 {
	if c.Inclusive {
		return c.Limit.Max + 1
	}
	return c.Limit.Max
}

// Burst is the most that a key gets in one period at one location, however its
// requests are spread: Pinned on every machine. It is reached when no sync falls
// into the burst.
func (c Config) Burst() int64 { return int64(c.Machines) * c.Pinned() }

// Worst is the most that a key gets in one period everywhere.
func (c Config) Worst() int64 { return int64(c.Locations) * c.Burst() }

// Lag is how late the last machine of a location may learn of a request: one
// Sync until it is added to the store, one more until the store is read.
func (c Config) Lag() time.Duration { return 2 * c.Sync }

// Sustained is the most that a key gets in one period at one location from
// requests at a steady rate per second: whoever admits the last one has seen
// less than Pinned, and not seen at most what came within Lag.
func (c Config) Sustained(perSecond float64) int64 {
	unseen := math.Ceil(perSecond * c.Lag().Seconds())
	if !(unseen < float64(c.Burst())) {
		return c.Burst()
	}
	return min(c.Pinned()-1+max(int64(unseen), 1), c.Burst())
}
