package target

import (
	"context"
	"slices"
	"strings"
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
	return c.err == nil && before != after
}

// digest is everything that the identity's keys hold; "" after an error.
func (c *conversation) digest() string {
	if c.err != nil {
		return ""
	}
	states, err := c.server.Inspect(c.ctx, c.Keys)
	c.err, c.trouble = err, err
	var all strings.Builder
	for _, k := range states {
		all.WriteString(k.Name + "=" + k.Digest + "\n")
	}
	return all.String()
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
	if c.Limit.Max > patienceLimit || c.exhaust(at) {
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
		c.Denied, c.DenialWrote = d, wrote && tidied
		if !wrote || tidied {
			return at
		}
		tidied = true
	}
	return at
}

// exhaust asks until it is denied. It reports whether the limiter admitted more
// than its limit at one instant and is not done yet.
func (c *conversation) exhaust(at time.Time) bool {
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
	c.Early = c.ask(at.Add(wait-c.target.Tells.Retry), 1)
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
