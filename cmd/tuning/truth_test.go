package tuning

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlbench/rlbench/scenarios/crowd"
)

// Of a hundred made-up logs, the recommended limit is one that every scraper runs into, and
// no browser, and nobody who shares an address: what is true of them, tune is not told.
func TestScrapersAreToldFromBrowsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seeds := uint64(100)
	if raced {
		seeds = 10
	}
	for seed := range seeds {
		made := crowd.Config{
			Seed: seed, Start: crowd.Default().Start, Duration: 7 * time.Minute,
			Browsers: 60, Scrapers: 2, Crons: 2, Bots: 2, Crowds: 1,
		}
		path := filepath.Join(dir, "access.log")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		format := &crowd.Formats[2+seed%4] // with fractions of seconds
		if seed%10 == 0 {
			format = &crowd.Formats[0] // nginx, without
		}
		if _, err := format.Write(f, crowd.Generate(made)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		c := usual(path)
		c.Trace.Format, c.Untouched, c.Windows = "", 1, []time.Duration{time.Minute}
		c.Algorithms = []string{"log", "counter"}
		d := tuned(t, c).Document
		p := d.Recommended
		if p == nil || d.Heavy.Clients != int64(made.Scrapers) || p.Policy.TouchedHeavy != int64(made.Scrapers) || p.Policy.TouchedOrdinary != 0 {
			t.Errorf("seed %d: of %d scrapers %d are heavy clients, and the recommendation is %+v", seed, made.Scrapers, d.Heavy.Clients, p)
		}
	}
}
