package limitertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// checkBurst releases goroutines of four processes at once on one key.
func checkBurst(ctx context.Context, s *subject) error {
	now, err := s.suite.Client.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("read the server's time: %w", err)
	}
	bursts := []struct {
		why     string
		at      time.Time // zero: the server's clock
		window  time.Duration
		virtual bool
	}{
		{"one microsecond", epoch.Add(7 * time.Second), time.Minute, true},
		{"an edge", epoch, time.Minute, true},
		{"the server's clock", time.Time{}, calmWindow(now), false},
	}
	var f faults
	for _, b := range bursts {
		setup := s.setup(limiter.Limit{Max: 25, Window: b.window})
		setup.Virtual = b.virtual
		if err := s.burst(ctx, setup, b.at); err != nil {
			f.addf("%s: %w", b.why, err)
		}
	}
	return f.join()
}

// calmWindow has no edge within ten minutes of now.
func calmWindow(now time.Time) time.Duration {
	for w := time.Hour; ; w += 7 * time.Minute {
		age := time.Duration(now.UnixMicro()%w.Microseconds()) * time.Microsecond
		if age > 10*time.Minute && w-age > 10*time.Minute {
			return w
		}
	}
}

func (s *subject) burst(ctx context.Context, setup Setup, at time.Time) error {
	const processes, each = 4, 16
	var callers []asker
	for range processes {
		l, err := s.open(setup)
		if err != nil {
			return err
		}
		callers = append(callers, asker{ctx, l})
	}
	answers, errs := volley(processes*each, func(i int) (limiter.Decision, error) {
		return callers[i%processes].allow("a", at, 1)
	})
	var f faults
	for _, err := range errs {
		f.add(err)
	}
	// Admissions take one unit each, so what remains tells them apart.
	var admitted int64
	left := map[int64]bool{}
	for _, d := range answers {
		switch {
		case d.Allowed:
			admitted++
			left[d.Remaining] = true
		case d.RetryAfter <= 0 && len(errs) == 0:
			f.addf("denied without a wait: %+v", d)
		}
	}
	if admitted != setup.Limit.Max || int64(len(left)) != admitted {
		f.addf("%d of %d admitted with %d different remainders, want %d of both",
			admitted, len(answers), len(left), setup.Limit.Max)
	}
	return f.join()
}

// volley calls n times from n goroutines that start together.
func volley(n int, call func(i int) (limiter.Decision, error)) (answers []limiter.Decision, errs []error) {
	var mu sync.Mutex
	var done sync.WaitGroup
	barrier := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-barrier
			d, err := call(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			answers = append(answers, d)
		})
	}
	close(barrier)
	done.Wait()
	return answers, errs
}
