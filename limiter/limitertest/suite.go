package limitertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// Suite is an implementation under test, and the server that holds its state.
// Open and Client are required.
type Suite struct {
	// Open makes a limiter. Limiters of equal Setups share budgets, as processes
	// of one service would.
	Open func(Setup) (limiter.Limiter, error)
	// Client talks to the server: a *redis.Client, a *redis.ClusterClient, or a
	// *redis.Ring, with which the checks that break connections are skipped.
	Client redis.UniversalClient
	// Algorithms are tested one after the other. Default limiter.Algorithms.
	Algorithms []limiter.Algorithm
	// Vectors holds a file <algorithm>.txt for each algorithm; see Read. Nil
	// skips the check.
	Vectors fs.FS
	// Skip leaves checks out: name to reason.
	Skip map[string]string
	// Seed of the random histories. Equal seeds give equal histories.
	Seed uint64
}

// Setup is what a limiter has to be like.
type Setup struct {
	// Client sends the commands. It is not always Suite.Client: some checks
	// break connections.
	Client    redis.UniversalClient
	Algorithm limiter.Algorithm
	Limit     limiter.Limit
	// Policy keeps checks apart: limiters of different policies share nothing.
	// Every key must contain it as it is.
	Policy string
	// Virtual says that the instants of requests are not real time: keys must
	// be kept for an hour at least, whatever the window.
	Virtual bool
}

// Redis opens a limiter of package limiter. It is what Suite.Open is for this
// repository's own algorithms. Errors are returned to the caller.
func Redis(s Setup) (limiter.Limiter, error) { return s.through(s.Client) }

// Pipelined opens what Redis opens, with a limiter.Pipeline for every request, however
// few ask at a time.
func Pipelined(s Setup) (limiter.Limiter, error) {
	p, err := limiter.NewPipeline(s.Client)
	if err != nil {
		return nil, err
	}
	p.Few = 0
	return s.through(p)
}

func (s Setup) through(client limiter.Processor) (limiter.Limiter, error) {
	c := limiter.Config{
		Algorithm: s.Algorithm,
		Limit:     s.Limit,
		Policy:    s.Policy,
		OnFailure: limiter.FailError,
	}
	if s.Virtual {
		c.TTLFloor = time.Hour
	}
	return limiter.New(client, c)
}

// Optional methods of a limiter. Checks that need one skip without it.
type (
	// Peeker answers as Allow would, and changes nothing.
	Peeker interface {
		Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error)
	}
	// Resetter forgets what the identity of a request has used.
	Resetter interface {
		Reset(ctx context.Context, r limiter.Request) error
	}
	// Keyer names all keys on the server that hold an identity's state.
	Keyer interface {
		Keys(identity string) []string
	}
)

// checkTime bounds one check, so that a limiter that hangs fails.
const checkTime = time.Minute

// Run runs every check on every algorithm, as subtests of t.
func Run(t *testing.T, s Suite) {
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	if s.Algorithms == nil {
		s.Algorithms = limiter.Algorithms
	}
	run := "kit" + strings.ToLower(rand.Text()[:10])
	for _, a := range s.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			for _, c := range checks {
				t.Run(c.Name, func(t *testing.T) { s.runCheck(t, c, a, run) })
			}
		})
	}
}

func (s Suite) runCheck(t *testing.T, c Check, a limiter.Algorithm, run string) {
	if reason := s.Skip[c.Name]; reason != "" {
		t.Skip(reason)
	}
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	tested := &subject{suite: s, algorithm: a, policies: run + "-" + a.Name + "-" + c.Name}
	err := c.run(ctx, tested)
	if err := s.forget(ctx, tested.policies); err != nil {
		t.Errorf("delete the check's keys: %v", err)
	}
	if skip, ok := err.(Skip); ok { // not errors.As: a Skip among faults must not hide them
		t.Skip(skip)
	}
	if err != nil {
		t.Errorf("%s (seed %d)\n%v", c.Doc, s.Seed, err)
	}
}

// validate catches a Suite that would run nothing or panic.
func (s Suite) validate() error {
	if s.Open == nil || s.Client == nil {
		return errors.New("limitertest: a Suite needs Open and Client")
	}
	if !known(s.Client) {
		return fmt.Errorf("limitertest: Client is a %T, want a *redis.Client, *redis.ClusterClient or *redis.Ring", s.Client)
	}
	for name := range s.Skip {
		if !isCheck(name) {
			return fmt.Errorf("limitertest: Skip names no check: %q", name)
		}
	}
	return nil
}

// forget deletes what a check left behind: embedded servers slow down with every
// key that there is.
func (s Suite) forget(ctx context.Context, policies string) error {
	keys, err := scan(ctx, s.Client, "*"+policies+"*")
	for _, key := range keys {
		err = errors.Join(err, s.Client.Del(ctx, key).Err())
	}
	return err
}

// subject is one algorithm under one check.
type subject struct {
	suite     Suite
	algorithm limiter.Algorithm
	policies  string // what every policy of this check starts with
	opened    int
}

// setup describes a limiter whose policy nobody has used.
func (s *subject) setup(l limiter.Limit) Setup {
	s.opened++
	return Setup{
		Client:    s.suite.Client,
		Algorithm: s.algorithm,
		Limit:     l,
		Policy:    fmt.Sprintf("%s-%04d", s.policies, s.opened), // none begins with another
		Virtual:   true,
	}
}

func (s *subject) open(setup Setup) (limiter.Limiter, error) {
	l, err := s.suite.Open(setup)
	if err != nil {
		return nil, fmt.Errorf("open a limiter of %s: %w", setup.Limit, err)
	}
	return l, nil
}

// fresh opens a limiter whose policy nobody has used.
func (s *subject) fresh(l limiter.Limit) (limiter.Limiter, error) { return s.open(s.setup(l)) }

// epoch is the base of instants that checks choose: a multiple of 1 ms, 1 s, 1 m,
// 1 h, 1 d and 31 d.
var epoch = time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC)

// asker adds the check's words to the errors of one limiter.
type asker struct {
	ctx context.Context
	l   limiter.Limiter
}

// allow sends one request and passes errors on with the request.
func (a asker) allow(key string, at time.Time, cost int64) (limiter.Decision, error) {
	r := limiter.Request{Key: key, At: at, Cost: cost}
	d, err := a.l.Allow(a.ctx, r)
	if err != nil {
		return d, fmt.Errorf("%s: %w", asked(r), err)
	}
	return d, nil
}

// asked writes a request for an error.
func asked(r limiter.Request) string {
	at := "server time"
	if !r.At.IsZero() {
		at = offset(r.At.Sub(epoch))
	}
	return fmt.Sprintf("%s  %.40q  %d", at, r.Key, r.Units())
}
