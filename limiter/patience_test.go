package limiter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// processor is a Processor made of a function.
type processor func(context.Context, redis.Cmder) error

func (p processor) Process(ctx context.Context, cmd redis.Cmder) error { return p(ctx, cmd) }

// reply is an error that Redis answers with.
type reply string

func (r reply) Error() string { return string(r) }
func (r reply) RedisError()   {}

// mute never answers.
func mute(ctx context.Context, _ redis.Cmder) error {
	<-ctx.Done()
	return ctx.Err()
}

type seat struct{}

// TestDecisionsEndInTime: whatever the client waits for, a decision takes no
// longer than its timeout and a sixteenth.
func TestDecisionsEndInTime(t *testing.T) {
	const timeout = 160 * time.Millisecond
	slow := func(answer error, d time.Duration) processor {
		asked := false
		return func(ctx context.Context, cmd redis.Cmder) error {
			if asked {
				return mute(ctx, cmd)
			}
			asked = true
			time.Sleep(d)
			return answer
		}
	}
	for _, row := range []struct {
		why    string
		client processor
		caller time.Duration // the caller's own deadline, if any
		want   time.Duration // at the least
	}{
		{"no answer at all", mute, 0, timeout},
		{"the script has to be sent too, and there is no answer to that", slow(reply("NOSCRIPT No matching script."), timeout*2/3), 0, timeout},
		{"the caller has less time", mute, timeout / 2, timeout / 2},
		{"the caller has more time", mute, timeout * 2, timeout},
	} {
		for _, crowd := range []int{1, 3, 1000} {
			synctest.Test(t, func(t *testing.T) {
				took := make(chan time.Duration)
				l, err := New(row.client, Config{
					Algorithm: Fixed, Limit: Limit{1, time.Minute}, OnFailure: FailOpen, Timeout: timeout,
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := range crowd {
					go func() {
						time.Sleep(time.Duration(i) * time.Millisecond / 10)
						ctx := context.WithValue(t.Context(), seat{}, i)
						if row.caller > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, row.caller)
							defer cancel()
						}
						start := time.Now()
						d, err := l.Allow(ctx, Request{Key: "k"})
						if err != nil || d.Source != SourceFailOpen || d.Cause == nil {
							t.Errorf("%s: got %+v, %v", row.why, d, err)
						}
						took <- time.Since(start)
					}()
				}
				for range crowd {
					d := <-took
					if d > row.want+timeout/16 {
						t.Errorf("%s, %d callers: took %s, want at most %s and a sixteenth", row.why, crowd, d, row.want)
					}
					if crowd == 1 && d < row.want {
						t.Errorf("%s: took %s, want %s", row.why, d, row.want)
					}
				}
			})
		}
	}
}

// TestBoundedContexts: what the client sees is the caller's context but for its
// end.
func TestBoundedContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := patience{length: time.Second}
		caller := context.WithValue(t.Context(), seat{}, 7)
		first, end := p.bound(caller, false)
		defer end()
		if first.Value(seat{}) != 7 {
			t.Error("lost the caller's values")
		}
		start := time.Now()
		if d, ok := first.Deadline(); !ok || !d.Equal(start.Add(time.Second)) {
			t.Errorf("deadline %v, want a second from now", d)
		}
		time.Sleep(time.Second / 32)
		second, end := p.bound(caller, false)
		defer end()
		if first.Done() != second.Done() {
			t.Error("two calls at about the same time have a timer each")
		}
		<-first.Done()
		if err := first.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		queued, end := p.bound(caller, true)
		defer end()
		gone, cancel := context.WithCancel(t.Context())
		left, end := p.bound(gone, true)
		defer end()
		cancel()
		synctest.Wait()
		if left.Err() == nil || queued.Err() != nil {
			t.Error("a queue is left by whom it should not, or not by whom it should")
		}
	})
}
