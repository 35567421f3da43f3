package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// Config is what is asked of a log.
type Config struct {
	Files []string
	Trace trace.Options
	// Algorithms, Windows and Keys are tried; the first of Windows and Keys are preferred.
	Algorithms []string
	Windows    []time.Duration
	Keys       []simulator.Key
	// Limits are tried, from the lowest up; nil takes round ones around what clients ask for.
	Limits []int64
	// Untouched is the share of ordinary clients that nothing is to be refused.
	Untouched float64
	// Memory is how many bytes the state may take.
	Memory int64
	// Heavy is the peak above which a client is heavy; 0 looks for a gap.
	Heavy int64
	// Spread says where within a second requests came, where nobody knows. All are tried.
	Spread trace.Spread
	Seed   uint64
	// MostEvents is how many requests of the riskiest windows a scenario is made of; 0 means
	// a million.
	MostEvents int
	// Measured is what keys take of Redis.
	Measured []report.MeasuredKey
	// Progress is told what is being done, and how much of how much is; nil tells nobody.
	Progress func(what string, done, total int64)
}

// mostEvents is how many requests a scenario is made of, at the most.
func (c *Config) mostEvents() int {
	return min(cmp.Or(c.MostEvents, 1_000_000), scenarios.MaxArrivals)
}

// Validate reports everything that is wrong with what is asked.
func (c *Config) Validate() error {
	limits := c.Limits
	if limits == nil {
		limits = []int64{1}
	}
	errs := []error{simulator.Grid{Algorithms: c.Algorithms, Windows: c.Windows, Keys: c.Keys, Limits: limits}.Validate()}
	if !(c.Untouched > 0 && c.Untouched <= 1) {
		errs = append(errs, fmt.Errorf("untouched %v: want a share above 0 %% and up to 100 %%", c.Untouched))
	}
	if c.Memory < 1 {
		errs = append(errs, fmt.Errorf("memory %d: want a byte or more", c.Memory))
	}
	if c.Heavy < 0 {
		errs = append(errs, fmt.Errorf("heavy %d: want a peak from 1 on, or 0 to look for a gap", c.Heavy))
	}
	if c.MostEvents < 0 {
		errs = append(errs, fmt.Errorf("events %d: want 1 or more, or 0 for a million", c.MostEvents))
	}
	if len(c.Files) == 0 {
		errs = append(errs, errors.New("no log is named"))
	}
	_, err := trace.ParseSpread(string(c.Spread))
	return errors.Join(append(errs, err)...)
}

func (c *Config) tell(what string, done, total int64) {
	if c.Progress != nil {
		c.Progress(what, done, total)
	}
}
