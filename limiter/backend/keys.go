package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// chunk is how many keys go into one pipeline. Its replies must arrive within
// one read timeout, also when measuring a key takes a millisecond.
const chunk = 256

// Usage is the memory that keys take.
type Usage struct {
	Keys  int   // how many of them exist
	Bytes int64 // all that the server spends on them
}

// MemoryUsage measures keys, which must be distinct, exactly: every element
// counts. If the server does not tell memory (it is embedded, or refuses), the
// error wraps errors.ErrUnsupported, and Keys is still right.
func (s *Server) MemoryUsage(ctx context.Context, keys []string) (Usage, error) {
	u, err := s.measure(ctx, keys)
	if err == nil {
		return u, nil
	}
	err = fmt.Errorf("measure memory of keys: %w", err)
	if !errors.Is(err, errors.ErrUnsupported) {
		return Usage{}, err
	}
	_, existing, failure := s.each(ctx, keys, func(p redis.Pipeliner, key string) *redis.IntCmd {
		return p.Exists(ctx, key)
	})
	if failure != nil {
		return Usage{}, fmt.Errorf("count keys: %w", failure)
	}
	return Usage{Keys: int(existing)}, err
}

func (s *Server) measure(ctx context.Context, keys []string) (Usage, error) {
	if s.flavour == Embedded {
		return Usage{}, errors.ErrUnsupported // it has numbers, but not those of Redis
	}
	existing, bytes, err := s.each(ctx, keys, func(p redis.Pipeliner, key string) *redis.IntCmd {
		return p.MemoryUsage(ctx, key, 0)
	})
	return Usage{Keys: existing, Bytes: bytes}, unsupported(err)
}

// Delete deletes keys. Those that do not exist are no error.
func (s *Server) Delete(ctx context.Context, keys []string) error {
	_, _, err := s.each(ctx, keys, func(p redis.Pipeliner, key string) *redis.IntCmd {
		return p.Unlink(ctx, key)
	})
	if err != nil {
		return fmt.Errorf("delete keys: %w", err)
	}
	return nil
}

// Persist takes the times to live of keys away. Those that do not exist are no
// error.
func (s *Server) Persist(ctx context.Context, keys []string) error {
	_, _, err := s.each(ctx, keys, func(p redis.Pipeliner, key string) *redis.IntCmd {
		cmd := redis.NewIntCmd(ctx, "persist", key)
		_ = p.Process(ctx, cmd) // queues it
		return cmd
	})
	if err != nil {
		return fmt.Errorf("make keys persistent: %w", err)
	}
	return nil
}

// Clear deletes all keys of a private server, and returns when their memory is
// free. Loaded scripts stay. On a live server the error wraps
// errors.ErrUnsupported: its keys are not ours.
func (s *Server) Clear(ctx context.Context) error {
	if s.flavour == Live {
		return fmt.Errorf("delete all keys: %w: the server is not ours", errors.ErrUnsupported)
	}
	// Redis 6.0 and the embedded server know no SYNC, and flush in that way by
	// themselves. Valkey 8 does not.
	err := s.manager.Do(ctx, "FLUSHALL", "SYNC").Err()
	if _, isReply := errors.AsType[redis.Error](err); isReply && strings.Contains(err.Error(), "syntax error") {
		err = s.manager.FlushAll(ctx).Err()
	}
	if err != nil {
		return fmt.Errorf("delete all keys: %w", err)
	}
	return nil
}

// each sends one command a key, because a cluster takes no command for keys of
// several slots. It returns how many replies were not nil, and their sum.
func (s *Server) each(
	ctx context.Context, keys []string, send func(redis.Pipeliner, string) *redis.IntCmd,
) (replies int, sum int64, err error) {
	for some := range slices.Chunk(keys, chunk) {
		cmds := make([]*redis.IntCmd, len(some))
		_, _ = s.manager.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
			for i, key := range some {
				cmds[i] = send(p, key)
			}
			return nil
		})
		for _, cmd := range cmds {
			n, err := cmd.Result()
			if errors.Is(err, redis.Nil) {
				continue
			}
			if err != nil {
				return 0, 0, err
			}
			replies++
			sum += n
		}
	}
	return replies, sum, nil
}

// unsupported marks an error reply as one of a server that does not offer what
// was asked for, or not to this user.
func unsupported(err error) error {
	if _, isReply := errors.AsType[redis.Error](err); isReply {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
