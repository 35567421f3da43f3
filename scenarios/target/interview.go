package target

import (
	"context"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

const (
	// mostInterviews is how many identities are asked again.
	mostInterviews = 3
	// patienceLimit bounds how many requests it takes to use a budget up.
	patienceLimit = 300
	// A wait beyond this leads out of what a limiter can compute.
	longestWait = 2 * limiter.MaxWindow
)

// peeker answers without consequences.
type peeker interface {
	Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error)
}

// conversation is an interview that is going on. The first error ends it: what
// was not asked stays nil.
type conversation struct {
	scenarios.Interview
	ctx     context.Context
	server  *backend.Server
	target  *Target
	limiter limiter.Limiter
	name    string
	changed string // a key that the last call has changed
	err     error
	trouble error // of the server; an error that is the limiter's own is none
}

// interview asks about one identity, from its latest stamp on. The error is about
// what kept it from asking; the limiter's own only end the interview.
func interview(ctx context.Context, s *backend.Server, t *Target, r Traffic, traces Traces, id scenarios.Identity) (scenarios.Interview, error) {
	last := traces.last[id]
	c := &conversation{
		ctx: ctx, server: s, target: t, name: r.Name(id, max(r.Attempts, 1)),
		Interview: scenarios.Interview{
			Identity: id, Limit: r.Plan.Phases[last.phase].Limit, At: last.at, Keys: slices.Clone(traces.keys[id]),
		},
	}
	var err error
	if c.limiter, err = t.Limiter(c.Limit); err != nil {
		return c.Interview, err
	}
	c.peek(last.at)
	at := c.denial(last.at)
	at = c.obey(at).Add(time.Microsecond)
	c.heal(at)
	at = at.Add(10 * c.Limit.Window)
	if c.Rested = c.peek(at); c.Rested == nil {
		c.Rested = c.ask(at, 1)
	}
	at = c.age(at)
	if t.Costs {
		c.impossible(at)
	}
	return c.Interview, c.trouble
}

// ask sends one request; nil after an error.
func (c *conversation) ask(at time.Time, cost int64) *limiter.Decision {
	request := limiter.Request{Key: c.name, At: at, Cost: cost}
	if c.err == nil {
		c.err = request.Validate() // beyond what anybody has to decide
	}
	if c.err != nil {
		return nil
	}
	c.remember(at)
	d, err := c.limiter.Allow(c.ctx, request)
	if err != nil {
		if c.err = err; !limiter.Answered(err) { // whose fault is it?
			_, c.trouble = c.server.Inspect(c.ctx, c.Keys)
		}
		return nil
	}
	return &d
}

// remember notes the keys of a call at an instant.
func (c *conversation) remember(at time.Time) {
	for _, key := range c.target.Keys(c.name, at) {
		if !slices.Contains(c.Keys, key) {
			c.Keys = append(c.Keys, key)
		}
	}
}

// wrote reports whether a call at an instant changed what the identity's keys
// hold; times to live do not count. It is false after an error.
func (c *conversation) wrote(at time.Time, call func()) bool {
	c.remember(at) // a key that only comes into view has not changed
	before := c.digest()
	if c.err != nil {
		return false
	}
	call()
	after := c.digest()
	c.changed = ""
	for _, key := range c.Keys {
		if c.err == nil && c.changed == "" && before[key] != after[key] {
			c.changed = key
		}
	}
	return c.changed != ""
}

// digest is everything that each of the identity's keys holds; nothing after an
// error.
func (c *conversation) digest() map[string]string {
	held := map[string]string{}
	if c.err != nil {
		return held
	}
	states, err := c.server.Inspect(c.ctx, c.Keys)
	c.err, c.trouble = err, err
	for _, k := range states {
		held[k.Name] = k.Digest
	}
	return held
}

// peek looks before it asks, and returns the answer to the request. It is done
// twice, on a budget that is used and on one that is not; what was wrong the
// first time is kept. Nil if nothing was asked.
func (c *conversation) peek(at time.Time) *limiter.Decision {
	p, ok := c.limiter.(peeker)
	if !ok || c.err != nil || c.PeekWrote || c.Peeked != nil && !same(*c.Peeked, *c.Then) {
		return nil
	}
	var d limiter.Decision
	var err error
	wrote := c.wrote(at, func() { d, err = p.Peek(c.ctx, limiter.Request{Key: c.name, At: at, Cost: 1}) })
	if err != nil {
		return nil
	}
	then := c.ask(at, 1)
	if then != nil {
		c.Peeked, c.Then, c.PeekWrote = &d, then, wrote
	}
	return then
}

// same compares what decisions say; a cause may not be comparable.
func same(a, b limiter.Decision) bool {
	return a.Allowed == b.Allowed && a.Limit == b.Limit && a.Remaining == b.Remaining &&
		a.RetryAfter == b.RetryAfter && a.ResetAfter == b.ResetAfter && a.At.Equal(b.At)
}

// denial uses the budget up and asks on, a tick later each time: whoever keeps
// denied requests by their time must not be saved by asking twice at once. One
// denial that writes may tidy up what a sound limiter put off, two in a row do
// not. It returns the instant of the last request.
func (c *conversation) denial(at time.Time) time.Time {
	if !c.exhaustible() || c.exhaust(at) {
		return at // it never denies
	}
	tidied := false
	const tries = 6 // a budget can come back bit by bit
	for range tries {
		if c.err != nil {
			break
		}
		at = at.Add(time.Microsecond)
		var d *limiter.Decision
		wrote := c.wrote(at, func() { d = c.ask(at, 1) })
		switch {
		case d == nil:
			return at
		case d.Allowed:
			c.Denied = nil // obeying it would be too late now
			continue
		}
		c.Denied, c.DenialWrote, c.WroteKey = d, wrote && tidied, c.changed
		if !wrote || tidied {
			return at
		}
		tidied = true
	}
	return at
}

// exhaustible reports whether a budget can be used up in reasonable time: one by
// one, or what is left at once.
func (c *conversation) exhaustible() bool {
	const mostAtOnce = 10_000 // what a log admits
	return c.Limit.Max <= patienceLimit || c.Limit.Max <= mostAtOnce && c.target.Costs && c.target.Tells.Remaining
}

// exhaust asks until it is denied. It reports whether the limiter admitted more
// than its limit at one instant and is not done yet.
func (c *conversation) exhaust(at time.Time) bool {
	if c.Limit.Max > patienceLimit {
		if d := c.ask(at, 1); d != nil && d.Allowed && d.Remaining > 0 {
			c.ask(at, min(d.Remaining, c.Limit.Max))
		}
		return false
	}
	for range c.Limit.Max + 2 {
		if d := c.ask(at, 1); d == nil || !d.Allowed {
			return false
		}
	}
	c.Insatiable = c.Limit.Max + 2
	return true
}

// obey waits as long as it was told, and looks a unit earlier too. It returns
// when that was.
func (c *conversation) obey(at time.Time) time.Time {
	if c.Denied == nil || c.target.Tells.Retry == 0 {
		return at
	}
	wait := c.Denied.RetryAfter
	if wait <= 0 || wait > longestWait {
		return at
	}
	early := wait - c.target.Tells.Retry
	if !c.target.Strict && c.target.Tells.Retry == time.Microsecond {
		early -= time.Microsecond // it was told in decimals, perhaps, and rounded up
	}
	c.Early = c.ask(at.Add(max(early, 0)), 1)
	c.Due = c.ask(at.Add(wait), 1)
	return at.Add(wait)
}

// heal takes the times to live away.
func (c *conversation) heal(at time.Time) {
	if c.target.Timed || c.err != nil { // the keys of a window that is over are nobody's to heal
		return
	}
	if err := c.server.Persist(c.ctx, c.Keys); err != nil {
		c.err, c.trouble = err, err
		return
	}
	if c.ask(at, 1) == nil {
		return
	}
	touched := c.target.Keys(c.name, at) // a call can heal only what it touches
	states, err := c.server.Inspect(c.ctx, touched)
	if err != nil {
		c.err, c.trouble = err, err
		return
	}
	if len(states) == 0 {
		return
	}
	c.Immortal = []string{}
	for _, k := range states {
		if k.TTL == backend.NoTTL {
			c.Immortal = append(c.Immortal, k.Name)
		}
	}
}

// age lets half a window pass between two admissions, for the times to live too,
// and looks at how long they are then. It returns the later instant.
func (c *conversation) age(at time.Time) time.Time {
	half := (c.Limit.Window / 2).Truncate(time.Millisecond)
	if c.err != nil || c.Rested == nil || !c.Rested.Allowed || half < 500*time.Millisecond {
		return at
	}
	later := at.Add(half)
	keys := append(c.target.Keys(c.name, at), c.target.Keys(c.name, later)...)
	if err := c.shorten(keys, half); err != nil {
		c.err, c.trouble = err, err
		return at
	}
	second := c.ask(later, 1)
	if second == nil || !second.Allowed {
		return later
	}
	states, err := c.server.Inspect(c.ctx, keys)
	if err != nil {
		c.err, c.trouble = err, err
		return later
	}
	aged := scenarios.Aged{First: *c.Rested, Second: *second}
	for _, k := range states {
		if k.TTL == backend.NoTTL {
			return later // which is worse, and told elsewhere
		}
		aged.Life = max(aged.Life, k.TTL)
	}
	c.Aged = &aged
	return later
}

// shorten takes a time off the times to live; what had less is gone.
func (c *conversation) shorten(keys []string, by time.Duration) error {
	states, err := c.server.Inspect(c.ctx, keys)
	for _, k := range states {
		if err != nil || k.TTL == backend.NoTTL {
			break
		}
		if k.TTL > by {
			err = c.server.Client().PExpire(c.ctx, k.Name, k.TTL-by).Err()
		} else {
			err = c.server.Delete(c.ctx, []string{k.Name})
		}
	}
	return err
}

// impossible asks for what nobody can have.
func (c *conversation) impossible(at time.Time) {
	if c.Limit.Max < limiter.MaxMax { // no request may cost more
		c.Huge = c.ask(at, c.Limit.Max+1)
	}
	c.NegativeWrote = c.wrote(at, func() {
		d, err := c.limiter.Allow(c.ctx, limiter.Request{Key: c.name, At: at, Cost: -1})
		if err == nil {
			c.Negative = &d
		}
	})
}
