package edge

import (
	"context"
	"sync/atomic"

	"github.com/rlbench/rlbench/limiter"
)

// connection is what decides who counts a request.
type connection struct {
	location int
	number   uint64
}

type connectionKey struct{}

// WithConnection says where requests arrive, 0 to Locations-1, and over which
// connection: any number that stays the same while the connection is open. A
// connection stays on the machine that it first met. Without it everything comes
// over one connection at location 0.
func WithConnection(ctx context.Context, location int, number uint64) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection{location, number})
}

func connectionOf(ctx context.Context) connection {
	c, _ := ctx.Value(connectionKey{}).(connection)
	return c
}

// Fresh is l as clients meet it that open a connection for every request: the
// first request is on connection 0, the next on 1. The location is that of the
// context.
func Fresh(l limiter.Limiter) limiter.Limiter { return &fresh{next: l} }

type fresh struct {
	next   limiter.Limiter
	opened atomic.Uint64
}

// Allow asks over a connection of its own.
func (f *fresh) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	location := connectionOf(ctx).location
	return f.next.Allow(WithConnection(ctx, location, f.opened.Add(1)-1), r)
}
