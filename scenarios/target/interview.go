package target

import (
	"context"
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
	keys    []string
	err     error
}

// interview asks about one identity, from its latest stamp on.
func interview(ctx context.Context, s *backend.Server, t *Target, r Traffic, traces Traces, id scenarios.Identity) scenarios.Interview {
	last := traces.last[id]
	c := &conversation{
		ctx: ctx, server: s, target: t, name: r.Name(id, max(r.Attempts, 1)), keys: append([]string{}, traces.keys[id]...),
		Interview: scenarios.Interview{Identity: id, Limit: r.Plan.Phases[last.phase].Limit, At: last.at},
	}
	if c.limiter, c.err = t.Limiter(c.Limit); c.err != nil {
		return c.told()
	}
	c.peek(last.at)
	at := c.denial(last.at)
	at = c.obey(at)
	c.heal(at.Add(time.Microsecond))
	at = at.Add(10 * c.Limit.Window)
	if c.peek(at); c.Then != nil && c.Then.At.Equal(at) {
		c.Rested = c.Then
	} else {
		c.Rested = c.ask(at, 1)
	}
	if t.Costs {
		c.impossible(at)
	}
	return c.told()
}

// told is the interview as it is at its end.
func (c *conversation) told() scenarios.Interview {
	c.Keys = c.keys
	return c.Interview
}

// ask sends one request; nil after an error.
func (c *conversation) ask(at time.Time, cost int64) *limiter.Decision {
	if c.err != nil {
		return nil
	}
	for _, key := range c.target.Keys(c.name, at) {
		c.remember(key)
	}
	d, err := c.limiter.Allow(c.ctx, limiter.Request{Key: c.name, At: at, Cost: cost})
	if err != nil {
		c.err = err
		return nil
	}
	return &d
}

func (c *conversation) remember(key string) {
	for _, known := range c.keys {
		if known == key {
			return
		}
	}
	c.keys = append(c.keys, key)
}

// digest is everything that the identity's keys hold; "" after an error.
func (c *conversation) digest() string {
	if c.err != nil {
		return ""
	}
	states, err := c.server.Inspect(c.ctx, c.keys)
	c.err = err
	all := ""
	for _, k := range states {
		all += k.Name + "=" + k.Digest + "\n"
	}
	return all
}

// peek looks before it asks. It is done twice, on a budget that is used and on
// one that is not; what was wrong the first time is kept.
func (c *conversation) peek(at time.Time) {
	p, ok := c.limiter.(peeker)
	if !ok || c.err != nil || c.PeekWrote || c.Peeked != nil && *c.Peeked != *c.Then {
		return
	}
	before := c.digest()
	d, err := p.Peek(c.ctx, limiter.Request{Key: c.name, At: at, Cost: 1})
	if c.err != nil || err != nil {
		return
	}
	wrote := before != c.digest()
	if then := c.ask(at, 1); then != nil {
		c.Peeked, c.Then, c.PeekWrote = &d, then, wrote
	}
}

// denial uses the budget up and asks once more, a tick later: whoever keeps
// denied requests by their time must not be saved by asking twice at once. It
// returns the instant of the denial.
func (c *conversation) denial(at time.Time) time.Time {
	if c.Limit.Max > patienceLimit {
		return at
	}
	if c.exhaust(at) {
		return at // it never denies
	}
	const tries = 5 // a budget can come back bit by bit
	for n := range tries {
		late := at.Add(time.Duration(n+1) * time.Microsecond)
		before := c.digest()
		if d := c.ask(late, 1); d != nil && !d.Allowed {
			c.Denied, c.DenialWrote = d, before != c.digest()
			return late
		}
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
	if c.target.Timed { // the keys of a window that is over are nobody's to heal
		return
	}
	if c.err != nil || c.server.Persist(c.ctx, c.keys) != nil {
		return
	}
	if c.ask(at, 1) == nil {
		return
	}
	states, err := c.server.Inspect(c.ctx, c.keys)
	if err != nil || len(states) == 0 {
		return
	}
	c.Immortal = []string{}
	touched := map[string]bool{}
	for _, key := range c.target.Keys(c.name, at) {
		touched[key] = true // a call can heal only what it touches
	}
	for _, k := range states {
		if k.TTL == backend.NoTTL && touched[k.Name] {
			c.Immortal = append(c.Immortal, k.Name)
		}
	}
}

// impossible asks for what nobody can have.
func (c *conversation) impossible(at time.Time) {
	c.Huge = c.ask(at, c.Limit.Max+1)
	before := c.digest()
	if c.err != nil {
		return
	}
	d, err := c.limiter.Allow(c.ctx, limiter.Request{Key: c.name, At: at, Cost: -1})
	if err == nil {
		c.Negative = &d
	}
	c.NegativeWrote = before != c.digest()
}
