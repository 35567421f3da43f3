package limitertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Run sends the case to a limiter and reports every answer that is not the
// expected one as file:line.
//
// open is called for each limit of the case. The limiters that it returns share
// one state, which is empty at the start. Lines that peek are left out for
// limiters that cannot; a case that resets one that cannot is a Skip.
func (c Case) Run(ctx context.Context, open func(limiter.Limit) (limiter.Limiter, error)) error {
	var f faults
	var l limiter.Limiter
	for _, s := range c.steps {
		where := fmt.Sprintf("%s:%d (%s)", c.file, s.line, c.Name)
		switch s.op {
		case opLimit:
			var err error
			if l, err = open(s.limit); err != nil {
				return fmt.Errorf("%s: open a limiter of %s: %w", where, s.limit, err)
			}
		case opReset:
			r, ok := l.(Resetter)
			if !ok && len(f) == 0 {
				return Skip("the limiter has no Reset")
			}
			if !ok {
				return f.join()
			}
			f.add(r.Reset(ctx, s.request))
		default:
			if err := s.send(ctx, l, c.base); err != nil {
				f.add(fmt.Errorf("%s: %w", where, err))
			}
		}
	}
	return f.join()
}

// send sends a request as often as its line says, up to the first wrong answer.
func (s step) send(ctx context.Context, l limiter.Limiter, base time.Time) error {
	ask := l.Allow
	if s.op == opPeek {
		p, ok := l.(Peeker)
		if !ok {
			return nil
		}
		ask = p.Peek
	}
	for i := range s.repeat {
		r, want := s.request, s.want
		r.At = r.At.Add(time.Duration(i) * s.every)
		want.At = r.At
		got, err := ask(ctx, r)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", row(base, r, s.want), err)
		case i < s.repeat-1 && got.Allowed == want.Allowed:
			continue // only the last one has the numbers
		case different(want, got):
			return fmt.Errorf("repetition %d:\n\twant %s\n\tgot  %s", i+1, row(base, r, want), row(base, r, got))
		}
	}
	return nil
}

// different ignores who decided and why.
func different(want, got limiter.Decision) bool {
	got.Source, got.Cause = want.Source, want.Cause
	at := got.At.Equal(want.At)
	got.At = want.At
	return !at || got != want
}

// row writes a request and its answer as a line of vectors.
func row(base time.Time, r limiter.Request, d limiter.Decision) string {
	verdict, retry := "deny ", "never"
	if d.Allowed {
		verdict = "allow"
	}
	if d.RetryAfter != limiter.Never {
		retry = limiter.FormatDuration(d.RetryAfter)
	}
	line := fmt.Sprintf("%s  %s  %d  %s  %d  %s  %s", offset(r.At.Sub(base)), strconv.Quote(r.Key), r.Units(),
		verdict, d.Remaining, retry, limiter.FormatDuration(d.ResetAfter))
	if !d.At.Equal(r.At) {
		line += " at " + offset(d.At.Sub(base))
	}
	return line + " of " + strconv.FormatInt(d.Limit, 10)
}

func offset(d time.Duration) string {
	if d < 0 {
		return limiter.FormatDuration(d)
	}
	return "+" + limiter.FormatDuration(d)
}

// Skip is the error of a check that does not apply, with the reason.
type Skip string

func (s Skip) Error() string { return "not applicable: " + string(s) }

// faults collects what a check found, and stops at a number that people read.
type faults []error

const maxFaults = 8

func (f *faults) add(err error) {
	if err != nil && len(*f) < maxFaults {
		*f = append(*f, err)
	}
}

func (f *faults) addf(format string, args ...any) { f.add(fmt.Errorf(format, args...)) }

func (f *faults) join() error { return errors.Join(*f...) }
