package limitertest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Case is a group of vectors: requests against one limiter that starts empty,
// and the answers that the definition of its algorithm demands.
type Case struct {
	Name string // unique in its file
	Why  string // one sentence: what the case stresses

	file  string
	base  time.Time
	steps []step
}

// A step is one line of a case: a request, a reset or a new limit.
type step struct {
	line int
	op   op

	limit   limiter.Limit   // of opLimit
	request limiter.Request // the key alone for opReset
	repeat  int
	every   time.Duration
	want    limiter.Decision // of opAllow and opPeek
}

type op int

const (
	opAllow op = iota
	opPeek
	opReset
	opLimit
)

// Read parses a file of vectors and reports everything that is wrong with it,
// each fault as file:line.
//
// Lines, with # starting a comment:
//
//	base 2026-01-01T00:00:00Z   the instant that others are relative to: for the
//	                            file, or inside a case for the case
//	case NAME                   starts a case
//	why  SENTENCE.              what the case stresses; required
//	limit 100/1m                the limit from here on; within a case its window
//	                            stays, and what was used is kept
//	reset KEY                   forgets what the key used
//	[repeat N [every D]] [peek] AT KEY COST VERDICT REMAINING RETRY RESET
//
// AT is relative to the base, +1m-1µs is one tick before the minute. Durations
// may be sums too. VERDICT is allow or deny, RETRY may be never. A repeated line
// is sent N times, D apart (default: in the same instant): every answer has the
// verdict, and the last one has the numbers.
//
// The base must be a multiple of every window that is used with it, so that the
// offsets show where the edges are.
func Read(fsys fs.FS, name string) ([]Case, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read vectors: %w", err)
	}
	r := reader{file: name, names: map[string]bool{}}
	for i, line := range strings.Split(string(text), "\n") {
		r.line = i + 1
		r.read(line)
	}
	r.endCase()
	if len(r.cases) == 0 && len(r.errs) == 0 {
		r.errs = append(r.errs, fmt.Errorf("%s: no case", name))
	}
	return r.cases, errors.Join(r.errs...)
}

// reader is the state of Read between two lines.
type reader struct {
	file  string
	line  int
	base  time.Time
	names map[string]bool
	cases []Case
	open  *Case
	limit limiter.Limit // of the open case; zero before its first
	errs  []error
}

func (r *reader) read(line string) {
	content, _, _ := strings.Cut(line, "#")
	fields := strings.Fields(content)
	if len(fields) == 0 {
		return
	}
	if err := r.directive(fields); err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s:%d: %w: %q", r.file, r.line, err, strings.TrimSpace(line)))
	}
}

func (r *reader) directive(fields []string) error {
	word, rest := fields[0], fields[1:]
	switch {
	case word == "base":
		return r.readBase(rest)
	case word == "case":
		return r.startCase(rest)
	case r.open == nil:
		return errors.New("want base or case first")
	case word == "why":
		return r.readWhy(rest)
	case word == "limit":
		return r.readLimit(rest)
	case r.limit.Window == 0:
		return errors.New("want a limit before the first request")
	case word == "reset":
		if len(rest) != 1 {
			return errors.New("want reset KEY")
		}
		r.add(step{op: opReset, request: limiter.Request{Key: rest[0]}})
		return nil
	default:
		s, err := readRow(fields, r.open.base, r.limit)
		if err == nil {
			r.add(s)
		}
		return err
	}
}

func (r *reader) add(s step) {
	s.line = r.line
	r.open.steps = append(r.open.steps, s)
}

func (r *reader) readBase(rest []string) error {
	if len(rest) != 1 {
		return errors.New("want base INSTANT")
	}
	base, err := time.Parse(time.RFC3339, rest[0])
	switch {
	case err != nil:
		return errors.New("want an instant such as 2026-01-01T00:00:00Z")
	case r.open == nil:
		r.base = base
	case r.limit.Window != 0:
		return errors.New("want the base before the limit")
	default:
		r.open.base = base
	}
	return nil
}

func (r *reader) startCase(rest []string) error {
	r.endCase()
	r.open = &Case{Name: strings.Join(rest, " "), file: r.file, base: r.base}
	r.limit = limiter.Limit{}
	switch {
	case len(rest) != 1:
		return errors.New("want case NAME, without spaces")
	case r.names[rest[0]]:
		return errors.New("a case of this name exists")
	}
	r.names[rest[0]] = true
	return nil
}

// endCase closes the open case, if any.
func (r *reader) endCase() {
	c := r.open
	r.open = nil
	if c == nil {
		return
	}
	if c.Why == "" {
		r.errs = append(r.errs, fmt.Errorf("%s: case %q has no why", r.file, c.Name))
	}
	if len(c.steps) < 2 {
		r.errs = append(r.errs, fmt.Errorf("%s: case %q has no request", r.file, c.Name))
	}
	r.cases = append(r.cases, *c)
}

func (r *reader) readWhy(rest []string) error {
	why := strings.Join(rest, " ")
	if r.open.Why != "" {
		return errors.New("the case has a why already")
	}
	if !strings.HasSuffix(why, ".") {
		return errors.New("want a sentence that ends with a full stop")
	}
	r.open.Why = why
	return nil
}

func (r *reader) readLimit(rest []string) error {
	if len(rest) != 1 {
		return errors.New("want limit COUNT/WINDOW")
	}
	l, err := limiter.ParseLimit(rest[0])
	switch {
	case err != nil:
		return err
	case r.open.base.IsZero():
		return errors.New("want a base before the limit")
	case r.limit.Window != 0 && l.Window != r.limit.Window:
		return fmt.Errorf("the window was %s: a case keeps its window", limiter.FormatDuration(r.limit.Window))
	case r.open.base.UnixMicro()%l.Window.Microseconds() != 0:
		return fmt.Errorf("base %s is not a multiple of the window", r.open.base.Format(time.RFC3339))
	}
	r.limit = l
	r.add(step{op: opLimit, limit: l})
	return nil
}
