//go:build unix

package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
			slices.Sort(e.Gone)
			slices.Sort(victims)
			if !slices.Equal(e.Gone, victims) || len(e.Expired) > 0 || e.Evicted < 2 || e.Fillers < int(e.Evicted)-2 {
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

// Many victims do not take long.
func TestEvictionOfMany(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	victims := make([]string, 5000)
	_, err := s.Client().Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for n := range victims {
			victims[n] = fmt.Sprintf("victim:%d", n)
			p.Set(t.Context(), victims[n], "x", time.Hour)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	i := inject(t, s, Fault{Kind: "eviction", Victims: victims, Policy: "volatile-ttl"})
	if e := i.Evicted(); len(e.Gone) != len(victims) || len(e.Expired) > 0 {
		t.Errorf("%d evicted, %d expired", len(e.Gone), len(e.Expired))
	}
	if found, err := s.kinds(t.Context(), victims); err != nil || len(found) > 0 {
		t.Errorf("%d are still there, %v", len(found), err)
	}
}

// A victim whose time is over before it can be evicted is told apart.
func TestEvictionTellsExpired(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	do(t, s, []any{"SET", "mortal", 1, "PX", 1}, []any{"SET", "there", 1, "EX", 1000})
	l, err := s.listen(t.Context(), []string{"mortal", "there"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	eventually(t, "the victim expires", func() bool {
		if err := l.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		return slices.Equal(l.expired, []string{"mortal"})
	})
	if len(l.gone) > 0 || !l.left["there"] || len(l.left) != 1 {
		t.Errorf("gone %v, left %v", l.gone, l.left)
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
	do(t, s, []any{"SET", "young", 1, "EX", 10_000_000}) // volatile-ttl takes it last
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
