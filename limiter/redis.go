package limiter

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config says what a Redis limiter enforces. Algorithm, Limit and OnFailure are
// required.
type Config struct {
	Algorithm Algorithm
	Limit     Limit
	// Policy names the budget and is part of every key, so that two policies
	// never share a budget by accident. Default "default".
	Policy string
	// Prefix starts every key. Default "rl".
	Prefix string
	// OnFailure is what to do when Redis cannot answer. There is no default.
	OnFailure Failure
	// LocalMax is the budget of one window that this process gives out by itself
	// under FailLocal. Default Limit.Max, which N processes admit N times: with a
	// budget that must hold for all, set it to Limit.Max / N.
	LocalMax int64
	// LocalKeys is how many identities FailLocal remembers; the least recently
	// used is forgotten first, and starts afresh. Default 100,000.
	LocalKeys int
	// Timeout bounds a whole decision: waiting for a connection, dialling,
	// sending and the reply. Zero is the read timeout of the client, which Tune
	// sets to DefaultTimeout unless its options say otherwise. Only a client
	// with ContextTimeoutEnabled, as Tune leaves it, keeps to it.
	Timeout time.Duration
	// Circuit stops asking a Redis that does not answer. Limiters of one client
	// should share one. Nil is one of its own, with defaults.
	Circuit *Circuit
	// Counters count what was decided and what went wrong. Limiters of one
	// program should share them. Nil is counters of its own.
	Counters *Counters
	// Logger hears when the circuit opens and closes, and of errors that Redis
	// answers with; never of a key. Nil is silence.
	Logger *slog.Logger
	// Now is the clock of FailLocal for requests without At, and of the Circuit
	// if that is nil. Default time.Now.
	Now func() time.Time
	// TTLFloor keeps keys at least this long. Leave it zero, unless the
	// requests' instants run slower than real time, as in a simulation.
	TTLFloor time.Duration
}

// Redis is a Limiter whose state is in Redis. It is safe for concurrent use and
// needs no closing; the client belongs to the caller.
type Redis struct {
	client    Processor
	script    *Script
	algorithm Algorithm
	limit     Limit
	guard     *guard
	fallback  *fallback
	head      string // of every key, up to and with the brace of the hash tag

	// Arguments that never change, boxed once.
	window, max, ttlFloor any

	instance string // makes nonces unique among processes
	requests atomic.Uint64
}

var _ Limiter = (*Redis)(nil)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// New makes a limiter, or says everything that is wrong with the configuration.
// It sends nothing.
func New(client Processor, c Config) (*Redis, error) {
	if c.Policy == "" {
		c.Policy = "default"
	}
	if c.Prefix == "" {
		c.Prefix = "rl"
	}
	if err := c.validate(client); err != nil {
		return nil, fmt.Errorf("new limiter: %w", err)
	}
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails: it ends the program instead
	g := newGuard(client, c)
	return &Redis{
		client:    client,
		script:    NewScript(client, c.Algorithm.Script),
		algorithm: c.Algorithm,
		limit:     c.Limit,
		guard:     g,
		fallback:  newFallback(g, c.Policy, c.Algorithm, c),
		head:      c.Algorithm.keyHead(c.Prefix, c.Policy, c.Limit.Window),
		window:    strconv.FormatInt(c.Limit.Window.Microseconds(), 10),
		max:       strconv.FormatInt(c.Limit.Max, 10),
		ttlFloor:  strconv.FormatInt(c.TTLFloor.Milliseconds(), 10),
		instance:  base64.RawURLEncoding.EncodeToString(id[:]),
	}, nil
}

func (c Config) validate(client Processor) error {
	var errs []error
	if client == nil {
		errs = append(errs, errors.New("no Redis client"))
	}
	if c.Algorithm.Script == "" {
		errs = append(errs, errors.New("no algorithm: set one of limiter.Algorithms, such as limiter.Log"))
	} else {
		errs = append(errs, c.Algorithm.Validate(c.Limit))
	}
	if !nameForm.MatchString(c.Policy) {
		errs = append(errs, fmt.Errorf("policy %q: want letters, digits, '.', '_' and '-'", c.Policy))
	}
	if !ValidPrefix(c.Prefix) {
		errs = append(errs, fmt.Errorf("key prefix %q: want letters, digits, '.', '_', '-' and ':'", c.Prefix))
	}
	if c.TTLFloor < 0 {
		errs = append(errs, fmt.Errorf("TTL floor %s is negative", c.TTLFloor))
	}
	return errors.Join(append(errs, c.validateFailure()...)...)
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// ValidPrefix reports whether keys may start like this: braces would move the
// hash tag.
func ValidPrefix(prefix string) bool { return prefixForm.MatchString(prefix) }

// Limit is the budget that this limiter enforces.
func (l *Redis) Limit() Limit { return l.limit }

// Counters are those of the configuration, or its own if it had none.
func (l *Redis) Counters() *Counters { return l.guard.counters }

// Keys are the names of all keys that an identity has here.
func (l *Redis) Keys(identity string) []string { return []string{l.key(identity)} }

func (l *Redis) key(identity string) string { return l.head + tagged(identity) + "}" }

// Allow decides r and charges it if it is admitted, in one round trip. It sends
// the request to Redis at most once: if the reply is lost, the error wraps
// ErrUnknown.
//
// It returns within Config.Timeout. Errors: an invalid request and a cancelled
// context are always returned; when Redis cannot answer in time, or the Circuit
// is open, Config.OnFailure decides.
func (l *Redis) Allow(ctx context.Context, r Request) (Decision, error) {
	return l.decide(ctx, r, l.nonce())
}

// Peek returns the decision that Allow would have returned, and changes
// nothing. What the key has left right now is Remaining, plus the cost if
// Allowed.
func (l *Redis) Peek(ctx context.Context, r Request) (Decision, error) {
	return l.decide(ctx, r, "")
}

// Reset forgets what an identity has used, here and in Redis.
func (l *Redis) Reset(ctx context.Context, identity string) error {
	l.fallback.forget(Request{Key: identity})
	ctx, cancel := context.WithTimeout(ctx, l.guard.timeout)
	defer cancel()
	if err := l.client.Process(ctx, redis.NewIntCmd(ctx, "del", l.key(identity))); err != nil {
		return fmt.Errorf("reset a key: %w", err)
	}
	return nil
}

// nonce names a request. It is unique under every key as long as no two of a
// key's limiters drew the same 48 random bits. Algorithms that store no nonce
// get a constant.
func (l *Redis) nonce() string {
	if !l.algorithm.nonce {
		return "-"
	}
	return l.instance + strconv.FormatUint(l.requests.Add(1), 36)
}

func (l *Redis) decide(ctx context.Context, r Request, nonce string) (Decision, error) {
	if err := r.Validate(); err != nil {
		return Decision{}, err
	}
	var d Decision
	err := l.guard.ask(ctx, func(ctx context.Context) (err error) {
		d, err = l.ask(ctx, r, nonce)
		return err
	})
	if err != nil {
		return l.fallback.decide(ctx, r, nonce != "", err)
	}
	l.fallback.spared(d)
	return d, nil
}

// ask gets a decision from Redis, unless it is too late to ask.
func (l *Redis) ask(ctx context.Context, r Request, nonce string) (Decision, error) {
	var now, cost any = "", "1"
	if !r.At.IsZero() {
		now = r.At.UnixMicro()
	}
	if r.Cost > 1 {
		cost = r.Cost
	}
	reply, err := l.script.Run(ctx, []string{l.key(r.Key)}, now, l.window, l.max, cost, nonce, l.ttlFloor)
	if err != nil {
		return Decision{}, err
	}
	d, err := l.read(reply)
	if err != nil {
		return Decision{}, &ReplyError{Script: l.algorithm.Name, Err: err}
	}
	return d, nil
}

// read turns a reply of the scripts' convention into a decision.
func (l *Redis) read(reply any) (Decision, error) {
	var n [5]int64
	values, ok := reply.([]any)
	if !ok || len(values) != len(n) {
		return Decision{}, fmt.Errorf("want %d integers, got %v", len(n), reply)
	}
	for i, v := range values {
		var ok bool
		if n[i], ok = v.(int64); !ok {
			return Decision{}, fmt.Errorf("value %d is a %T, want an integer: %v", i+1, v, reply)
		}
	}
	d := Decision{
		Allowed:    n[0] == 1,
		Limit:      l.limit.Max,
		Remaining:  n[1],
		RetryAfter: micros(n[2]),
		ResetAfter: micros(n[3]),
		At:         time.UnixMicro(n[4]).UTC(),
		Source:     SourceRedis,
	}
	if n[2] < 0 {
		d.RetryAfter = Never
	}
	return d, nil
}
