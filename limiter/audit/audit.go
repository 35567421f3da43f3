package audit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options bound a sweep and say what to look for. The zero value works, but
// tries no digests that hold a date of this year.
type Options struct {
	// Prefix is how the names of keys begin that are swept; empty sweeps all.
	Prefix string
	// MaxTTL is the longest time to live that a key may have. Zero bounds only
	// keys of package limiter, whose names tell their window: two windows and a
	// second.
	MaxTTL time.Duration
	// Addresses are known to have been served. At most MaxAddresses.
	Addresses []netip.Addr
	// Now dates the digests that are tried of them.
	Now time.Time
	// MaxKeys is how many keys are looked at. Default 1,000,000.
	MaxKeys int64
	// MaxElements and MaxBytes are how much of one key is read, to the next page.
	// Default 10,000 elements and 1 MiB.
	MaxElements, MaxBytes int64
	// Pause is called after every 256 keys that the server walked, nil to go on at once. An error
	// ends the sweep.
	Pause func(context.Context) error
}

// The defaults of Options.
const (
	DefaultMaxKeys     = int64(1_000_000)
	DefaultMaxElements = int64(10_000)
	DefaultMaxBytes    = int64(1) << 20
)

func (o *Options) complete() error {
	var errs []error
	for _, bound := range []struct {
		what  string
		value *int64
		unset int64
	}{{"keys", &o.MaxKeys, DefaultMaxKeys}, {"elements", &o.MaxElements, DefaultMaxElements}, {"bytes", &o.MaxBytes, DefaultMaxBytes}} {
		if *bound.value < 0 {
			errs = append(errs, fmt.Errorf("%d %s at most is negative", *bound.value, bound.what))
		}
		if *bound.value == 0 {
			*bound.value = bound.unset
		}
	}
	if o.MaxTTL < 0 {
		errs = append(errs, fmt.Errorf("longest time to live %s is negative", o.MaxTTL))
	}
	return errors.Join(errs...)
}

// Result is what an audit saw. Nothing in it holds an address as a whole.
type Result struct {
	Node     string // host and port, or socket
	Database int
	Total    int64 // keys in the database when the sweep began; -1 if the server did not say
	Keys     int64 // looked at
	Elements int64
	Bytes    int64
	Findings []Finding // the worst first
	Gaps     []Gap
}

// Failed reports whether there is a finding that fails the audit.
func (r *Result) Failed() bool {
	for _, f := range r.Findings {
		if f.Kind.Severity == Fail {
			return true
		}
	}
	return false
}

// Finding is one kind of thing in one place and form.
type Finding struct {
	Kind  Kind
	Place Place
	Form  string // of an address; empty otherwise
	Keys  int64  // that have it; 0 if it is no matter of keys
	Count int64  // how often it is there
	// Message is a sentence with the figures.
	Message  string
	Examples []Example // the first few
}

// Example is one key with a finding.
type Example struct {
	Key    string        // redacted, printable, clipped; empty for the server
	Shown  string        // what was found, redacted; empty if that is not in the key
	TTL    time.Duration // of findings about it, else 0; -1 for none
	MaxTTL time.Duration // the bound that TTL exceeds, else 0
}

// Gap is something that was not looked at, and makes an audit without failure
// inconclusive.
type Gap struct {
	Code    string // "command-refused", "max-keys", ...
	Command string // that would have told; may be empty
	Message string
	Hint    string
	Keys    int64 // that it concerns; 0 if it is no matter of keys
}

// Commands are all that an audit sends, for the rules of a user that may do
// nothing else. None of them writes, and none reads a key as a whole, except SLOWLOG
// and CLIENT LIST, which have no pages and read no key.
var Commands = []string{
	"scan", "type", "pttl", "getrange", "hscan", "sscan", "zscan", "lrange", "xrange",
	"dbsize", "info", "config|get", "slowlog|get", "client|list", "cluster|info",
}

// Run audits the database that a client is connected to. If ctx ends or the
// server is lost, the error says so and the result is what was seen until then.
// The client's timeouts bound every call. It must be the client of one server:
// of a cluster, one node is audited.
func Run(ctx context.Context, c *redis.Client, o Options) (*Result, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("audit Redis: %w", err)
	}
	m, err := NewMatcher(o.Addresses, o.Now)
	if err != nil {
		return nil, fmt.Errorf("audit Redis: %w", err)
	}
	s := &sweep{
		client: c, options: o, matcher: m, tally: newTally(m), seen: map[uint64]struct{}{},
		result: &Result{Node: c.Options().Addr, Database: c.Options().DB, Total: -1},
	}
	err = s.server(ctx)
	if err == nil {
		err = s.keys(ctx)
	}
	switch {
	case ctx.Err() != nil:
		s.tally.gap(Gap{Code: "interrupted", Message: "the audit was interrupted", Hint: "run it again; --max-keys makes it shorter"})
	case err != nil:
		s.tally.gap(Gap{Code: "target-lost", Message: "Redis was lost before the audit was over", Hint: "run it again, with a longer --timeout if the server is slow"})
	case s.result.Keys == 0 && len(s.tally.gaps) == 0:
		s.tally.gap(Gap{Code: "no-keys", Message: "there was no key to look at", Hint: "audit while the limiter is in use; check --key-prefix and the database in the URL"})
	}
	s.result.Findings, s.result.Gaps = s.tally.findings(), s.tally.gaps
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return s.result, fmt.Errorf("audit Redis: %w", err)
	}
	return s.result, nil
}
