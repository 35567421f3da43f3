package target

import (
	"context"
	"fmt"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// Fronted puts coarse tiers in front of limiters. All limiters that one Fronted
// made stand behind the same tier.
type Fronted struct {
	binding *edge.Binding
	client  func(identity string) string
}

// Front opens a tier; nil opens none. It knows clients by client of their
// identity, whatever their pseudonyms.
func Front(c *edge.Config, client func(identity string) string) (*Fronted, error) {
	if c == nil {
		return nil, nil
	}
	b, err := edge.New(*c)
	if err != nil {
		return nil, fmt.Errorf("open edge tier: %w", err)
	}
	return &Fronted{b, client}, nil
}

// Limiter is an origin behind the tier.
func (f *Fronted) Limiter(origin limiter.Limiter) (limiter.Limiter, error) {
	if f == nil {
		return origin, nil
	}
	return edge.Front(byClient{f}, origin)
}

// byClient asks the tier about a client instead of its identity.
type byClient struct{ *Fronted }

func (c byClient) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	r.Key = c.client(r.Key)
	return c.binding.Allow(ctx, r)
}
