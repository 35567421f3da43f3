package limiter

import (
	"context"
	"sync/atomic"
	"time"
)

// patience bounds calls to a length of time. Calls that begin within a sixteenth
// of it share one timer, which ends them up to so much later: a timer for each
// costs five allocations a decision.
type patience struct {
	length time.Duration
	shared atomic.Pointer[round]
}

// round is a context for all calls that begin before last.
type round struct {
	context.Context
	last time.Time
	end  context.CancelFunc // never needed: it ends by itself
}

// bound is ctx, ended after the length of time. A call that will have to queue
// for a connection also ends when the caller is cancelled, so that it leaves the
// queue; others notice that only before they send and after the reply, as the
// client's reads do not notice it either, or look at callerOf.
func (p *patience) bound(ctx context.Context, queues bool) (context.Context, context.CancelFunc) {
	now := time.Now()
	deadline := now.Add(p.length)
	if own, ok := ctx.Deadline(); ok && !own.After(deadline) {
		return ctx, noCancel
	}
	r := p.shared.Load()
	if r == nil || now.After(r.last) {
		r = p.newRound(now)
	}
	if !queues || ctx.Done() == nil {
		return &bounded{r.Context, ctx, deadline}, noCancel
	}
	// A child of the round, not of the caller: when a round ends, it ends its
	// children by itself, whereas a thousand timers would start as many goroutines.
	queue, leave := context.WithCancel(r.Context)
	stop := context.AfterFunc(ctx, leave)
	return &bounded{queue, ctx, deadline}, func() { stop(); leave() }
}

func noCancel() {}

func (p *patience) newRound(now time.Time) *round {
	r := &round{last: now.Add(p.length / 16)}
	r.Context, r.end = context.WithDeadline(context.Background(), r.last.Add(p.length))
	p.shared.Store(r) // of two that do it at once, one round is shared less
	return r
}

// bounded ends with its round and carries the values of the caller's context.
// Its deadline, which sockets keep to, is its own.
type bounded struct {
	context.Context
	caller   context.Context
	deadline time.Time
}

func (b *bounded) Deadline() (time.Time, bool) { return b.deadline, true }
func (b *bounded) Value(key any) any           { return b.caller.Value(key) }

// callerOf is the context of whoever asked for a bound one.
func callerOf(ctx context.Context) context.Context {
	if b, ok := ctx.(*bounded); ok {
		return b.caller
	}
	return ctx
}
