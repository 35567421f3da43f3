package oracle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Attack is the best schedule that was found against an algorithm.
type Attack struct {
	// Algorithm is the name of the algorithm.
	Algorithm string
	// Limit is the limit that was asked about, or one of a few microseconds if the
	// claim is exceeded by more there.
	Limit limiter.Limit
	// Claimed is the algorithm's Worst, and Found the most units that the schedule
	// gets into one trailing window. The claim is broken if Found is larger.
	Claimed, Found int64
	// Exhaustive says that every schedule of two and a half windows was tried, with
	// windows of a few microseconds; only small limits are. Schedules that break the
	// claim were not continued. States that are no plain values were told apart by
	// decisions and the admissions of two windows.
	Exhaustive bool
	// Explored counts the questions that the model was asked.
	Explored int64
	// Steps are in order of time.
	Steps []Step
}

// Step is a burst.
type Step struct {
	At       time.Duration // offset from a window edge
	Offered  int64         // requests
	Admitted int64         // those of them that the model admits
	Cost     int64         // units of each request; 0 means 1
}

func (s Step) request() int64 { return max(s.Cost, 1) }

func (s Step) units() int64 { return s.Admitted * s.request() }

// AdversaryOptions bound a search. The zero value works.
type AdversaryOptions struct {
	// MaxSteps is how many questions the model may be asked; 0 means ten million.
	// A burst that is under way is finished, and confirming what was found comes on
	// top.
	MaxSteps int64
	// Beam is how many schedules are kept for the next burst; 0 means 32.
	Beam int
	// Bursts is how many bursts a schedule has at most; 0 means 6.
	Bursts int
}

func (o AdversaryOptions) withDefaults() (AdversaryOptions, error) {
	if o.MaxSteps < 0 || o.Beam < 0 || o.Bursts < 0 {
		return o, fmt.Errorf("options %+v: a bound is negative", o)
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 10_000_000
	}
	if o.Beam == 0 {
		o.Beam = 32
	}
	if o.Bursts == 0 {
		o.Bursts = 6
	}
	return o, nil
}

// Attacks searches for the schedule that gets most units into a trailing window:
// one key, one clock that never goes back, an unchanged limit. The same arguments
// give the same attack. Windows may be shorter than limiter.MinWindow. When the
// context ends, the error comes with the best that was found so far.
func Attacks(ctx context.Context, a limiter.Algorithm, l limiter.Limit, o AdversaryOptions) (Attack, error) {
	o, err := o.withDefaults()
	if err == nil {
		err = attackable(a, l)
	}
	if err != nil {
		return Attack{}, fmt.Errorf("attack %s: %w", a.Name, err)
	}
	small := searchSmall(ctx, a, l, o.MaxSteps/2)
	v := newVictim(ctx, a, l, o.MaxSteps)
	v.asked = small.asked
	candidates := [][]Step{v.patience(), v.guided(o)}
	for _, found := range small.attacks {
		candidates = append(candidates, stretched(found, l))
	}
	best := v.strongest(candidates)
	for _, found := range small.attacks {
		// A short window counts only if it shows more: claims are about the limit.
		if found.Found-found.Claimed > best.Found-best.Claimed {
			best = found
		}
	}
	best.Exhaustive, best.Explored = small.complete, v.asked
	if err := ctx.Err(); err != nil {
		return best, fmt.Errorf("attack %s at %s: %w", a.Name, l, err)
	}
	return best, nil
}

// attackable reports what makes an attack impossible.
func attackable(a limiter.Algorithm, l limiter.Limit) error {
	switch {
	case a.Worst == nil || a.Model.Init == nil || a.Model.Step == nil:
		return errors.New("it has no model or claims no worst case")
	case l.Window < time.Microsecond || l.Window > limiter.MaxWindow || l.Window%time.Microsecond != 0:
		return fmt.Errorf("limit %s: window is not 1µs to %s in whole microseconds", l, limiter.FormatDuration(limiter.MaxWindow))
	case l.Max < 0 || l.Max > limiter.MaxMax:
		return fmt.Errorf("limit %s: count is outside 0 to %d", l, limiter.MaxMax)
	case a.Check != nil:
		return a.Check(l)
	}
	return nil
}
