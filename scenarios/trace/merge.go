package trace

import (
	"bytes"
	"errors"
	"io"
)

// merge reads the lines of files: one after another, and where times overlap, as they do of
// several servers, whichever has the earlier line next.
type merge struct {
	waiting []*part // not begun, the one with the first stamp first
	open    []*part
	span    int64 // µs by which a line is too far ahead to be believed alone
	size    int64 // of what was read of files that are closed
}

// part is a file, or several that are read one after another.
type part struct {
	source
	reader lineReader // that knows the header of this file
	first  int64      // its first stamp
	at     int64      // of the line at hand, or of the last one that had a stamp

	line  logLine // at hand, if ready
	ready bool
	ahead []logLine // read to believe the one at hand
	err   error     // behind them
}

// next is the earliest line, good until the next call; io.EOF after the last.
func (m *merge) next() (logLine, error) {
	for {
		m.begin()
		if len(m.open) == 0 {
			return logLine{}, io.EOF
		}
		if p := m.open[0]; len(m.open) == 1 && !p.ready {
			line, err := p.following()
			if err == nil {
				line.part = p
				return line, nil
			}
			p.err = err
		}
		if p, err := m.earliest(); p != nil || err != nil {
			if err != nil {
				return logLine{}, err
			}
			p.ready = false
			return p.line, nil
		}
	}
}

// begin opens what begins before the earliest line at hand. A file alone has no line at hand:
// then it is the last one that was given, which is near enough to those that overlap.
func (m *merge) begin() {
	for len(m.waiting) > 0 {
		for _, p := range m.open {
			if p.at < m.waiting[0].first {
				return
			}
		}
		m.open, m.waiting = append(m.open, m.waiting[0]), m.waiting[1:]
	}
}

// earliest is the file with the earliest line. Files that have ended are closed; nil if all
// have.
func (m *merge) earliest() (best *part, err error) {
	kept := m.open[:0]
	for _, p := range m.open {
		err := p.fill(m.span)
		if errors.Is(err, io.EOF) {
			m.size += p.size
			continue
		}
		if err != nil {
			return nil, err
		}
		if kept = append(kept, p); best == nil || p.at < best.at {
			best = p
		}
	}
	m.open = kept
	return best, nil
}

// fill reads the next line, if none is at hand. One that is far ahead of the one before is
// believed if the line behind it agrees, and else comes next.
func (p *part) fill(span int64) error {
	if p.ready {
		return nil
	}
	line, err := p.following()
	if err != nil {
		return err
	}
	at, ok := p.stamp(line)
	if ok && at > p.at+span {
		line.text = bytes.Clone(line.text)
		if behind, err := p.following(); err != nil {
			p.err = err
		} else {
			other, stamped := p.stamp(behind)
			ok = stamped && other >= at-span
			p.ahead = append(p.ahead, behind)
		}
	}
	if ok {
		p.at = at
	}
	line.part = p
	p.line, p.ready = line, true
	return nil
}

// following is the next line of the file: one that was read before, or else a new one.
func (p *part) following() (logLine, error) {
	if len(p.ahead) > 0 {
		line := p.ahead[0]
		p.ahead = p.ahead[:0]
		return line, nil
	}
	if p.err != nil {
		return logLine{}, p.err
	}
	return p.source.next()
}

// stamp is when a line says that it is of. Headers and what cannot be read say nothing.
func (p *part) stamp(line logLine) (int64, bool) {
	var found record
	if header, _ := headerOf(p.reader, line); header || line.long || p.reader.read(line.text, &found) != nil {
		return 0, false
	}
	return found.stamp, true
}

// bytes that were read of all files.
func (m *merge) bytes() int64 {
	sum := m.size
	for _, p := range m.open {
		sum += p.size
	}
	return sum
}

func (m *merge) close() error {
	var errs []error
	for _, p := range m.open {
		if p.source.lines != nil {
			p.source.lines = nil
			errs = append(errs, p.source.close())
		}
	}
	m.open, m.waiting = nil, nil
	return errors.Join(errs...)
}
