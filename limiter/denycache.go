package limiter

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultDenyKeys is how many denied identities a DenyCache remembers unless told.
const DefaultDenyKeys = 100_000

// DenyCache refuses in this process what Redis has refused, until Redis would no
// longer: without a round trip, and without a change of what is decided. For whoever
// was denied a cost at an instant is denied that cost, or a larger one, until the
// RetryAfter that came with it has passed, whatever others do meanwhile: they can
// only use up more. That holds for every algorithm here, for any number of processes,
// and for one clock whose instants come in order.
//
// What it tells beside the denial, RetryAfter, ResetAfter and Remaining, is as exact as
// ever while all requests of a key cost 1, under one limit and one name. Otherwise it
// is what was true when Redis refused, with the time since then taken off: the waits
// are the least.
//
// Another limit does not read what was written under this one, and Redis.Reset
// forgets. What happens behind a limiter's back is not seen until the wait is over: a
// Reset in another process, a Redis that lost its state or whose clock was set, a
// machine that slept, and stamps that come late, be it by clocks that disagree or by
// requests that overtook each other.
//
// The zero value remembers DefaultDenyKeys. It is safe for concurrent use, and may be
// shared by any limiters of one Redis. Do not copy one after its first use.
type DenyCache struct {
	// Keys is how many denied identities are remembered at most; 0 or less is
	// DefaultDenyKeys. When there are more, one of those whose wait is over soonest
	// among a few is forgotten, which costs a round trip. Set it before the first use.
	Keys int

	ready  sync.Once
	seed   maphash.Seed
	shards []denyShard
	// resets counts what may make Redis forget: what was denied before the last one
	// holds no more.
	resets atomic.Int64
}

const denyShards = 64

type denyShard struct {
	mu   sync.Mutex
	all  map[denyKey]denial
	most int
}

// denyKey tells identities of policies apart. The limit is part of it, unlike in
// Redis: another limit decides otherwise about the same use.
type denyKey struct {
	head, slot, name, also string
	max                    int64
	stamped                bool // by the requests' instants, not by our clock
}

// denial is what Redis refused. Instants are microseconds: of requests, or of our
// clock since it started.
type denial struct {
	cost, remaining int64
	until           int64 // whoever asks before is refused
	retry, reset    int64 // when to come back, and when everything is back
	at, seen        int64 // of Redis, and of ours when we heard it
	ends            int64 // until, always by our clock
	resets          int64 // how many there had been when we asked
}

// open makes the shards on first use.
func (c *DenyCache) open() []denyShard {
	c.ready.Do(func() {
		most := c.Keys
		if most <= 0 {
			most = DefaultDenyKeys
		}
		c.seed = maphash.MakeSeed()
		c.shards = make([]denyShard, min(most, denyShards))
		for i := range c.shards {
			c.shards[i].all = map[denyKey]denial{}
			c.shards[i].most = most / len(c.shards)
		}
	})
	return c.shards
}

func (c *DenyCache) shard(k denyKey) *denyShard {
	shards := c.open()
	return &shards[maphash.Comparable(c.seed, k)%uint64(len(shards))]
}

// find is the denial that decides a request of that cost at an instant.
func (c *DenyCache) find(k denyKey, cost, now int64) (denial, bool) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.all[k]
	switch {
	case !ok:
		return denial{}, false
	case now >= d.until || d.resets != c.resets.Load():
		delete(s.all, k)
		return denial{}, false
	}
	return d, cost >= d.cost
}

// keep remembers a denial, unless one that refuses more is remembered already.
func (c *DenyCache) keep(k denyKey, d denial, now int64) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.all[k]
	if ok && now < known.until && known.cost < d.cost && known.resets == d.resets {
		return
	}
	if !ok && len(s.all) >= s.most {
		s.evict()
	}
	s.all[k] = d
}

// evict forgets one of a few, which Go draws at random: that whose wait is over
// soonest.
func (s *denyShard) evict() {
	const few = 8
	var soonest denyKey
	var ends int64
	seen := 0
	for k, d := range s.all {
		if seen == 0 || d.ends < ends {
			soonest, ends = k, d.ends
		}
		if seen++; seen == few {
			break
		}
	}
	delete(s.all, soonest)
}

// Len is how many denials are remembered, some of which may be over.
func (c *DenyCache) Len() int {
	n := 0
	shards := c.open()
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		n += len(s.all)
		s.mu.Unlock()
	}
	return n
}

// began is where our clock begins. It never goes back.
var began = time.Now()

func sinceBegan() int64 { return time.Since(began).Microseconds() }

func (l *Redis) denyKey(r Request) denyKey {
	return denyKey{l.head, r.Slot, r.Key, r.Also, l.limit.Max, !r.At.IsZero()}
}

// allowUnlessDenied is Allow with a DenyCache.
func (l *Redis) allowUnlessDenied(ctx context.Context, r Request) (Decision, error) {
	k, cost, asked, resets := l.denyKey(r), r.Units(), sinceBegan(), l.denials.resets.Load()
	ends := asked
	if k.stamped {
		asked = r.At.UnixMicro()
	}
	// Who costs more than there is gets to hear so, and errors come first.
	if known, ok := l.denials.find(k, cost, asked); ok && cost <= l.limit.Max && r.Validate() == nil && ctx.Err() == nil {
		d := l.repeated(known, asked)
		l.fallback.tally.count(d)
		return d, nil
	}
	d, err := l.decide(ctx, r, l.nonce())
	if err != nil || d.Allowed || d.Source != SourceRedis || d.RetryAfter <= 0 || d.RetryAfter == Never {
		return d, err
	}
	// It was decided after we asked and before now, which are one by their stamps.
	// Who waits from now on does not come too early, and who is refused until so long
	// after we asked is not refused too long.
	heard := asked
	if !k.stamped {
		heard = sinceBegan()
	}
	k.slot, k.name, k.also = strings.Clone(k.slot), strings.Clone(k.name), strings.Clone(k.also)
	l.denials.keep(k, denial{
		cost: cost, remaining: d.Remaining,
		until: asked + d.RetryAfter.Microseconds(),
		retry: heard + d.RetryAfter.Microseconds(), reset: heard + d.ResetAfter.Microseconds(),
		at: d.At.UnixMicro(), seen: heard, ends: ends + d.RetryAfter.Microseconds(), resets: resets,
	}, asked)
	return d, nil
}

// repeated is a denial as it is so much later.
func (l *Redis) repeated(known denial, now int64) Decision {
	return Decision{
		Limit: l.limit.Max, Remaining: known.remaining, Source: SourceDenyCache,
		RetryAfter: micros(known.retry - now), ResetAfter: micros(known.reset - now),
		At: time.UnixMicro(known.at + now - known.seen).UTC(),
	}
}
