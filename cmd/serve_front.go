package cmd

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
	"github.com/rlbench/rlbench/limiter/identity"
)

// front is what stands between a client and the API.
type front struct {
	set        *limiter.Set
	middleware *httplimit.Middleware
	clients
}

// budgets are the article's, and one for all endpoints together.
var budgets = []struct {
	policy, pattern string
	max             int64
}{
	{"trending", "GET /api/v1/trending", 100},
	{"feed", "GET /api/v1/feed", 30},
	{"search", "GET /api/v1/search", 10},
	{"global", "", 120},
}

func (o *serveOptions) front(client limiter.Processor, log *slog.Logger, now func() time.Time) (*front, error) {
	a, _ := limiter.Named(o.algorithm)
	var policies []limiter.Policy
	var routes []httplimit.Route
	for _, b := range budgets {
		policies = append(policies, limiter.Policy{Name: b.policy, Algorithm: a, Limit: limiter.Limit{Max: b.max, Window: o.window}})
		if b.pattern != "" {
			routes = append(routes, httplimit.Route{Pattern: b.pattern, Charges: []httplimit.Charge{{Policy: b.policy}, {Policy: "global"}}})
		}
	}
	set, err := limiter.NewSet(client, limiter.SetConfig{
		Policies: policies, Prefix: "rlbench-serve", OnFailure: limiter.Failure(o.onFailure), Timeout: o.timeout, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	f := &front{set: set, clients: clients{now: now}}
	if f.proxies, err = o.proxies(); err != nil {
		return nil, err
	}
	if f.names, err = o.namer(now()); err != nil {
		return nil, err
	}
	f.middleware, err = httplimit.New(httplimit.Config{
		Decider: set, Policies: policies, Routes: routes, Default: httplimit.Route{Unlimited: true},
		Identify: f.identify, OnUnidentified: httplimit.Unidentified{Status: http.StatusForbidden}, OnError: httplimit.ErrorRefuses,
		Dialects: o.chosenDialects(), Jitter: o.jitter, Shadow: o.shadow, Observe: o.observe(log),
	})
	return f, err
}

// observe tells what would be refused. What is refused is what load testers come
// for, thousands of times, and /metrics counts it.
func (o *serveOptions) observe(log *slog.Logger) func(context.Context, httplimit.Event) {
	if !o.shadow {
		return nil
	}
	return httplimit.Log(log)
}

// namer has a key that is kept in a file, or one that is gone with the process.
func (o *serveOptions) namer(now time.Time) (*identity.Namer, error) {
	c := identity.Config{Overlap: 2 * o.window} // a counter remembers two windows
	if 2*c.Overlap > identity.DefaultPeriod {
		c.Period = (2*c.Overlap + time.Second - 1).Truncate(time.Second)
	}
	if o.keyFile == "" {
		return identity.New(freshKey(), now, c)
	}
	if _, err := os.Stat(o.keyFile); errors.Is(err, fs.ErrNotExist) {
		if err := identity.Create(o.keyFile, c, now); err != nil {
			return nil, err
		}
	}
	return identity.Open(o.keyFile, c)
}

// clients knows who sends requests, and names them.
type clients struct {
	proxies identity.Proxies
	names   *identity.Namer
	now     func() time.Time
}

// identify is the pseudonym of the address that the nearest proxy to be trusted
// tells; one for each policy, so that nobody can tell that they are one client.
func (c *clients) identify(r *http.Request, policy string) (httplimit.Name, error) {
	addr, err := c.proxies.Client(r)
	if err != nil {
		return httplimit.Name{}, err
	}
	return c.pseudonym(addr, policy)
}

func (c *clients) pseudonym(addr netip.Addr, policy string) (httplimit.Name, error) {
	client, _, err := identity.Tiers{}.Clients(addr)
	if err != nil {
		return httplimit.Name{}, err
	}
	name, err := c.names.Name(policy, client, c.now())
	return httplimit.Name(name), err
}
