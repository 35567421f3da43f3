package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Nameless is what to do with a request whose client has no name. It is chosen,
// never defaulted; to count such requests together is no choice, since one of
// them could then use up the budget of all.
type Nameless string

// The choices.
const (
	// NamelessRefuse answers 403.
	NamelessRefuse Nameless = "refuse"
	// NamelessPass lets the request through uncounted.
	NamelessPass Nameless = "pass"
)

func (n Nameless) validate() error {
	switch n {
	case NamelessRefuse, NamelessPass:
		return nil
	case "":
		return errors.New("what to do without a name is not chosen: set Nameless to NamelessRefuse or NamelessPass")
	default:
		return fmt.Errorf("without a name %q: want %q or %q", string(n), NamelessRefuse, NamelessPass)
	}
}

// ErrNoAddress is that a request does not say whose it is.
var ErrNoAddress = errors.New("the request has no client address")

// GuardConfig says what a Guard limits. All but MaxKeys is required.
type GuardConfig struct {
	// Limit and Kind are those of a Config.
	Limit limiter.Limit
	Kind  Kind
	// Key names the client of a request: PeerAddress, or behind a proxy what the
	// proxy says. The name stays in this process, is in no answer, and is dropped
	// by the first request of a later period, or of the one after that if the
	// window slides. An error, or an empty name, is a client without a name; the
	// error's text is not shown.
	Key func(*http.Request) (string, error)
	// Nameless is what to do then.
	Nameless Nameless
	// Prefixes are the paths that are limited: "/api" is /api and all below it,
	// "/" is everything.
	Prefixes []string
	// Now is the clock, usually time.Now.
	Now func() time.Time
	// MaxKeys bounds the names that are counted: see Config.MaxKeys.
	MaxKeys int
}

func (c GuardConfig) validate() error {
	errs := []error{validateLimit(c.Limit), c.Kind.validate(), c.Nameless.validate(), validateMaxKeys(c.MaxKeys)}
	if c.Key == nil {
		errs = append(errs, errors.New("no key: set Key to what names a client, such as PeerAddress"))
	}
	if c.Now == nil {
		errs = append(errs, errors.New("no clock: set Now, usually to time.Now"))
	}
	if len(c.Prefixes) == 0 {
		errs = append(errs, errors.New(`no path prefix: "/" limits everything`))
	}
	for _, p := range c.Prefixes {
		if !strings.HasPrefix(p, "/") {
			errs = append(errs, fmt.Errorf("path prefix %q does not start with a slash", p))
		}
	}
	return errors.Join(errs...)
}

// Guard is a coarse tier inside one process: a binding at one location with one
// machine, in front of a handler. It is safe for concurrent use.
type Guard struct {
	config   GuardConfig
	binding  *Binding
	prefixes []string // without the slash at their end; empty is everything
	tally    tally
	nameless tally
}

// NewGuard makes a guard, or says everything that is wrong with the
// configuration.
func NewGuard(c GuardConfig) (*Guard, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("new edge guard: %w", err)
	}
	b, err := New(Config{
		Limit: c.Limit, Kind: c.Kind, MaxKeys: c.MaxKeys,
		Locations: 1, Machines: 1, Sync: c.Limit.Window,
	})
	if err != nil {
		return nil, fmt.Errorf("new edge guard: %w", err)
	}
	g := &Guard{config: c, binding: b}
	for _, p := range c.Prefixes {
		g.prefixes = append(g.prefixes, strings.TrimSuffix(path.Clean(p), "/"))
	}
	return g, nil
}

// Middleware limits the requests to a handler. What it refuses is answered with
// problem details whose scope is "edge", and the handler never sees it: 429 with
// the Retry-After after which the same client is admitted, if it sends nothing
// else, and 403 for a client without a name if that is configured.
func (g *Guard) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.covers(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		key, err := g.config.Key(r)
		if err != nil || key == "" {
			pass := g.config.Nameless == NamelessPass
			g.nameless.add(pass, nil)
			if pass {
				next.ServeHTTP(w, r)
				return
			}
			refuse(w, http.StatusForbidden, "the request does not say which client it comes from")
			return
		}
		admitted, wait := g.binding.ask(max(g.config.Now().UnixMicro(), 0), key, connection{})
		g.tally.add(admitted, nil)
		if admitted {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", wholeSeconds(wait))
		refuse(w, http.StatusTooManyRequests, "the client has sent too many requests; wait for Retry-After seconds")
	})
}

// Counts is what became of the requests under the prefixes, those without a name
// aside.
func (g *Guard) Counts() Counts { return g.tally.counts() }

// Nameless is what became of the requests without a name.
func (g *Guard) Nameless() Counts { return g.nameless.counts() }

// Uncounted is how many of the admitted requests found no room: see
// Config.MaxKeys.
func (g *Guard) Uncounted() int64 { return g.binding.Uncounted() }

// covers reports whether a path is under a prefix. It looks at the path as a
// router will that tidies it, so that //api or /x/../api is no way round.
func (g *Guard) covers(p string) bool {
	p = path.Clean("/" + p)
	for _, prefix := range g.prefixes {
		if below, ok := strings.CutPrefix(p, prefix); ok && (below == "" || below[0] == '/') {
			return true
		}
	}
	return false
}

// PeerAddress names a client by the address that its connection comes from, and
// an IPv6 client by its /64, which is what one subscriber has. Behind a proxy
// that is the proxy: everybody would share its budget.
func PeerAddress(r *http.Request) (string, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "", ErrNoAddress // the parser's error would quote the address
	}
	addr := peer.Addr().Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return "", ErrNoAddress
	}
	return prefix.String(), nil
}
