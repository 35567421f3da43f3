package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// NoTTL is the time to live of a key that never expires.
const NoTTL = time.Duration(-1)

// contentChunk is how many keys are read in one pipeline. It is less than
// chunk, as collections may be long and all must arrive within one timeout.
const contentChunk = 32

// KeyState is one key as it was found.
type KeyState struct {
	Name string
	Type string        // "string", "list", "set", "hash", "zset", "stream", or what a module calls its own
	TTL  time.Duration // time to live, to the millisecond; NoTTL if it never expires

	// Elements counts the members, fields or entries of a collection; it is 1
	// for anything else.
	Elements int64
	// Collection says that it is a list, set, hash, sorted set or stream.
	Collection bool
	// Content is everything it holds, times to live aside, and the same for
	// equal values however the server stores them: a line for each element, its
	// strings quoted as in Go, the lines of sets and hashes sorted. It is cut at
	// 64 KiB, and empty if the type is a module's, which nothing here can read.
	Content string
	// Digest is the SHA-256, in hexadecimal digits, of the type and the content
	// before it is cut; empty if the type is a module's.
	Digest string
}

// Inspect looks at keys and returns those that exist, in that order. Type, time
// to live and content are read one after the other, so a key that goes in
// between is left out, and one that becomes another type is an error.
func (s *Server) Inspect(ctx context.Context, keys []string) ([]KeyState, error) {
	var states []KeyState
	for some := range slices.Chunk(keys, chunk) {
		found, err := s.kinds(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("inspect keys: %w", err)
		}
		for few := range slices.Chunk(found, contentChunk) {
			if states, err = s.fill(ctx, few, states); err != nil {
				return nil, fmt.Errorf("inspect keys: %w", err)
			}
		}
	}
	return states, nil
}

// kinds reads type and time to live.
func (s *Server) kinds(ctx context.Context, keys []string) ([]KeyState, error) {
	types := make([]*redis.StatusCmd, len(keys))
	ttls := make([]*redis.DurationCmd, len(keys))
	_, _ = s.manager.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			types[i], ttls[i] = p.Type(ctx, key), p.PTTL(ctx, key)
		}
		return nil
	})
	var found []KeyState
	for i, key := range keys {
		if err := errors.Join(types[i].Err(), ttls[i].Err()); err != nil {
			return nil, fmt.Errorf("key %.60q: %w", key, err)
		}
		const gone = -2 // as PTTL says it
		if ttls[i].Val() != gone && types[i].Val() != "none" {
			found = append(found, KeyState{Name: key, Type: types[i].Val(), TTL: ttls[i].Val(), Elements: 1})
		}
	}
	return found, nil
}

// fill reads the contents of the keys that were found, and appends the states
// of those that are still there to states.
func (s *Server) fill(ctx context.Context, found, states []KeyState) ([]KeyState, error) {
	replies := make([]*redis.Cmd, len(found))
	_, _ = s.manager.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range found {
			if r := readingOf(key.Type); r != nil {
				replies[i] = p.Do(ctx, r.command(key.Name)...)
			}
		}
		return nil
	})
	for i, key := range found {
		if replies[i] == nil {
			states = append(states, key)
			continue
		}
		value, err := replies[i].Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("key %.60q: %w", key.Name, err)
		}
		if key.hold(readingOf(key.Type), value) {
			states = append(states, key)
		}
	}
	return states, nil
}
