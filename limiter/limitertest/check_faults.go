package limitertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// checkFlush makes the server forget its scripts, between calls and under them.
func checkFlush(ctx context.Context, s *subject) error {
	const callers, calls = 64, 4
	setup := s.setup(limiter.Limit{Max: callers * calls * 2, Window: time.Minute})
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	a := asker{ctx, l}
	var f faults
	for range 3 {
		_, err := a.allow("a", epoch, 1)
		f.add(err)
		f.add(s.suite.Client.ScriptFlush(ctx).Err())
	}

	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				if err := s.suite.Client.ScriptFlush(ctx).Err(); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	_, errs := volley(callers, func(int) (d limiter.Decision, err error) {
		for range calls {
			if d, err = a.allow("a", epoch, 1); err != nil {
				return d, err
			}
		}
		return d, nil
	})
	close(stop)
	f.add(<-stopped)
	if len(errs) > 0 {
		f.addf("%d of %d callers failed, the first with: %w", len(errs), callers, errs[0])
	}
	if len(f) == 0 {
		f.add(s.used(ctx, setup, 3+callers*calls, 3+callers*calls))
	}
	return f.join()
}

// used demands that so many units were counted on key "a" at the epoch, asked by
// another limiter of the setup.
func (s *subject) used(ctx context.Context, setup Setup, least, most int64) error {
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	d, err := asker{ctx, l}.allow("a", epoch, 1)
	if err != nil {
		return err
	}
	if used := setup.Limit.Max - 1 - d.Remaining; used < least || used > most {
		return fmt.Errorf("%d units were counted, want %d to %d", used, least, most)
	}
	return nil
}

// checkCancel calls with contexts that ended before the call.
func checkCancel(ctx context.Context, s *subject) error {
	setup := s.setup(limiter.Limit{Max: 10, Window: time.Minute})
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	var f faults
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	overdue, cancelOverdue := context.WithDeadline(ctx, time.Unix(0, 0))
	defer cancelOverdue()
	for _, c := range []struct {
		ctx  context.Context
		want error
	}{{cancelled, context.Canceled}, {overdue, context.DeadlineExceeded}} {
		_, err := asker{c.ctx, l}.allow("a", epoch, 1)
		if !errors.Is(err, c.want) {
			f.addf("%w before the call: got error %v", c.want, err)
		}
	}
	f.add(s.used(ctx, setup, 0, 0))
	return f.join()
}

// checkDeadline lets the server's reply vanish while the connection stays.
func checkDeadline(ctx context.Context, s *subject) error {
	const patience = 100 * time.Millisecond
	client, saboteur, err := sabotaged(s.suite.Client)
	if err != nil {
		return err
	}
	defer client.Close()
	setup := s.setup(limiter.Limit{Max: 10, Window: time.Minute})
	setup.Client = client
	broken, err := s.open(setup)
	if err != nil {
		return err
	}
	if _, err := (asker{ctx, broken}).allow("a", epoch, 1); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}

	saboteur.silent.Store(true)
	brief, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = asker{brief, broken}.allow("a", epoch, 1)
	saboteur.silent.Store(false)
	switch {
	case err == nil:
		return errors.New("answered without a reply")
	case ctx.Err() != nil:
		return fmt.Errorf("outlived its deadline of %s: %w", patience, err)
	case !errors.Is(err, limiter.ErrUnknown):
		return fmt.Errorf("the request was sent, but the error does not wrap ErrUnknown: %w", err)
	}
	setup.Client = s.suite.Client
	return s.used(ctx, setup, 1, 2) // on a busy machine it may not have left in time
}

// checkLostReply cuts the connection after the server ran the request, with a
// client that would send it again.
func checkLostReply(ctx context.Context, s *subject) error {
	client, saboteur, err := sabotaged(s.suite.Client)
	if err != nil {
		return err
	}
	defer client.Close()
	setup := s.setup(limiter.Limit{Max: 10, Window: time.Minute})
	if err := trapWorks(ctx, client, saboteur, setup.Policy+"-trap"); err != nil {
		return err
	}
	setup.Client = client
	broken, err := s.open(setup)
	if err != nil {
		return err
	}
	if _, err := (asker{ctx, broken}).allow("a", epoch, 1); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}

	saboteur.cut.Store(true)
	_, err = asker{ctx, broken}.allow("a", epoch, 1)
	if saboteur.cut.Swap(false) {
		return errors.New("the request did not use Setup.Client")
	}
	if err == nil {
		err = errors.New("no error")
	}
	if !errors.Is(err, limiter.ErrUnknown) {
		return fmt.Errorf("the reply was lost, but the error does not wrap ErrUnknown: %w", err)
	}
	setup.Client = s.suite.Client
	return s.used(ctx, setup, 2, 2) // one before the fault, one under it
}
