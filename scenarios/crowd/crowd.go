// Package crowd makes up the traffic of a video API, with known truth: who is a browser, who
// a scraper that waits for the edge of a minute, who comes by the clock, and which address
// has many people behind it. It writes that as an access log, too.
//
// All of it follows from a seed. Addresses are of networks that are set aside for tests.
package crowd

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"
)

// Class is what a client is.
type Class string

// The classes.
const (
	Browser Class = "browser" // a person: pages, each with what it needs, and time to read
	Scraper Class = "scraper" // takes as much as it can around the edges of minutes
	Cron    Class = "cron"    // comes at the same second of certain minutes
	Bot     Class = "bot"     // a crawler, steady and slow
	Crowd   Class = "crowd"   // an address with five browsers behind it
)

// Classes are all of them.
var Classes = []Class{Browser, Scraper, Cron, Bot, Crowd}

// Config is how much traffic there is. The zero value is none.
type Config struct {
	Seed     uint64
	Start    time.Time
	Duration time.Duration
	// How many clients there are of each class.
	Browsers, Scrapers, Crons, Bots, Crowds int
}

// Default is some hundred thousand requests in two hours.
func Default() Config {
	return Config{
		Seed: 1, Start: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), Duration: 2 * time.Hour,
		Browsers: 2000, Scrapers: 6, Crons: 12, Bots: 12, Crowds: 5,
	}
}

// Scaled is that with about so many requests: with more or fewer clients of each class.
func Scaled(requests int64) Config {
	c := Default()
	share := float64(requests) / defaultRequests
	scale := func(n int) int { return int(float64(n)*share + 0.5) }
	c.Browsers, c.Scrapers = max(scale(c.Browsers), 20), max(scale(c.Scrapers), 1)
	c.Crons, c.Bots, c.Crowds = scale(c.Crons), scale(c.Bots), scale(c.Crowds)
	return c
}

// defaultRequests is about how many Default has.
const defaultRequests = 128_700

// Bounds of a Config.
const (
	MostClients = 1 << 20
	longest     = 31 * 24 * time.Hour
)

// Validate reports everything that is wrong with a Config.
func (c Config) Validate() error {
	var errs []error
	if c.Duration < time.Minute || c.Duration > longest {
		errs = append(errs, fmt.Errorf("duration %s: want a minute to %s", c.Duration, longest))
	}
	if c.Start.Before(time.Unix(0, 0)) || c.Start.Year() > 2200 {
		errs = append(errs, fmt.Errorf("start %s: want a time from 1970 to 2200", c.Start))
	}
	for i, n := range c.counts() {
		if n < 0 {
			errs = append(errs, fmt.Errorf("%d clients of class %s: want 0 or more", n, Classes[i]))
		}
	}
	if n := c.Clients(); n < 1 || n > MostClients {
		errs = append(errs, fmt.Errorf("%d clients: want 1 to %d", n, MostClients))
	}
	return errors.Join(errs...)
}

func (c Config) counts() []int { return []int{c.Browsers, c.Scrapers, c.Crons, c.Bots, c.Crowds} }

// Clients is how many clients there are.
func (c Config) Clients() int {
	sum := 0
	for _, n := range c.counts() {
		sum += n
	}
	return sum
}

// Event is a request.
type Event struct {
	At     int64 // when it arrived, µs since 1970
	Client int   // from 0 on
	Class  Class
	Addr   netip.Addr
	Method string
	Path   string
	Status int
	Bytes  int
	Took   time.Duration
	Agent  string
}

// Generate makes the requests in the order of their arrival. Its memory is some hundred bytes
// for each client. The configuration has to be valid.
func Generate(c Config) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		all := newMerge(c)
		for len(all) > 0 {
			if !yield(all.next()) {
				return
			}
		}
	}
}

// addressOf is an address of 198.18.0.0/15 (RFC 2544) or, for every eighth client and where
// those have run out, one of 2001:db8::/32 (RFC 3849), each in a /64 of its own.
func addressOf(client int) netip.Addr {
	if client%8 == 7 || client >= 1<<17 {
		return netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 4: byte(client >> 16), 5: byte(client >> 8), 6: byte(client), 15: 1})
	}
	return netip.AddrFrom4([4]byte{198, byte(18 + client>>16&1), byte(client >> 8), byte(client)})
}
