package faulty

import (
	"context"
	"errors"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// called runs a script of the bundled convention with any number of keys.
type called struct {
	setting
	script  runnable
	anyCost bool // costs below 0 are sent too
}

// runnable is a script, however it comes to the server.
type runnable interface {
	Run(ctx context.Context, keys []string, args ...any) (any, error)
}

func withKeys(s setting) (limiter.Limiter, error) {
	return &called{setting: s, script: limiter.NewScript(s.client, s.algorithm.Script)}, nil
}

func withAnyCost(s setting) (limiter.Limiter, error) {
	return &called{setting: s, script: limiter.NewScript(s.client, s.algorithm.Script), anyCost: true}, nil
}

func (l *called) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.decide(ctx, r, "-")
}

// Peek answers what Allow would.
func (l *called) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.decide(ctx, r, "")
}

func (l *called) decide(ctx context.Context, r limiter.Request, nonce string) (limiter.Decision, error) {
	checked := r
	if l.anyCost {
		checked.Cost = max(r.Cost, 0)
	}
	if err := checked.Validate(); err != nil {
		return limiter.Decision{}, err
	}
	var now any = ""
	if !r.At.IsZero() {
		now = r.At.UnixMicro()
	}
	o := l.options
	reply, err := l.script.Run(ctx, l.keys(r.Key), now, o.Limit.Window.Microseconds(), o.Limit.Max, r.Units(), nonce, o.TTLFloor.Milliseconds())
	if err != nil {
		return limiter.Decision{}, err
	}
	return read(l.algorithm.Name, o.Limit, reply)
}

// read turns a reply of the scripts' convention into a decision.
func read(script string, l limiter.Limit, reply any) (limiter.Decision, error) {
	values, _ := reply.([]any)
	var n []int64
	for _, v := range values {
		if i, ok := v.(int64); ok {
			n = append(n, i)
		}
	}
	if len(n) != 5 || len(values) != 5 {
		return limiter.Decision{}, &limiter.ReplyError{Script: script, Err: errors.New("want 5 integers")}
	}
	d := limiter.Decision{
		Allowed: n[0] == 1, Limit: l.Max, Remaining: n[1], RetryAfter: micros(n[2]), ResetAfter: micros(n[3]),
		At: time.UnixMicro(n[4]).UTC(), Source: limiter.SourceRedis,
	}
	if n[2] < 0 {
		d.RetryAfter = limiter.Never
	}
	return d, nil
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
