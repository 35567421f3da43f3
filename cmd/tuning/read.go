package tuning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// between is how many requests are handled from one look at an interrupt to the next.
const between = 1 << 13

// record is a log that has been read.
type record struct {
	tape      *trace.Tape
	summary   trace.Summary
	directory *trace.Directory
	routes    []string // all, as they are called at the end of the log
	torn      error    // why not all of it was read
	seed      uint64
}

// ErrNoRoom is of a log that cannot be held: see trace.Tape.
var ErrNoRoom = errors.New("there is no room for the log")

// worth reports whether what was read before an error is worth looking at: the beginning of
// a file that is torn is, and not what is no log.
func (r *record) worth(err error) bool {
	for _, not := range []error{trace.ErrNotLog, trace.ErrBadLines, trace.ErrEmpty, ErrNoRoom} {
		if errors.Is(err, not) {
			return false
		}
	}
	return r.tape.Len() > 0
}

// read reads a log once, onto a tape. What was read is there with an error too.
func read(ctx context.Context, c *Config) (*record, error) {
	options := c.Trace
	options.Done = ctx.Done()
	r, err := trace.Open(c.Files, options)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	tape, err := trace.NewTape("")
	if err != nil {
		return nil, err
	}
	rec := &record{tape: tape, directory: r.Directory(), seed: c.Seed}
	total := sizeOf(c.Files)
	for n := int64(0); ; n++ {
		if n%between == 0 {
			if err = ctx.Err(); err != nil {
				break
			}
			c.tell("reading", r.Summary().Bytes, total)
		}
		var q trace.Request
		if q, err = r.Next(); err != nil {
			break
		}
		if err = tape.Add(q); err != nil {
			err = fmt.Errorf("%w: %w", ErrNoRoom, err)
			break
		}
	}
	rec.summary, rec.routes = r.Summary(), rec.directory.Routes()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rec, err
}

// sizeOf is how many bytes there are to read; 0 if that is not known.
func sizeOf(files []string) int64 {
	sum := int64(0)
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		sum += info.Size()
	}
	return sum
}

// play gives all requests in batches, with their clients' networks and final routes, each
// good until the next: placed within their second by a spread where nobody knows.
func (r *record) play(ctx context.Context, c *Config, what string, spread trace.Spread, take func([]simulator.Event, []trace.Request) error) error {
	placer := trace.Placer{Spread: spread, Random: rand.New(rand.NewPCG(r.seed, 1))}
	if r.summary.Seconds {
		placer.Uncertainty = r.summary.Uncertainty
	}
	var events []simulator.Event
	done := int64(0)
	give := func(requests []trace.Request) error {
		if len(requests) == 0 {
			return ctx.Err()
		}
		events = events[:0]
		for _, q := range requests {
			events = append(events, r.event(q))
		}
		done += int64(len(requests))
		c.tell(what, done, r.tape.Len())
		if err := ctx.Err(); err != nil {
			return err
		}
		return take(events, requests)
	}
	for batch, err := range r.tape.Play() {
		if err != nil {
			return err
		}
		if err := give(placer.Place(batch)); err != nil {
			return err
		}
	}
	return give(placer.Rest())
}

func (r *record) event(q trace.Request) simulator.Event {
	return simulator.Event{At: q.At, Client: q.Client, Network: r.directory.Network(q.Client), Route: r.directory.Route(q.Route)}
}

// tuned is the summary as a report has it.
func (r *record) tuned(files int) report.TunedLog {
	s := r.summary
	t := report.TunedLog{
		Files: files, Format: s.Format, Lines: s.Lines, Bytes: s.Bytes, Bad: s.Bad, Late: s.Late, Requests: r.tape.Len(),
		From: instant(s.From), Until: instant(s.To), WholeSeconds: s.Seconds, Arrivals: s.Arrivals, Limited: s.Refused, GapUS: s.Gap, GapFrom: instant(s.GapFrom),
		Clients: int64(r.directory.Clients()), Networks: int64(r.directory.Networks()), Routes: int64(len(r.routes)),
		Examples: []report.BadLine{},
	}
	for _, b := range s.Examples {
		t.Examples = append(t.Examples, report.BadLine{File: b.File, Line: b.Line, Why: b.Why})
	}
	return t
}

// describe says which log cannot be read; most errors name their file.
func (c *Config) describe(err error) error {
	if errors.Is(err, trace.ErrEmpty) {
		return fmt.Errorf("read the log: %s: %w", strings.Join(c.Files, ", "), err)
	}
	return fmt.Errorf("read the log: %w", err)
}
