package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
	"github.com/rlbench/rlbench/limiter/identity"
)

// decisionField carries the whole decision back to the tester, which judges it as
// it judges one of Redis. Nobody but the tester's own service sends it.
const decisionField = "Rlbench-Decision"

// told is the key of a request's decision in its context.
type told struct{}

// telling notes the decision of each request.
type telling struct{ httplimit.Decider }

func (t telling) Allow(ctx context.Context, j limiter.Joint) ([]limiter.Decision, error) {
	ds, err := t.Decider.Allow(ctx, j)
	if d, ok := ctx.Value(told{}).(*limiter.Decision); ok && err == nil && len(ds) > 0 {
		*d = ds[0]
	}
	return ds, err
}

// tell writes it.
func tell(w http.ResponseWriter, r *http.Request) {
	if d, ok := r.Context().Value(told{}).(*limiter.Decision); ok && d.Source != "" {
		w.Header().Set(decisionField, fmt.Sprintf("%t %d %d %d %d %d %s %s",
			d.Allowed, d.Limit, d.Remaining, d.RetryAfter.Nanoseconds(), d.ResetAfter.Nanoseconds(), d.At.UnixMicro(), d.Source, wordOf(d.Cause)))
	}
}

// parseDecision reads what tell wrote.
func parseDecision(text string) (limiter.Decision, error) {
	var d limiter.Decision
	var at int64
	var source, cause string
	// A newline at the end, or words after the last one would be overlooked.
	if _, err := fmt.Sscanf(text+"\n", "%t %d %d %d %d %d %s %s\n", &d.Allowed, &d.Limit, &d.Remaining, &d.RetryAfter, &d.ResetAfter, &at, &source, &cause); err != nil {
		return d, fmt.Errorf("read %s %q: %w", decisionField, text, err)
	}
	d.At, d.Source = time.UnixMicro(at).UTC(), limiter.Source(source)
	why, known := causes[cause]
	if !known {
		return d, fmt.Errorf("read %s %q: unknown cause %q", decisionField, text, cause)
	}
	d.Cause = why
	return d, nil
}

// causes are what can be told of the cause of a decision in a word.
var causes = map[string]error{
	"-":       nil,
	"unknown": limiter.ErrUnknown,
	"open":    limiter.ErrCircuitOpen,
	"busy":    limiter.ErrBusy,
	"error":   errors.New("asking Redis failed"),
}

// wordOf is the word for a cause.
func wordOf(cause error) string {
	switch {
	case cause == nil:
		return "-"
	case errors.Is(cause, limiter.ErrUnknown):
		return "unknown"
	case errors.Is(cause, limiter.ErrCircuitOpen):
		return "open"
	case errors.Is(cause, limiter.ErrBusy):
		return "busy"
	}
	return "error"
}

// asked is a service over HTTP as a limiter. What it admits includes the work that
// is behind the limiter.
type asked struct {
	client *http.Client
	url    string
}

// Allow sends a request in the name of a client, which is the part of the key
// before a slash.
func (a *asked) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return limiter.Decision{}, err
	}
	addr, _, _ := strings.Cut(r.Key, "/")
	request.Header.Set(identity.XForwardedFor, addr)
	response, err := a.client.Do(request)
	if err != nil {
		return limiter.Decision{}, fmt.Errorf("%w: %w", limiter.ErrUnknown, err)
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	text := response.Header.Get(decisionField)
	switch {
	case err != nil:
		return limiter.Decision{}, fmt.Errorf("%w: read the answer: %w", limiter.ErrUnknown, err)
	case text == "":
		return limiter.Decision{}, fmt.Errorf("%w: the service answered %s and tells no decision", limiter.ErrUnknown, response.Status)
	}
	d, err := parseDecision(text)
	switch {
	case err != nil:
		return limiter.Decision{}, err
	case d.Allowed && response.StatusCode >= http.StatusInternalServerError:
		return limiter.Decision{}, fmt.Errorf("%w: the service answered %s to a request that was admitted", limiter.ErrUnknown, response.Status)
	case d.Allowed == refuses(response.StatusCode, d.Source):
		return limiter.Decision{}, errors.New("the service answered " + response.Status + " to a decision that says " + text)
	}
	return d, nil
}

// refuses reports whether a status is how a decision is refused: when nobody knows
// of a quota that is exceeded it is 503.
func refuses(status int, by limiter.Source) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && by == limiter.SourceFailClosed
}

// freshKey is a random key for pseudonyms.
func freshKey() identity.Key {
	for {
		b := make([]byte, identity.MinKey)
		_, _ = rand.Read(b) // never fails: it ends the program instead
		// One in 10^10 looks as if it were not random.
		if key, err := identity.NewKey(b); err == nil {
			return key
		}
	}
}
