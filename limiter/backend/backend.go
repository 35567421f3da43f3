// Package backend opens the Redis that a limiter keeps its state in, whichever
// kind there is, and asks it what a report needs to know.
//
//	s, err := backend.Open(ctx, "auto", backend.Options{})
//	...
//	defer s.Close()
//	l, err := limiter.New(s.Client(), config)
package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/rlbench/rlbench/limiter"
)

// Flavour says what kind of Redis is behind a Server.
type Flavour string

// The flavours.
const (
	Live     Flavour = "live"
	Managed  Flavour = "managed"
	Embedded Flavour = "embedded"
)

// Auto is the spec that lets Open choose: a managed server if one is
// installed, else the embedded one.
const Auto = "auto"

// Kind is one row of Flavours.
type Kind struct {
	Name  Flavour
	Specs []string // what opens it: a name, or how a URL starts
	Doc   string   // one line

	open func(ctx context.Context, spec string, o Options) (*Server, error)
}

// Flavours are all kinds of Redis that Open can open.
var Flavours = []Kind{
	{Live, []string{"redis://", "rediss://", "unix://"}, "a server that runs already, by its URL", openLive},
	{Managed, []string{"managed"}, "a private redis-server or valkey-server, started for this run and gone after it", openManaged},
	{Embedded, []string{"embedded"}, "a stand-in inside this process; its latencies and memory are not those of Redis", openEmbedded},
}

func (k Kind) takes(spec string) bool {
	for _, s := range k.Specs {
		if spec == s || strings.HasSuffix(s, "://") && strings.HasPrefix(spec, s) {
			return true
		}
	}
	return false
}

// Options tune the client and the server. The zero value works. What a URL
// sets by its own parameters, such as ?read_timeout=5s, wins.
type Options struct {
	// Timeout bounds each step: dialling, writing, reading, and waiting for a
	// free connection. Default limiter.DefaultTimeout.
	Timeout time.Duration
	// PoolSize is how many connections there are at most. Default: go-redis's,
	// 10 for each CPU.
	PoolSize int
	// Config is more arguments for a managed redis-server, such as
	// "--enable-debug-command", "local". Other flavours ignore it.
	Config []string
	// Injectable lets Inject do faults. Then the connections of the client pass
	// through an injector, which costs each command about a microsecond, and the
	// Server asks its own questions through connections beside it.
	Injectable bool
}

func (o Options) validate() error {
	var errs []error
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout %s is negative", o.Timeout))
	}
	if o.PoolSize < 0 {
		errs = append(errs, fmt.Errorf("pool size %d is negative", o.PoolSize))
	}
	return errors.Join(errs...)
}

// connection is how the client of a server connects.
type connection struct {
	client   *redis.Client
	direct   dialer    // opens connections without faults
	injector *injector // nil if the server is not injectable
}

// client makes a client that suits a limiter. It connects on first use.
func (o Options) client(r *redis.Options) connection {
	for _, timeout := range []*time.Duration{&r.DialTimeout, &r.ReadTimeout, &r.WriteTimeout, &r.PoolTimeout} {
		if *timeout == 0 {
			*timeout = o.Timeout
		}
		if *timeout == 0 {
			*timeout = limiter.DefaultTimeout // as Tune does, for the dialer
		}
	}
	if r.PoolSize == 0 {
		r.PoolSize = o.PoolSize
	}
	if r.Dialer == nil {
		r.Dialer = redis.NewDialer(r)
	}
	c := connection{direct: r.Dialer}
	if o.Injectable {
		c.injector = &injector{direct: c.direct, now: time.Now}
		r.Dialer = c.injector.dial
	}
	c.client = redis.NewClient(limiter.Tune(r))
	return c
}

// Server is an open Redis. All its methods are safe for concurrent use; after
// Close they return errors.
type Server struct {
	flavour Flavour
	url     string
	close   func() error
	connection

	manager *redis.Client          // of the Server's own questions: beside the injector, or the client itself
	secret  atomic.Pointer[string] // password that the manager uses in place of the client's

	life      context.Context // ends when Close begins
	patience  time.Duration   // how long Unstick asks
	host      host            // nil if the server is not managed
	governing chan struct{}   // holds a token while somebody does something to the server; guards inForce
	inForce   *Injection      // a fault that is done to the server
}

// newServer makes a Server whose Close closes the client and then calls stop.
func newServer(f Flavour, url string, c connection, stop func() error) *Server {
	life, end := context.WithCancel(context.Background())
	s := &Server{
		flavour: f, url: url, connection: c, manager: c.client,
		life: life, patience: ownPatience, governing: make(chan struct{}, 1),
	}
	if f == Live {
		s.patience = livePatience
	}
	if c.injector != nil {
		s.manager = s.newManager()
	}
	s.close = sync.OnceValue(func() error {
		end()
		err := c.client.Close()
		if s.manager != c.client {
			err = errors.Join(err, s.manager.Close())
		}
		if err = errors.Join(err, stop()); err != nil {
			return fmt.Errorf("close %s Redis: %w", f, err)
		}
		return nil
	})
	return s
}

// newManager makes a client that no fault on connections is done to.
func (s *Server) newManager() *redis.Client {
	o := s.client.Options()
	const poolSize = 4
	return redis.NewClient(limiter.Tune(&redis.Options{
		Network: o.Network, Addr: o.Addr, TLSConfig: o.TLSConfig, DB: o.DB, CredentialsProvider: s.credentials, Dialer: s.direct,
		PoolSize: poolSize, DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, PoolTimeout: o.PoolTimeout,
	}))
}

// silence keeps go-redis from writing dial failures to stderr: the errors say
// the same. Only the first Open does it, so a program that wants the log can
// call redis.SetLogger after that.
var silence = sync.OnceFunc(logging.Disable)

// Open opens what spec says: "auto", "managed", "embedded", or a URL
// (redis://, rediss://, unix://). The server has answered a PING when Open
// returns; ctx bounds only the opening. Every error is an *OpenError.
func Open(ctx context.Context, spec string, o Options) (*Server, error) {
	silence()
	if err := errors.Join(ctx.Err(), o.validate()); err != nil {
		return nil, openError(spec, err)
	}
	chosen := spec
	if spec == Auto {
		chosen = string(automatic())
	}
	for _, kind := range Flavours {
		if kind.takes(chosen) {
			s, err := kind.open(ctx, chosen, o)
			if err != nil {
				return nil, openError(spec, err)
			}
			return s, nil
		}
	}
	return nil, openError(spec, unknownSpec(spec))
}

// Check reports whether spec is one that Open could open, without opening it.
// The error is an *OpenError.
func Check(spec string) error {
	if spec == Auto {
		return nil
	}
	for _, kind := range Flavours {
		if !kind.takes(spec) {
			continue
		}
		if kind.Name != Live {
			return nil
		}
		if _, err := parseURL(spec); err != nil {
			return openError(spec, err)
		}
		return nil
	}
	return openError(spec, unknownSpec(spec))
}

func automatic() Flavour {
	if _, err := findServer(); err != nil {
		return Embedded
	}
	return Managed
}

func unknownSpec(spec string) error {
	specs := []string{Auto}
	for _, kind := range Flavours {
		specs = append(specs, kind.Specs...)
	}
	e := &OpenError{Err: fmt.Errorf("unknown kind of Redis: want one of %s", strings.Join(specs, ", "))}
	switch {
	case !strings.Contains(spec, "://") && strings.Contains(spec, ":"):
		e.Hint = "put the scheme in front: redis://" + redact(spec)
	case strings.HasPrefix(spec, "/"):
		e.Hint = "for a socket, write unix://" + spec
	default:
		e.Hint = "use --redis auto, or a URL such as redis://localhost:6379"
	}
	return e
}

// Client returns the client of the server, tuned with limiter.Tune. It belongs
// to the Server: Close closes it.
func (s *Server) Client() *redis.Client { return s.client }

// Flavour says what kind of Redis this is.
func (s *Server) Flavour() Flavour { return s.flavour }

// URL is how another client reaches the server; empty when it is embedded. It
// may hold a password, so do not print it.
func (s *Server) URL() string { return s.url }

// Close closes the client and ends what Open started: a managed server dies at
// once, whatever it is doing, and with its directory. Only the embedded server
// cannot be ended while it runs a script: Close waits for a second, and then
// returns an error and leaves goroutines behind that last as long as the
// script. More calls do nothing and return the same.
func (s *Server) Close() error { return s.close() }
