package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// use chooses the server of the next run: faults are made on one of their own, so
// that the others are measured without what makes them.
func (e *experiment) use(stop *interrupt, injectable bool) error {
	if e.servers[injectable] == nil {
		s, err := backend.Open(stop.ctx, e.spec, backend.Options{Timeout: e.timeout, PoolSize: e.mostInFlight(), Injectable: injectable})
		if err == nil {
			e.opening.Lock()
			e.servers[injectable] = s
			e.opening.Unlock()
			if stop.twice() {
				s.Client().Close() // the interrupt did not see it
			}
			err = s.Warm(stop.ctx, e.connections())
		}
		if err != nil && stop.ctx.Err() == nil {
			return targetTrouble(err)
		}
	}
	if s := e.servers[injectable]; s != nil {
		e.server = s
	}
	return nil
}

// unsuited is why a scenario's faults cannot be had on this Redis.
func (e *experiment) unsuited(s loaded) error {
	var errs []error
	for _, f := range s.plan.Faults {
		errs = append(errs, backend.CheckFault(target.Fault(f, 1, []string{"any"}), e.server.Flavour()))
	}
	return errors.Join(errs...)
}

func (e *experiment) closeServers() {
	for _, s := range e.servers {
		s.Close()
	}
}

// injected is a fault in force, as the runner sees it.
type injected struct {
	*backend.Injection
	counts bool          // the fault knows whom it hit
	after  time.Duration // real time that limiters are given to notice its end
}

// End lifts the fault. Virtual time stands still while a circuit finds out that
// Redis is back.
func (i injected) End(ctx context.Context) error {
	err := i.Injection.End(ctx)
	time.Sleep(i.after)
	return err
}

func (i injected) Hits() int64 {
	if !i.counts {
		return -1
	}
	return int64(len(i.Injection.Hits()))
}

// mostVictims bounds how many keys an eviction has to find.
const mostVictims = 10_000

// inject puts a fault of a plan in force.
func (e *experiment) inject(ctx context.Context, p *scenarios.Plan, number int, mark string) (runner.Injected, error) {
	planned := p.Faults[number]
	var victims []string
	if planned.Kind == "eviction" {
		var err error
		var all bool
		victims, all, err = e.server.Scan(ctx, mark+":*", mostVictims)
		switch {
		case err != nil:
			return nil, fmt.Errorf("find keys to evict: %w", err)
		case !all:
			return nil, fmt.Errorf("evict keys: there are more than %d", mostVictims)
		case len(victims) == 0:
			return nil, errors.New("evict keys: there are none yet; place the fault behind some requests")
		}
	}
	i, err := e.server.Inject(ctx, target.Fault(planned, p.Seed, victims))
	if err != nil {
		return nil, err
	}
	in := injected{Injection: i, counts: planned.Of().Connection}
	if p.Clock == scenarios.Virtual && scenarios.FallsBack(p.OnFailure) {
		in.after = limiter.DefaultProbe * 3 / 2
	}
	return in, nil
}

// suitable leaves out scenarios whose faults this Redis cannot have, if they came
// with all, and refuses them if they were named.
func (e *experiment) suitable() error {
	var errs []error
	e.scenarios = slices.DeleteFunc(e.scenarios, func(s loaded) bool {
		err := e.unsuited(s)
		switch {
		case err != nil && s.optional:
			e.leaveOut(s.Name, err)
			return true
		case err != nil:
			errs = append(errs, fmt.Errorf("scenario %s: %w", s.Name, err))
		}
		return false
	})
	if err := errors.Join(errs...); err != nil {
		return usage(err, "--redis managed")
	}
	return nil
}
