package cmd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/cmd/demo"
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
	"github.com/rlbench/rlbench/limiter/identity"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// service is the demo API behind the limiter under test, as a production service
// would have it: addresses from a trusted proxy, pseudonyms, middleware, a joint
// decision in Redis. Senders ask it over HTTP.
type service struct {
	api      *demo.API
	server   *http.Server
	url      string
	set      *limiter.Set
	policies map[int32]string // by the pseudonym of the phases that ask for it
	client   *http.Client
	paths    []string // by phase
	clients
}

// proxied is the proxy that senders claim to be: this machine.
var proxied = identity.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}

// serve starts the service of a plan for one limiter. The policies are one for each
// path, with the limit of the phases that ask for it.
func (e *experiment) serve(ctx context.Context, p *scenarios.Plan, a limiter.Algorithm, prefix string) (_ *service, err error) {
	if err := addressable(p); err != nil {
		return nil, err
	}
	s := &service{policies: map[int32]string{}, clients: clients{proxies: proxied, now: e.Now}}
	if s.api, err = demo.Open(ctx, demo.Config{Seed: p.Seed, Timeout: 30 * time.Second}); err != nil {
		return nil, internal(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.api.Close())
		}
	}()
	if err := s.answers(ctx, p); err != nil {
		return nil, err
	}
	middleware, err := s.limited(e, p, a, prefix)
	if err != nil {
		return nil, internal(err)
	}
	return s, s.start(middleware)
}

// answers asks for every path once, not limited: answers to what is no request of
// the API would be measured as if they were its work.
func (s *service) answers(ctx context.Context, p *scenarios.Plan) error {
	for _, phase := range p.Phases {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, phase.Path, nil)
		if err != nil {
			return usage(fmt.Errorf("phase %s: %w", phase.Name, err), "path: /api/v1/trending")
		}
		answer := &unread{header: http.Header{}}
		s.api.Handler().ServeHTTP(answer, r)
		if answer.status != http.StatusOK && ctx.Err() == nil {
			return usagef("path: /api/v1/trending, /api/v1/feed or /api/v1/search?q=tramway",
				"phase %s: the demo API answers %d to %s", phase.Name, answer.status, phase.Path)
		}
	}
	return ctx.Err()
}

// limited is what limits requests to the API, one policy a path.
func (s *service) limited(e *experiment, p *scenarios.Plan, a limiter.Algorithm, prefix string) (*httplimit.Middleware, error) {
	var policies []limiter.Policy
	var routes []httplimit.Route
	for _, phase := range p.Phases {
		where, _, _ := strings.Cut(phase.Path, "?")
		name := path.Base(where)
		s.paths = append(s.paths, phase.Path)
		s.policies[phase.Pseudonym] = name
		if slices.ContainsFunc(policies, func(p limiter.Policy) bool { return p.Name == name }) {
			continue
		}
		policies = append(policies, limiter.Policy{Name: name, Algorithm: a, Limit: phase.Limit})
		routes = append(routes, httplimit.Route{Pattern: "GET " + where, Charges: []httplimit.Charge{{Policy: name}}})
	}
	var err error
	if s.names, err = identity.New(freshKey(), e.Now(), identity.Config{Period: identity.MaxPeriod, Overlap: identity.NoOverlap}); err != nil {
		return nil, err
	}
	failure, circuit := target.Failing(p.OnFailure)
	s.set, err = limiter.NewSet(e.server.Client(), limiter.SetConfig{
		Policies: policies, Prefix: prefix, OnFailure: failure, Timeout: p.Timeout, Circuit: circuit,
	})
	if err != nil {
		return nil, err
	}
	return httplimit.New(httplimit.Config{
		Decider: telling{s.set}, Policies: policies, Routes: routes, Default: httplimit.Route{Unlimited: true},
		Identify: s.identify, OnUnidentified: httplimit.Unidentified{Status: http.StatusBadRequest}, OnError: httplimit.ErrorRefuses,
		Refuse: func(w http.ResponseWriter, r *http.Request, p httplimit.Problem) {
			tell(w, r)
			p.Write(w, r)
		},
	})
}

// start listens.
func (s *service) start(middleware *httplimit.Middleware) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return internal(fmt.Errorf("listen for the demo API: %w", err))
	}
	s.url = "http://" + listener.Addr().String()
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tell(w, r)
		s.api.Handler().ServeHTTP(w, r)
	})
	limited := middleware.Wrap(inner)
	s.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limited.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), told{}, new(limiter.Decision))))
	}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	s.client = &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true},
		Timeout:   time.Minute,
	}
	return nil
}

func (s *service) close() error {
	s.client.CloseIdleConnections()
	return errors.Join(s.server.Close(), s.api.Close())
}

// Senders have addresses of 10.0.0.0/8: 4 bits of the attempt, 6 of the pseudonym
// and 14 of the key.
const (
	keyBits       = 14
	pseudonymBits = 6
)

// addressable reports whether all senders of a plan have an address.
func addressable(p *scenarios.Plan) error {
	if p.Keys > 1<<keyBits {
		return usagef("--set keys.count=1000", "a service has %d senders at most, here are %d", 1<<keyBits, p.Keys)
	}
	for _, phase := range p.Phases {
		if phase.Pseudonym >= 1<<pseudonymBits {
			return usagef("--set phases."+phase.Name+".pseudonym=1", "a service knows pseudonyms below %d, phase %s has %d", 1<<pseudonymBits, phase.Name, phase.Pseudonym)
		}
	}
	return nil
}

// name is a sender's address and the policy that it asks for.
func (s *service) name(id scenarios.Identity, attempt int) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24|(uint32(attempt)&0xf)<<20|uint32(id.Pseudonym)<<keyBits|uint32(id.Key))
	return netip.AddrFrom4(b).String() + "/" + s.policies[id.Pseudonym]
}

// attach makes a target ask the service.
func (s *service) attach(t *target.Target) {
	t.Keys = func(name string, _ time.Time) []string {
		addr, policy, _ := strings.Cut(name, "/")
		at, err := netip.ParseAddr(addr)
		if err != nil {
			return nil
		}
		n, err := s.pseudonym(at, policy)
		if err != nil {
			return nil
		}
		return s.set.Keys(limiter.Joint{Charges: []limiter.Charge{{Policy: policy, Key: n.Key}}})
	}
}

// limiters are the service as the senders of each phase see it.
func (s *service) limiters() []limiter.Limiter {
	all := make([]limiter.Limiter, len(s.paths))
	for i, path := range s.paths {
		all[i] = &asked{s.client, s.url + path}
	}
	return all
}
