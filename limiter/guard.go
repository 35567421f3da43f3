package limiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// guard asks Redis, within a bounded time and only if it makes sense, and keeps
// count of what goes wrong. It is safe for concurrent use.
type guard struct {
	timeout  time.Duration
	patience patience
	circuit  *Circuit
	counters *Counters
	warnings warnings
	log      *slog.Logger
	room     int64      // connections: one more request will have to queue
	joint    sync.Mutex // held while several budgets decide one request
}

// newGuard takes from a valid Config what says how to ask.
func newGuard(client Processor, c Config) *guard {
	reading, room := habits(client)
	g := &guard{
		timeout:  cmp.Or(c.Timeout, reading),
		circuit:  c.Circuit,
		counters: c.Counters,
		log:      c.Logger,
		room:     int64(room),
	}
	g.patience.length = g.timeout
	if g.circuit == nil {
		g.circuit = &Circuit{Now: c.Now}
	}
	if g.counters == nil {
		g.counters = new(Counters)
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.counters.watch(g.circuit)
	return g
}

// habits are the client's read timeout and pool size, as far as it tells them.
func habits(client Processor) (reading time.Duration, room int) {
	switch c := client.(type) {
	case *Pipeline:
		reading, _ = habits(c.client)
		return reading, math.MaxInt // callers wait for their turn in it, and can leave there
	case interface{ Options() *redis.Options }:
		reading, room = c.Options().ReadTimeout, c.Options().PoolSize
	case interface{ Options() *redis.ClusterOptions }:
		reading, room = c.Options().ReadTimeout, c.Options().PoolSize
	}
	if reading <= 0 {
		reading = DefaultTimeout
	}
	if room <= 0 {
		room = 10 * runtime.GOMAXPROCS(0) // the client's default
	}
	return reading, room
}

// validateFailure reports everything that is wrong with the fields that say how
// to live with failures, and that are the same for all policies of a Set.
func (c Config) validateFailure() []error {
	errs := append(c.Circuit.validate(), c.OnFailure.validate())
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout %s is negative", c.Timeout))
	}
	return errs
}

// ask lets do ask Redis, in a context that ends in time. do sends at most one
// request, by Script.Run. The error is do's, or says why nothing was sent.
func (g *guard) ask(ctx context.Context, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		g.counters.trouble(classOf(ctx, err), "")
		return fmt.Errorf("decide in Redis: nothing was sent: %w", err)
	}
	generation, err := g.circuit.enter()
	switch {
	case err == ErrBusy:
		g.counters.trouble(TroubleBusy, "")
		return err
	case err != nil:
		g.counters.trouble(TroubleCircuit, "")
		return err
	}
	defer g.circuit.leave()
	bounded, cancel := g.patience.bound(ctx, g.circuit.inFlight.Load() > g.room)
	defer cancel()
	if err := do(bounded); err != nil {
		return g.note(ctx, generation, err)
	}
	g.circuit.answered(g.log)
	return nil
}

// note counts an error of a request that was let through, and returns it.
func (g *guard) note(ctx context.Context, generation int64, err error) error {
	switch class := classOf(ctx, err); class {
	case TroubleAnswer:
		answer := answerOf(err)
		g.counters.trouble(class, answer)
		g.warnings.warn(g.circuit.now(), g.log, answer)
		g.circuit.answered(g.log)
	case TroubleCancelled, TroubleOverdue:
		g.counters.trouble(class, "")
	default:
		g.counters.trouble(class, "")
		g.circuit.failed(generation, err, g.log)
	}
	return err
}

// classOf says what kind of trouble ended a request. A caller who had no time left
// says nothing about Redis, whatever the error.
func classOf(ctx context.Context, err error) Trouble {
	switch {
	case Answered(err):
		return TroubleAnswer
	case errors.Is(ctx.Err(), context.Canceled):
		return TroubleCancelled
	case overdue(ctx):
		return TroubleOverdue
	case errors.Is(err, errNoConnection), errors.Is(err, errTakenBack):
		return TroubleNoConnection
	case undialled(err):
		return TroubleDial
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return TroubleTimeout
	}
	return TroubleBroken
}

// overdue asks the clock too: a socket can notice a deadline before the context.
func overdue(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}
