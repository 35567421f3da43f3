package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var outOfMemory = FaultKind{
	Name:     "oom",
	Doc:      "memory is full and nothing may be evicted: commands that need memory are refused with OOM",
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		// One byte: keys that expire meanwhile must make no room.
		return s.configure(ctx, setting{"maxmemory-policy", "noeviction"}, setting{"maxmemory", "1"})
	},
}

// setting is a directive of the server's configuration.
type setting struct{ name, value string }

// configure changes settings one by one, and returns what changes them back, in
// the other order. After an error all are as they were.
func (s *Server) configure(ctx context.Context, settings ...setting) (undoing, error) {
	old := make([]setting, len(settings))
	for i, set := range settings {
		value, err := s.config(ctx, set.name)
		if err != nil {
			return nil, err
		}
		old[i] = setting{set.name, value}
	}
	slices.Reverse(old)
	restore := func(ctx context.Context) (first error) {
		var names []string
		for _, set := range old {
			if err := s.manager.ConfigSet(ctx, set.name, set.value).Err(); err != nil {
				names = append(names, set.name)
				first = cmp.Or(first, fmt.Errorf("CONFIG SET %s: %w", set.name, err))
			}
		}
		return leaving("the server may still have other values of "+strings.Join(names, ", "), first)
	}
	for _, set := range settings {
		if err := s.manager.ConfigSet(ctx, set.name, set.value).Err(); err != nil {
			then, cancel := s.afterwards(ctx)
			defer cancel()
			return nil, errors.Join(fmt.Errorf("CONFIG SET %s: %w", set.name, err), restore(then))
		}
	}
	return restore, nil
}
