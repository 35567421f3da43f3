package limiter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/scripts"
)

const (
	// batchSize is how many requests one call of a script decides at most. Nobody else
	// is served meanwhile, so it is kept to a fraction of a millisecond.
	batchSize = 64
	// batchUnits is how many units the requests of a call cost together, but for one
	// that costs more by itself: a log writes each.
	batchUnits = 256
	// batchFlights is how many calls of a policy are on their way at most: with one,
	// the server would have nothing to do while its replies are handed out. All policies
	// of a pipeline together have as many as the client has connections for.
	batchFlights = 2
)

// batches decides requests of one budget that are asked for at the same time in one
// call of its script. Nobody waits for company: what comes while the calls before are
// on their way goes with the next. It is safe for concurrent use; its goroutines end
// when nobody waits.
type batches struct {
	pipeline             *Pipeline
	batch, plain, single *Script // of many requests, and of one, without and with the pipeline
	window, max, floor   any

	// apart is set once a server has refused keys of several slots.
	apart atomic.Bool

	mutex   sync.Mutex
	waiting []*ask
	flying  int

	free sync.Pool // of *ask; a channel must not leave the bubble of a synctest
}

// ask is a request that waits for its reply.
type ask struct {
	ctx       context.Context
	key       string
	cost      int64
	at, nonce any
	reply     any
	err       error
	done      chan struct{}
}

// newBatches is nil where requests cannot share a call: without a pipeline, or where it
// sets them apart, on a cluster, and for a script that is no function body.
func newBatches(client Processor, b budget, floor any) *batches {
	p, ok := client.(*Pipeline)
	if !ok || p.Apart || isCluster(client) || strings.HasPrefix(b.algorithm.Script, "#!") {
		return nil
	}
	return &batches{
		free:     sync.Pool{New: func() any { return &ask{done: make(chan struct{}, 1)} }},
		pipeline: p, window: b.window, max: b.max, floor: floor,
		batch:  NewScript(p.client, scripts.Batch(b.algorithm.Script)),
		plain:  NewScript(p.client, b.algorithm.Script),
		single: NewScript(p, b.algorithm.Script),
	}
}

// run returns the reply of the algorithm's script, as Script.Run does and with its
// errors. A caller whose time is over before the request was sent takes it back.
func (b *batches) run(ctx context.Context, key string, at any, cost int64, nonce string) (any, error) {
	if b.apart.Load() {
		return b.alone(ctx, key, at, cost, nonce)
	}
	defer b.pipeline.asking.Add(-1)
	if b.pipeline.asking.Add(1) <= int64(b.pipeline.Few) {
		return b.plain.Run(ctx, []string{key}, at, b.window, b.max, units(cost), nonce, b.floor)
	}
	a := b.free.Get().(*ask)
	a.ctx, a.key, a.at, a.cost, a.nonce = ctx, key, at, cost, nonce
	reply, err := b.wait(ctx, a)
	if _, own := errors.AsType[answer](err); err != nil && !own && redis.HasErrorPrefix(err, "CROSSSLOT") {
		// The client leads to a cluster, which refused the call as a whole: nothing was
		// counted, and nobody need be refused for it.
		b.apart.Store(true)
		return b.alone(ctx, key, at, cost, nonce)
	}
	return reply, err
}

// alone sends a request in no company but that of a write.
func (b *batches) alone(ctx context.Context, key string, at any, cost int64, nonce string) (any, error) {
	return b.single.Run(ctx, []string{key}, at, b.window, b.max, units(cost), nonce, b.floor)
}

// wait lets a request go with others, and returns what became of it.
func (b *batches) wait(ctx context.Context, a *ask) (any, error) {
	b.join(a)
	caller := callerOf(ctx)
	select {
	case <-a.done:
	case <-ctx.Done():
		return b.abandon(a, ctx.Err())
	case <-caller.Done():
		return b.abandon(a, caller.Err())
	}
	return b.collect(a)
}

// collect reads what became of a request that is over.
func (b *batches) collect(a *ask) (any, error) {
	reply, err := a.reply, a.err
	*a = ask{done: a.done}
	b.free.Put(a)
	return reply, err
}

// abandon ends the wait for a reply, for a reason.
func (b *batches) abandon(a *ask, why error) (any, error) {
	if b.leave(a) {
		return nil, fmt.Errorf("decide in Redis: %w: %w", errTakenBack, why)
	}
	select {
	case <-a.done: // after all
		return b.collect(a)
	default:
		return nil, fmt.Errorf("decide in Redis: %w: wait for the reply of a batch: %w", ErrUnknown, why)
	}
}

func (b *batches) join(a *ask) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.waiting = append(b.waiting, a)
	if b.flying < batchFlights {
		b.flying++
		go b.fly()
	}
}

// leave takes a request back, and reports whether it was not sent yet.
func (b *batches) leave(a *ask) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	i := slices.Index(b.waiting, a)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return i >= 0
}

// fly sends what waits until nothing does.
func (b *batches) fly() {
	var batch []*ask
	for {
		b.pipeline.depart()
		runtime.Gosched() // those who are about to ask come along
		batch = b.take(batch[:0])
		if len(batch) > 0 {
			b.send(batch)
		}
		b.pipeline.land()
		if len(batch) == 0 {
			return
		}
	}
}

// take moves those who have waited longest; if there is nobody, the flight is over.
func (b *batches) take(batch []*ask) []*ask {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	n, cost := 0, int64(0)
	for ; n < min(len(b.waiting), batchSize) && (n == 0 || cost+b.waiting[n].cost <= batchUnits); n++ {
		cost += max(b.waiting[n].cost, 1)
	}
	batch = append(batch, b.waiting[:n]...)
	b.waiting = slices.Delete(b.waiting, 0, n)
	if n == 0 {
		b.flying--
	}
	return batch
}

// send decides a batch and tells everybody. It ends when the time of all is over.
func (b *batches) send(batch []*ask) {
	keys, args := make([]string, len(batch)), make([]any, 3, 3+3*len(batch))
	args[0], args[1], args[2] = b.window, b.max, b.floor
	var end time.Time
	for i, a := range batch {
		keys[i], args = a.key, append(args, a.at, units(a.cost), a.nonce)
		if deadline, ok := a.ctx.Deadline(); ok && deadline.After(end) {
			end = deadline
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	replies, err := b.replies(ctx, keys, args)
	for i, a := range batch {
		if a.err = err; err == nil {
			a.reply = replies[i]
			if text, ok := errorText(a.reply); ok {
				a.reply, a.err = nil, classify(answer(text))
			}
		}
		a.done <- struct{}{}
	}
}

func (b *batches) replies(ctx context.Context, keys []string, args []any) ([]any, error) {
	reply, err := b.batch.Run(ctx, keys, args...)
	if err != nil {
		return nil, err
	}
	replies, ok := reply.([]any)
	if !ok || len(replies) != len(keys) {
		return nil, &ReplyError{Script: "batch", Err: fmt.Errorf("want %d replies, got %v", len(keys), reply)}
	}
	return replies, nil
}

// errorText is the error in a reply, if it is one.
func errorText(reply any) (string, bool) {
	values, ok := reply.([]any)
	if !ok || len(values) != 1 {
		return "", false
	}
	text, ok := values[0].(string)
	// Redis before 7 tells a script where in it a command has failed.
	return raisedAt.ReplaceAllString(text, ""), ok
}

var raisedAt = regexp.MustCompile(`^@?user_script: ?\d+: `)

// answer is an error that the server answered one request of a batch with.
type answer string

func (a answer) Error() string { return string(a) }

// RedisError marks it as an answer.
func (a answer) RedisError() {}
