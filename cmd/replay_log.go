package cmd

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// recording is a part of a log, in the order of arrival.
type recording struct {
	requests []trace.Request
	summary  trace.Summary // of what was read of the log
}

// placed are the requests where they are within what stamps leave open.
func (r *recording) placed(spread string, random *rand.Rand) iter.Seq[trace.Request] {
	const batch = 8192
	return func(yield func(trace.Request) bool) {
		p := trace.Placer{Spread: trace.Spread(spread), Uncertainty: r.summary.Uncertainty, Random: random}
		for requests := range slices.Chunk(r.requests, batch) {
			for _, q := range p.Place(requests) {
				if !yield(q) {
					return
				}
			}
		}
		for _, q := range p.Rest() {
			if !yield(q) {
				return
			}
		}
	}
}

// clientsOf counts who sent requests.
func clientsOf(requests []scenarios.Recorded) int {
	seen := map[int32]bool{}
	for _, q := range requests {
		seen[q.Key] = true
	}
	return len(seen)
}

// log reads a part of a log of so many requests at most, or finds it read.
func (p *player) log(r scenarios.Replay, most int64, taken bool) (*recording, error) {
	what := fmt.Sprintf("%q %q %s %s %d", r.Trace, r.Format, r.Since, r.Until, most)
	if log := p.known[what]; log != nil {
		return log, nil
	}
	if slices.Contains(r.Trace, "-") {
		if taken || p.stdin {
			return nil, usagef("put the log into a file", "--trace -: standard input can be read once")
		}
		p.stdin = true
	}
	log, err := recorded(r, most, p.In)
	if err != nil {
		return nil, err
	}
	p.known[what] = log
	return log, nil
}

// recorded reads a part of a log, and no further than it has to.
func recorded(r scenarios.Replay, most int64, stdin io.Reader) (*recording, error) {
	in, err := trace.Open(r.Trace, trace.Options{Format: r.Format, Stdin: stdin})
	if err != nil {
		return nil, usage(fmt.Errorf("replay: %w", err), replayLogHint(err, r.Format))
	}
	defer in.Close()
	part := part{Replay: r, most: most}
	for {
		q, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, usage(fmt.Errorf("replay: %w", err), replayLogHint(err, r.Format))
		}
		if part.add(q) {
			break
		}
	}
	s := in.Summary()
	if whole := !r.Since.Present() && !r.Until.Present(); whole && 100*s.Late > s.Lines { // as many as may be broken
		return nil, usagef("sort the log by time, or give rotated files one by one, each with --trace", "replay %s: %d of %d lines are too far from their place in time: they would be left out", strings.Join(r.Trace, ", "), s.Late, s.Lines)
	}
	if err := part.refused(s); err != nil {
		return nil, err
	}
	return &recording{part.requests, s}, nil
}

// part collects the requests of a log that are within [since, until).
type part struct {
	scenarios.Replay
	most         int64
	requests     []trace.Request
	n            int64 // in the part, also those above the most
	since, until int64
	begun        bool
	last         int64
}

// add takes the next request of the log, and reports whether those behind it are of no
// interest any more.
func (p *part) add(q trace.Request) bool {
	if !p.begun {
		p.begun = true
		p.since, p.until = q.At, 1<<62
		if p.Since.Present() {
			p.since = p.Since.In(q.At, q.At)
		}
		if p.Until.Present() {
			p.until = p.Until.In(q.At, p.since+1)
		}
	}
	switch {
	case q.At >= p.until:
		return p.n > 0 // else the whole range of the log is of interest
	case q.At < p.since:
		return false
	case int64(len(p.requests)) < p.most:
		p.requests = append(p.requests, q)
		p.last = q.At
	case p.most < scenarios.MaxArrivals && q.At >= p.last+time.Second.Microseconds():
		return true // whatever is behind cannot be placed before
	case p.most < scenarios.MaxArrivals && len(p.requests) < scenarios.MaxArrivals: // of one second
		p.requests = append(p.requests, q)
	}
	p.n++
	return false
}

// refused is why nothing can be made of the part.
func (p *part) refused(s trace.Summary) error {
	what := "replay " + strings.Join(p.Trace, ", ")
	log := fmt.Sprintf("the log is from %s to %s", instant(s.From), instant(s.To))
	switch {
	case s.Requests == 0:
		return usagef("--trace access.log", "%s: there is no request in it", what)
	case p.since >= p.until:
		return usagef("--from 10m --to 20m", "%s: from %s on until %s is nothing; %s", what, instant(p.since), instant(p.until), log)
	case p.n == 0:
		return usagef("--from 0s takes it from its first request on", "%s: there is no request%s; %s", what, p.bounds(), log)
	case p.n > scenarios.MaxArrivals:
		return usagef("--from 0s --to 10m takes a part of it", "%s: %d requests%s, and a plan has %d at most; %s", what, p.n, p.bounds(), scenarios.MaxArrivals, log)
	}
	return nil
}

func (p *part) bounds() string {
	text := ""
	if p.Since.Present() {
		text += " from " + instant(p.since) + " on"
	}
	if p.Until.Present() {
		text += " until " + instant(p.until)
	}
	return text
}

// instant is a time of a log.
func instant(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339Nano) }
