package backend

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Warm opens n connections and leaves them idle in the pool, so that the first
// decisions do not pay for dialling. It opens no more than the pool holds.
func (s *Server) Warm(ctx context.Context, n int) (err error) {
	held := make([]*redis.Conn, 0, n)
	defer func() {
		for _, c := range held {
			c.Close() // back to the pool; it cannot fail in a way that matters here
		}
	}()
	for range min(n, s.client.Options().PoolSize) {
		c := s.client.Conn()
		held = append(held, c)
		if err := c.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("open connection %d of %d: %w", len(held), n, err)
		}
	}
	return nil
}
