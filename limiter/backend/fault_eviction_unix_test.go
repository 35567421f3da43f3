//go:build unix

package backend

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Evicted victims are reported, budgets start anew, and all fillers go.
func TestEviction(t *testing.T) {
	requireRedis(t)
	for _, policy := range []string{"", "volatile-ttl", "allkeys-random"} {
		t.Run(policy, func(t *testing.T) {
			s := injectable(t, Managed, Options{Config: []string{"--maxmemory-policy", "volatile-random"}})
			l := limiterOn(t, s, limiter.Log)
			for range 3 {
				for _, key := range []string{"a", "b"} {
					if err := ask(t, l, key); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := stateOf(t, s)
			victims := append(l.Keys("a"), l.Keys("b")...)
			i := inject(t, s, Fault{Kind: "eviction", Victims: victims, Policy: policy})
			e := i.Evicted()
			if !slices.Equal(e.Gone, victims) || e.Evicted < 2 || e.Fillers < int(e.Evicted)-2 {
				t.Errorf("evicted %+v", e)
			}
			for _, key := range []string{"a", "b"} {
				if n := counted(t, l, key); n != 0 {
					t.Errorf("%d counted", n)
				}
			}
			if err := ask(t, l, "a"); err != nil {
				t.Errorf("meanwhile: %v", err)
			}
			end(t, i)
			if after := stateOf(t, s); !maps.Equal(before, after) {
				t.Errorf("the server is now %v\nand was %v", after, before)
			}
			if keys, _, err := s.Scan(t.Context(), "rlbench:filler:*", 10); err != nil || len(keys) > 0 {
				t.Errorf("left over: %v, %v", keys, err)
			}
		})
	}
}

func TestEvictionRefuses(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	do(t, s, []any{"SET", "lasting", 1}, []any{"SET", "mortal", 1, "EX", 1000})
	before := stateOf(t, s)
	for _, row := range []struct {
		victims []string
		want    string
	}{
		{[]string{"mortal", "absent"}, "1 of 2 victims do not exist"},
		{[]string{"mortal", "mortal"}, "named twice"},
		{[]string{"lasting"}, "no time to live"},
	} {
		_, err := s.Inject(t.Context(), Fault{Kind: "eviction", Victims: row.victims})
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), untouched) {
			t.Errorf("%v: %v", row.victims, err)
		}
	}
	// A victim that nothing evicts: all that was done is undone.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	do(t, s, []any{"SET", "young", 1, "EX", 100000}) // volatile-ttl takes it last
	_, err := s.Inject(ctx, Fault{Kind: "eviction", Victims: []string{"young"}, Policy: "volatile-ttl"})
	e, ok := errors.AsType[*FaultError](err)
	if !ok || !strings.Contains(e.State, "0 of 1 victims") || !isTimeout(err) {
		t.Errorf("got %v", err)
	}
	if after := stateOf(t, s); !maps.Equal(before, after) {
		t.Errorf("the server is now %v\nand was %v", after, before)
	}
	if n, err := s.Client().Exists(t.Context(), "young", "lasting").Result(); n != 2 || err != nil {
		t.Errorf("%d keys left, %v", n, err)
	}
	if keys, _, err := s.Scan(t.Context(), "rlbench:filler:*", 10); err != nil || len(keys) > 0 {
		t.Errorf("left over: %v, %v", keys, err)
	}
}
