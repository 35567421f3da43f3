package edge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// SourceEdge is the source of decisions that an edge tier made.
const SourceEdge = limiter.SourceEdge

// Binding is a rate limiting binding and the network that it runs on. It is safe
// for concurrent use, keeps everything in memory and needs no closing.
type Binding struct {
	config    Config
	period    int64 // µs
	locations []location

	mu     sync.Mutex
	window int64 // index of the newest period that was asked about
	// cells are the keys of that period, old those of the one before that were
	// not asked about since. Whole maps are dropped when their period is over.
	cells, old map[name]*cell
	uncounted  int64
}

var _ limiter.Limiter = (*Binding)(nil)

// location is what never changes at one.
type location struct {
	salt uint64 // of the draw of a connection's machine
	turns
}

// name is whose counter a cell is.
type name struct {
	location int
	key      string
}

// New makes a binding, or says everything that is wrong with the configuration.
func New(c Config) (*Binding, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("new edge binding: %w", err)
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	b := &Binding{config: c, period: c.Limit.Window.Microseconds(), cells: map[name]*cell{}}
	every := c.Sync.Microseconds()
	draw := rand.New(rand.NewPCG(c.Seed, 0))
	for range c.Locations {
		l := location{salt: draw.Uint64(), turns: turns{every: every, phases: make([]int64, c.Machines)}}
		for i := range l.phases {
			l.phases[i] = draw.Int64N(every)
		}
		b.locations = append(b.locations, l)
	}
	return b, nil
}

// Config is the configuration with its defaults applied.
func (b *Binding) Config() Config { return b.config }

// Allow decides r where its connection arrives: see WithConnection.
//
// The real binding tells success and nothing else, so a Decision has Allowed,
// At and Source, and its numbers are zero: a Limit of 0 says that Limit,
// Remaining, RetryAfter and ResetAfter are unknown. It counts requests: Cost,
// Also and Slot are not looked at. A denial is not counted.
//
// Errors: an invalid request, a cancelled context, a location that does not
// exist, and a request without an instant if the binding has no clock.
//
// Instants are expected in order. One of the period before the newest is decided
// in the newest; an earlier one means that the clock was set back, and all counts
// begin afresh.
func (b *Binding) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	if err := ctx.Err(); err != nil {
		return limiter.Decision{}, fmt.Errorf("ask edge: %w", err)
	}
	if r.At.IsZero() {
		if b.config.Now == nil {
			return limiter.Decision{}, errors.New("ask edge: the request has no instant and the binding no clock")
		}
		r.At = b.config.Now()
	}
	if err := r.Validate(); err != nil {
		return limiter.Decision{}, fmt.Errorf("ask edge: %w", err)
	}
	over := connectionOf(ctx)
	if over.location < 0 || over.location >= b.config.Locations {
		return limiter.Decision{}, fmt.Errorf("ask edge: location %d: there are 0 to %d", over.location, b.config.Locations-1)
	}
	at := r.At.UnixMicro()
	allowed, _ := b.ask(at, r.Key, over)
	return limiter.Decision{Allowed: allowed, At: time.UnixMicro(at).UTC(), Source: SourceEdge}, nil
}

// ask decides, and says how long a denied client has to wait, in microseconds:
// exact if nobody else uses the key, at any location or machine.
func (b *Binding) ask(at int64, key string, over connection) (allowed bool, wait int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.locations[over.location].turns
	c := b.find(name{over.location, bounded(key)}, at, t)
	if c == nil {
		b.uncounted++
		return true, 0
	}
	c.catchUp(at, t)
	m := &c.machines[b.machineOf(over)]
	if wait := b.wait(m.view(), at); wait > 0 {
		return false, wait
	}
	m.pending.current++
	return true, 0
}

// find is the cell of a name in the newest period, made if there is room.
func (b *Binding) find(n name, at int64, t turns) *cell {
	b.roll(at / b.period)
	if c, ok := b.cells[n]; ok {
		return c
	}
	if len(b.cells) >= b.config.MaxKeys {
		return nil
	}
	c, ok := b.old[n]
	if ok {
		c.shift()
		delete(b.old, n)
	} else {
		c = newCell(at, t)
	}
	b.cells[n] = c
	return c
}

// roll begins a period and drops what no decision can need any more. An instant
// of the period before is late; one of an earlier period means that the clock
// was set back, and to wait until it comes round again would be an outage.
func (b *Binding) roll(window int64) {
	if window == b.window || window == b.window-1 {
		return
	}
	b.old = nil
	if window == b.window+1 && b.config.Kind == SlidingWindow {
		b.old = b.cells
	}
	b.window, b.cells = window, map[name]*cell{}
}

// machineOf is where a connection lands, and stays.
func (b *Binding) machineOf(over connection) int {
	draw := rand.NewPCG(b.locations[over.location].salt, over.number)
	return int(draw.Uint64() % uint64(b.config.Machines))
}

// Keys is how many pairs of key and location are remembered. What is over is
// forgotten by the first request of a later period.
func (b *Binding) Keys() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.cells) + len(b.old)
}

// Uncounted is how many requests were admitted because their keys found no room.
func (b *Binding) Uncounted() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.uncounted
}

// bounded is the key, or a digest that is longer than any key kept as it is.
func bounded(key string) string {
	const longest = 2 * sha256.Size
	if len(key) <= longest {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "#" + hex.EncodeToString(sum[:])
}
