package backend

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	headroom   = 256 << 10        // bytes that are free when filling begins
	fillerSize = 512              // bytes of a value
	fillerTTL  = 720 * time.Hour  // far more than a limiter's keys have
	fillMost   = 200_000          // keys
	checkEach  = time.Second / 4  // between looks at what has expired
	fillFor    = 20 * time.Second // at most
)

var eviction = FaultKind{
	Name:     "eviction",
	Doc:      "memory is full, and fresh keys with a time to live come in until the victims are evicted",
	Loses:    true,
	Takes:    []string{TakesVictims, TakesPolicy},
	Needs:    []string{TakesVictims},
	Flavours: ours,
	check: func(f Fault) error {
		if f.Policy != "" && !slices.Contains(evictionPolicies, f.Policy) {
			return fmt.Errorf("policy %q: want one of %s", f.Policy, strings.Join(evictionPolicies, ", "))
		}
		return nil
	},
	impose: imposeEviction,
}

var evictionPolicies = []string{
	"volatile-lru", "volatile-lfu", "volatile-ttl", "volatile-random", "allkeys-lru", "allkeys-lfu", "allkeys-random",
}

// Eviction is what an eviction has done by the time that Inject returned.
type Eviction struct {
	Evicted int64    // keys, fillers among them
	Fillers int      // keys that were written
	Gone    []string // the victims that were evicted; they may have been written again
	Expired []string // the victims whose time was over before they could be
}

// Evicted is what was evicted; zero for other kinds.
func (i *Injection) Evicted() Eviction {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.evicted
	e.Gone, e.Expired = slices.Clone(e.Gone), slices.Clone(e.Expired)
	return e
}

// imposeEviction fills the memory until the server tells that each victim was
// evicted. A victim that is used all the time may be passed over by the LRU and
// LFU policies; then it is an error, and so is a victim that is not there.
func imposeEviction(ctx context.Context, s *Server, i *Injection) (_ undoing, err error) {
	policy := i.fault.Policy
	if policy == "" {
		policy = evictionPolicies[0]
	}
	if err := s.evictable(ctx, i.fault.Victims, policy); err != nil {
		return nil, err
	}
	memory, err := s.info(ctx, "memory")
	if err != nil {
		return nil, err
	}
	used, err := strconv.ParseInt(memory["used_memory"], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read used_memory: %w", err)
	}
	restore, err := s.configure(ctx,
		setting{"maxmemory-policy", policy},
		setting{"maxmemory-samples", "64"}, // close to what the policy promises
		setting{"notify-keyspace-events", "Ee"},
		setting{"maxmemory", strconv.FormatInt(used+headroom, 10)},
	)
	if err != nil {
		return nil, err
	}
	f := &filling{s: s, prefix: "rlbench:filler:" + rand.Text() + ":"}
	lift := func(ctx context.Context) error {
		return errors.Join(restore(ctx), leaving("fillers are left over", s.Delete(ctx, f.keys())))
	}
	e, err := f.evict(ctx, i.fault.Victims)
	if err != nil {
		then, cancel := s.afterwards(ctx)
		defer cancel()
		if undo := lift(then); undo != nil {
			return nil, errors.Join(err, undo)
		}
		return nil, leaving(fmt.Sprintf("the server is as it was, but has evicted %d keys with the fillers, and %d of %d victims",
			e.Evicted, len(e.Gone), len(i.fault.Victims)), err)
	}
	i.mu.Lock()
	i.evicted = e
	i.mu.Unlock()
	return lift, nil
}

// evictable says why victims could not be evicted.
func (s *Server) evictable(ctx context.Context, victims []string, policy string) error {
	found, err := s.kinds(ctx, victims)
	if err != nil {
		return err
	}
	lasting := 0
	for _, key := range found {
		if key.TTL < 0 {
			lasting++
		}
	}
	distinct := len(slices.Compact(slices.Sorted(slices.Values(victims))))
	switch {
	case distinct < len(victims):
		return errors.New("a victim is named twice")
	case len(found) < len(victims):
		return fmt.Errorf("%d of %d victims do not exist", len(victims)-len(found), len(victims))
	case lasting > 0 && strings.HasPrefix(policy, "volatile-"):
		return fmt.Errorf("%d of %d victims have no time to live, and %s evicts only keys that have one", lasting, len(victims), policy)
	}
	return nil
}

// filling writes keys that nobody reads.
type filling struct {
	s       *Server
	prefix  string
	written int
}

func (f *filling) keys() []string {
	keys := make([]string, f.written)
	for n := range keys {
		keys[n] = f.prefix + strconv.Itoa(n)
	}
	return keys
}

// more writes a chunk of keys.
func (f *filling) more(ctx context.Context) error {
	value := strings.Repeat("x", fillerSize)
	_, err := f.s.manager.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range chunk {
			p.Set(ctx, f.prefix+strconv.Itoa(f.written), value, fillerTTL)
			f.written++
		}
		return nil
	})
	return err
}

// evict fills until the server has told of each victim that it evicted it, or
// the victim has expired.
func (f *filling) evict(ctx context.Context, victims []string) (e Eviction, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fillFor, fmt.Errorf("not all victims were evicted within %s", fillFor))
	defer cancel()
	l, err := f.s.listen(ctx, victims)
	if err != nil {
		return e, err
	}
	defer l.close()
	defer func() {
		e = Eviction{Evicted: l.heard, Fillers: f.written, Gone: l.gone, Expired: l.expired}
	}()
	for checked := time.Now(); len(l.left) > 0; {
		if f.written >= fillMost {
			return e, fmt.Errorf("%d of %d victims were not evicted by %d fresh keys", len(l.left), len(victims), f.written)
		}
		if err := f.more(ctx); err != nil {
			return e, errors.Join(context.Cause(ctx), err)
		}
		if err := l.catchUp(ctx); err != nil {
			return e, errors.Join(context.Cause(ctx), err)
		}
		if time.Since(checked) < checkEach {
			continue
		}
		if err := l.check(ctx); err != nil {
			return e, errors.Join(context.Cause(ctx), err)
		}
		checked = time.Now()
	}
	return e, nil
}
