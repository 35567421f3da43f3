package tuning

import (
	"bufio"
	"errors"
	"fmt"
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

// A million clients of one request each, and one that asks for as many as it can.
func TestAMillionClients(t *testing.T) {
	clients := 1_000_000
	if raced {
		clients = 50_000
	}
	path := filepath.Join(t.TempDir(), "access.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "arrival,client")
	heavy := 0
	for i := range clients {
		at := 1_767_261_600_000 + int64(i)*600_000/int64(clients)
		fmt.Fprintf(w, "%d.%03d,10.%d.%d.%d\n", at/1000, at%1000, i>>16, i>>8&255, i&255)
		if i%(clients/2000) == 0 {
			fmt.Fprintf(w, "%d.%03d,192.0.2.1\n", at/1000, at%1000)
			heavy++
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	c := usual(path)
	c.Algorithms, c.Untouched, c.Memory = []string{"fixed", "log", "counter"}, 0.999999, 1<<30
	d := tuned(t, c).Document
	p := d.Recommended
	if p == nil || p.Policy.Limit != 1 || p.Policy.TouchedHeavy != 1 || p.Policy.TouchedOrdinary != 0 || d.Log.Clients != int64(clients)+1 || d.Log.Requests != int64(clients+heavy) {
		t.Errorf("%d clients, %d requests, heavy %+v, %v, recommended %+v", d.Log.Clients, d.Log.Requests, d.Heavy, d.Reasons, p)
	}
}
