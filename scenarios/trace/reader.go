package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/rlbench/rlbench/limiter/identity"
)

// Options of a Reader. The zero value detects the format, waits a minute for lines that
// are out of order, and allows one line in a hundred to be broken.
type Options struct {
	// Format is a name, a pattern or names of fields, as Named takes them; "" detects it.
	Format string
	// Reorder is how far a line may be from its place. 0 means a minute.
	Reorder time.Duration
	// Held is how many requests wait for their place, at most; 0 means a million.
	Held int
	// MaxBad is the share of lines that may be broken, from 0 to 1. 0 means 0.01; 1, and
	// what is below 0, any.
	MaxBad float64
	// Mask is what of an address makes a client.
	Mask identity.Mask
	// Stdin is read for the name "-".
	Stdin io.Reader
	// Done ends waiting for a pipe that gives nothing, with ErrStopped. Nil waits.
	Done <-chan struct{}
}

// Reader gives the requests of a log in the order of their arrival.
//
// It is for one goroutine.
type Reader struct {
	format    Format
	maxBad    float64
	merge     merge
	sample    []logLine // read to detect the format, and not yet used
	directory *Directory
	order     order
	summary   Summary
	completed int64 // requests whose stamp is that of completion
	stamps    grain
	durations grain // of those that were taken off
	taken     bool  // off any stamp
	end       error // after the last request
}

const (
	mostExamples = 5
	hopeless     = 1000 // lines, none of which can be read
	longest      = 30 * 24 * time.Hour / time.Microsecond
)

// Open begins to read files: plain, gzip or zstd, "-" is standard input. Files that can be
// read twice are read in the order of their stamps, be they of a rotation, which numbers them
// the other way, or of several servers at a time; otherwise one after another. A log without lines is ErrEmpty, and one without a line of a
// known format ErrNotLog. Close the reader.
func Open(names []string, o Options) (*Reader, error) {
	switch {
	case o.Reorder < 0 || o.Held < 0:
		return nil, fmt.Errorf("reorder %s, held %d: want none below 0", o.Reorder, o.Held)
	case o.MaxBad != o.MaxBad || o.MaxBad > 1:
		return nil, fmt.Errorf("share of bad lines %g: want 0 to 1", o.MaxBad)
	case len(names) == 0:
		return nil, errors.New("read a log: no file is named")
	}
	for _, addr := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if _, err := identity.Canonical(addr, o.Mask); err != nil {
			return nil, err
		}
	}
	r := &Reader{directory: newDirectory(o.Mask), maxBad: o.MaxBad}
	r.order = order{span: time.Minute.Microseconds(), most: 1_000_000}
	if o.Reorder > 0 {
		r.order.span = o.Reorder.Microseconds()
	}
	if o.Held > 0 {
		r.order.most = o.Held
	}
	if o.MaxBad == 0 {
		r.maxBad = 0.01
	}
	r.merge.span = r.order.span
	if err := r.begin(source{names: names, stdin: o.Stdin, done: o.Done}, o.Format); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Directory is who the numbers of requests are.
func (r *Reader) Directory() *Directory { return r.directory }

// Summary is what was met until now; all of it is true when Next has given an error.
func (r *Reader) Summary() Summary {
	s := r.summary
	s.Bytes, s.Late, s.Latest, s.Uncertainty = r.merge.bytes(), r.order.late, r.order.latest, r.stamps.step()
	if r.taken {
		s.Uncertainty = max(s.Uncertainty, r.durations.step())
	}
	s.Seconds = s.Uncertainty == second && s.Requests > 0
	s.Arrivals = r.completed == 0
	return s
}

// Close ends reading.
func (r *Reader) Close() error { return r.merge.close() }

// Next is the next arrival. After the last one it is io.EOF, or what is wrong: with a file,
// after what was read until then has been given; ErrBadLines; ErrEmpty. ErrNotLog comes when
// the first thousand lines are not of the format.
func (r *Reader) Next() (Request, error) {
	for {
		if q, ok := r.order.next(r.end != nil && len(r.sample) == 0); ok {
			if r.summary.Requests == 0 {
				r.summary.From = q.At
			} else if gap := q.At - r.summary.To; gap > r.summary.Gap {
				r.summary.Gap, r.summary.GapFrom = gap, r.summary.To
			}
			r.summary.Requests++
			r.summary.To = q.At
			return q, nil
		}
		switch {
		case len(r.sample) > 0:
			line := r.sample[0]
			r.sample = r.sample[1:]
			r.take(line)
		case r.end != nil:
			return Request{}, r.verdict()
		default:
			line, err := r.merge.next()
			if r.end = err; err == nil {
				r.take(line)
			}
		}
	}
}

// verdict is on a whole log.
func (r *Reader) verdict() error {
	switch {
	case !errors.Is(r.end, io.EOF):
		return r.end
	case r.summary.Lines == 0:
		return ErrEmpty
	case r.maxBad >= 0 && r.maxBad < 1:
		if err := r.summary.tooMany(r.maxBad); err != nil {
			return err
		}
	}
	return r.end
}

// take reads one line into the order.
func (r *Reader) take(line logLine) {
	lines := line.part.reader
	if header, err := headerOf(lines, line); header {
		if err != nil {
			r.sample, r.end = nil, err
		}
		return
	}
	r.summary.Lines++
	var found record
	err := lines.read(line.text, &found)
	switch {
	case line.long:
		err = fmt.Errorf("longer than %d bytes", LongestLine)
	case err == nil && found.duration > int64(longest):
		err = errors.New("a duration of more than 30 days")
	}
	if err != nil {
		r.bad(line, err)
		return
	}
	at := found.stamp
	line.part.at = at
	timed := r.format.Completion && found.has&fieldDuration != 0
	if timed {
		at -= found.duration
	}
	if !r.order.takes(at) {
		return
	}
	r.stamps.add(found.stamp)
	switch {
	case timed:
		r.durations.add(found.duration)
		r.taken = r.taken || found.duration != 0 // of nothing but zeros nothing was taken off
	case r.format.Completion:
		r.completed++
	}
	if found.status == 429 {
		r.summary.Refused++
	}
	client := r.directory.client(found.client)
	r.order.add(Request{
		At: at, Line: r.summary.Lines, Client: client,
		Route: r.directory.routes.number(found.method, found.target, client, found.status), Status: uint16(found.status),
	})
}

// bad counts a line that could not be read, and gives up when there is no other.
func (r *Reader) bad(line logLine, err error) {
	r.summary.Bad++
	if len(r.summary.Examples) < mostExamples {
		if other := lookalike(line.text); other != "" && other != r.format.Name && !line.long {
			err = fmt.Errorf("looks like %s", other)
		}
		r.summary.Examples = append(r.summary.Examples, BadLine{line.file, line.number, err.Error()})
	}
	if r.summary.Bad == hopeless && r.summary.Lines == hopeless {
		r.sample = nil
		r.end = fmt.Errorf("%s: %w: none of the first %d lines is %s (%s)", line.file, ErrNotLog, hopeless, r.format.Name, r.summary.Examples[0])
		if bytes.IndexByte(line.text, 0) >= 0 {
			r.end = fmt.Errorf("%s: %w: it is binary", line.file, ErrNotLog)
		}
	}
}
