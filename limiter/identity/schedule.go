package identity

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// NoOverlap lets every budget start afresh at a rotation: names have no second
// pseudonym, and clients get up to twice a limit around T.
const NoOverlap time.Duration = -1

// Defaults and bounds of a Config.
const (
	DefaultPeriod = 24 * time.Hour
	DefaultSkew   = time.Second
	MaxPeriod     = 366 * 24 * time.Hour
	MaxSlotBits   = 14
)

// MaxAhead is how many periods an instant may be ahead of the oldest key that
// is left: 359 years of days, 15 years of hours, 91 days of minutes. To get
// there takes about 0.1 s, once.
const MaxAhead = 1 << 17

// Config says how names change. Overlap is required. All servers that share
// budgets need the same one.
type Config struct {
	// Period is how long a pseudonym lasts: whole seconds, up to MaxPeriod.
	// Default DefaultPeriod; for Open, that of the file.
	Period time.Duration
	// Overlap is how long what was used before a rotation counts after it: the
	// longest window of any limit, or twice that for the algorithm counter,
	// which remembers two. NoOverlap is none.
	Overlap time.Duration
	// Skew is how far apart the clocks of servers may be, and how far one may be
	// set back without an error. Default DefaultSkew.
	//
	// Overlap and twice Skew fit into a Period, so that a name never has more
	// than two pseudonyms.
	Skew time.Duration
	// SlotBits, 1 to MaxSlotBits, is for Redis Cluster: all pseudonyms of a client get
	// one Name.Slot out of 2^SlotBits. It does not change with a rotation, so it
	// links the pseudonyms of a client as far as SlotBits bits can. 0 is no
	// slot, and nothing is linked. See docs/privacy.md.
	SlotBits int
}

func (c Config) withDefaults() Config {
	if c.Period == 0 {
		c.Period = DefaultPeriod
	}
	if c.Skew == 0 {
		c.Skew = DefaultSkew
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Period < time.Second || c.Period > MaxPeriod || c.Period%time.Second != 0 {
		errs = append(errs, fmt.Errorf("period %s: want whole seconds, 1s to %s",
			limiter.FormatDuration(c.Period), limiter.FormatDuration(MaxPeriod)))
	}
	switch {
	case c.Overlap == 0:
		errs = append(errs, errors.New("overlap is not chosen: set Overlap to the longest window "+
			"(twice that for counter), or to NoOverlap"))
	case c.Overlap < 0 && c.Overlap != NoOverlap:
		errs = append(errs, fmt.Errorf("overlap %s is negative", c.Overlap))
	}
	if c.Skew < 0 {
		errs = append(errs, fmt.Errorf("skew %s is negative", c.Skew))
	}
	// Without sums: they could overflow.
	if c.Overlap > c.Period || c.Skew > c.Period || c.Overlap+2*c.Skew > c.Period {
		errs = append(errs, fmt.Errorf("overlap %s and twice the skew %s do not fit into the period %s", limiter.FormatDuration(c.Overlap),
			limiter.FormatDuration(c.Skew), limiter.FormatDuration(c.Period)))
	}
	if c.SlotBits < 0 || c.SlotBits > MaxSlotBits {
		errs = append(errs, fmt.Errorf("slot bits %d: want 0 to %d", c.SlotBits, MaxSlotBits))
	}
	return errors.Join(errs...)
}

// schedule is when names change. Everything is in microseconds, instants since
// 1970.
type schedule struct {
	period, overlap, skew int64
	two                   bool // pseudonyms around a rotation
}

func (c Config) schedule() schedule {
	return schedule{
		period:  c.Period.Microseconds(),
		overlap: ceilMicros(max(c.Overlap, 0)),
		skew:    ceilMicros(c.Skew),
		two:     c.Overlap != NoOverlap,
	}
}

func ceilMicros(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

// lastSecond keeps instants far from overflowing: it is in the year 36812.
const lastSecond = 1 << 40

// micros is an instant, cut to whole microseconds like those of a limiter.
func micros(at time.Time) (int64, error) {
	if s := at.Unix(); s < 0 || s > lastSecond {
		return 0, fmt.Errorf("instant %s is before 1970 or beyond reason", at.UTC().Format(time.RFC3339Nano))
	}
	return at.UnixMicro(), nil
}

// index is the period of an instant.
func (c schedule) index(t int64) int64 { return t / c.period }

// start is the first instant of a period.
func (c schedule) start(index int64) int64 { return index * c.period }

// other is the period of the second pseudonym at t, or -1. Because the overlap
// and twice the skew fit into a period there is at most one.
func (c schedule) other(t int64) int64 {
	index := c.index(t)
	switch since := t - c.start(index); {
	case !c.two:
		return -1
	case since < c.overlap+c.skew:
		return index - 1
	case since >= c.period-c.skew:
		return index + 1
	}
	return -1
}

// unneeded is the instant from which the key of a period is of no use, even if
// the clock goes back by the skew.
func (c schedule) unneeded(index int64) int64 {
	return c.start(index+1) + c.overlap + 2*c.skew
}

// oldest is the first period whose key is of use at t.
func (c schedule) oldest(t int64) int64 {
	index := c.index(t)
	if index > 0 && t < c.unneeded(index-1) {
		return index - 1
	}
	return index
}

// patience is how long the clock has to stay ahead before keys are erased.
func (c schedule) patience(periods int64) int64 {
	if periods > 1 {
		return c.period
	}
	return c.period / 24
}
