package limiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
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
	// DenyCache refuses in this process what Redis has refused, as long as that
	// holds. Limiters of one Redis may share one. Nil asks Redis every time. An
	// Algorithm of your own has to keep what a DenyCache relies on.
	DenyCache *DenyCache
	// TTLFloor keeps keys at least this long. Leave it zero, unless the
	// requests' instants run slower than real time, as in a simulation.
	TTLFloor time.Duration
}

// Redis is a Limiter whose state is in Redis. It is safe for concurrent use and
// needs no closing; the client belongs to the caller.
type Redis struct {
	budget
	client   Processor
	cluster  bool // keys of several slots cannot be asked for at once
	guard    *guard
	fallback *fallback
	ttlFloor any // boxed once
	nonces   nonces
	denials  *DenyCache // nil is none
	batches  *batches   // nil is none
}

var _ Limiter = (*Redis)(nil)

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
	g, b := newGuard(client, c), newBudget(client, c.Algorithm, c.Limit, c.Prefix, c.Policy)
	return &Redis{
		budget:   b,
		client:   client,
		cluster:  isCluster(client),
		guard:    g,
		fallback: newFallback(g, c.Policy, c.Algorithm, c),
		ttlFloor: milliseconds(c.TTLFloor),
		nonces:   newNonces(),
		denials:  c.DenyCache,
		batches:  newBatches(client, b, milliseconds(c.TTLFloor)),
	}, nil
}

func (c Config) validate(client Processor) error {
	var errs []error
	if client == nil {
		errs = append(errs, errors.New("no Redis client"))
	}
	errs = append(errs, validBudget(c.Algorithm, c.Limit, c.Policy), validKeys(c.Prefix, c.TTLFloor))
	errs = append(errs, c.validateFailure()...)
	return errors.Join(append(errs, c.validateLocal()...)...)
}

// validKeys reports what is wrong with how keys begin and how long they live.
func validKeys(prefix string, floor time.Duration) error {
	var errs []error
	if !ValidPrefix(prefix) {
		errs = append(errs, fmt.Errorf("key prefix %q: want letters, digits, '.', '_', '-' and ':'", prefix))
	}
	if floor < 0 {
		errs = append(errs, fmt.Errorf("TTL floor %s is negative", floor))
	}
	return errors.Join(errs...)
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// ValidPrefix reports whether keys may start like this: braces would move the
// hash tag.
func ValidPrefix(prefix string) bool { return prefixForm.MatchString(prefix) }

// Limit is the budget that this limiter enforces.
func (l *Redis) Limit() Limit { return l.limit }

// Counters are those of the configuration, or its own if it had none.
func (l *Redis) Counters() *Counters { return l.guard.counters }

// Keys are the names of all keys that an identity has here that needs no slot.
func (l *Redis) Keys(identity string) []string { return l.KeysOf(Request{Key: identity}) }

// KeysOf are the names of all keys that a request touches; the first is the one
// that it writes.
func (l *Redis) KeysOf(r Request) []string { return l.appendKeys(nil, r.Slot, r.Key, r.Also) }

// Allow decides r and charges it if it is admitted, in one round trip. It sends
// the request to Redis at most once: if the reply is lost, the error wraps
// ErrUnknown.
//
// With a DenyCache, a denial that still holds needs no round trip at all.
//
// It returns within Config.Timeout. Errors: an invalid request and a cancelled
// context are always returned; when Redis cannot answer in time, or the Circuit
// is open, Config.OnFailure decides.
func (l *Redis) Allow(ctx context.Context, r Request) (Decision, error) {
	if l.denials != nil {
		return l.allowUnlessDenied(ctx, r)
	}
	return l.decide(ctx, r, l.nonce())
}

func (l *Redis) nonce() string {
	if l.algorithm.nonce {
		return l.nonces.next()
	}
	return constantNonce
}

// Peek returns the decision that Allow would have returned, and changes
// nothing. What the key has left right now is Remaining, plus the cost if
// Allowed.
func (l *Redis) Peek(ctx context.Context, r Request) (Decision, error) {
	return l.decide(ctx, r, "")
}

// Reset forgets what a request's identity has used, under both of its names, here
// and in Redis. Only Key, Also and Slot of the request matter.
func (l *Redis) Reset(ctx context.Context, r Request) error {
	l.fallback.forget(r)
	if l.denials != nil {
		// Who asked before the keys were gone may hear of a denial afterwards.
		l.denials.resets.Add(1)
		defer l.denials.resets.Add(1)
	}
	ctx, cancel := context.WithTimeout(ctx, l.guard.timeout)
	defer cancel()
	for _, key := range l.KeysOf(r) {
		if err := l.client.Process(ctx, redis.NewIntCmd(ctx, "del", key)); err != nil {
			return fmt.Errorf("reset a key: %w", err)
		}
	}
	return nil
}

func (l *Redis) decide(ctx context.Context, r Request, nonce string) (Decision, error) {
	if err := r.Validate(); err != nil {
		return Decision{}, err
	}
	if l.cluster && r.Also != "" {
		if err := together(l.KeysOf(r)); err != nil {
			return Decision{}, err
		}
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
	reply, err := l.run(ctx, r, nonce)
	if err != nil {
		return Decision{}, err
	}
	d, err := l.read(reply)
	if err != nil {
		return Decision{}, &ReplyError{Script: l.algorithm.Name, Err: err}
	}
	return d, nil
}

func (l *Redis) run(ctx context.Context, r Request, nonce string) (any, error) {
	if l.batches != nil && (r.Also == "" || r.Also == r.Key) {
		return l.batches.run(ctx, l.key(r.Slot, r.Key), instant(r.At), r.Cost, nonce)
	}
	keys := l.appendKeys(make([]string, 0, 2), r.Slot, r.Key, r.Also)
	return l.script.Run(ctx, keys, instant(r.At), l.window, l.max, units(r.Cost), nonce, l.ttlFloor)
}

// read turns a reply of the scripts' convention into a decision.
func (l *Redis) read(reply any) (Decision, error) {
	var n [5]int64
	if err := integers(reply, n[:]); err != nil {
		return Decision{}, err
	}
	return l.decision([4]int64(n[:4]), n[4]), nil
}
