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

// Options of a Reader. The zero value detects the format, and waits a minute for lines
// that are out of order.
type Options struct {
	// Format is a name or a pattern, as Named takes them; "" detects it.
	Format string
	// Reorder is how far a line may be from its place. 0 means a minute.
	Reorder time.Duration
	// Held is how many requests wait for their place, at most; 0 means a million.
	Held int
	// Mask is what of an address makes a client.
	Mask identity.Mask
	// Stdin is read for the name "-".
	Stdin io.Reader
}

// Summary says what a reader has met so far.
type Summary struct {
	Format string
	Lines  int64 // without empty ones
	Bytes  int64 // read from files, compressed or not
	Bad    int64 // lines that are not of the format
	// Examples are the first bad lines. They say what is wrong, and not what is there.
	Examples []BadLine
	Late     int64 // lines too far from their place, which are left out
	Requests int64 // that were given away
	From, To int64 // arrivals of the first and the last, in µs since 1970
	// Seconds is whether all stamps are of whole seconds: where within, nobody knows.
	Seconds bool
	// Arrivals is whether stamps are of arrivals, by the format or because durations are
	// logged. Otherwise long responses look like late requests.
	Arrivals bool
	Refused  int64 // answered with 429: a limiter was at work already
}

// BadLine is one that could not be read.
type BadLine struct {
	File string
	Line int64 // from 1 on, over all files
	Why  string
}

// Reader gives the requests of a log in the order of their arrival.
//
// It is for one goroutine.
type Reader struct {
	format    Format
	source    source
	sample    []logLine // read to detect the format, and not yet used
	directory *Directory
	order     order
	summary   Summary
	completed int64 // requests whose stamp is that of completion
	whole     bool  // all stamps are of whole seconds so far
	end       error // after the last request
}

// logLine is one line of a file.
type logLine struct {
	text []byte
	long bool
	file string
}

const (
	sampled      = 200 // lines that tell the format
	sampledBytes = 4 << 20
	mostExamples = 5
)

// Open begins to read files, one after another: plain, gzip or zstd, "-" is standard
// input. Close it.
func Open(names []string, o Options) (*Reader, error) {
	if o.Reorder < 0 || o.Held < 0 {
		return nil, fmt.Errorf("reorder %s, held %d: want none below 0", o.Reorder, o.Held)
	}
	for _, addr := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if _, err := identity.Canonical(addr, o.Mask); err != nil {
			return nil, err
		}
	}
	r := &Reader{source: source{names: names, stdin: o.Stdin}, directory: newDirectory(o.Mask), whole: true}
	r.order = order{span: time.Minute.Microseconds(), most: 1_000_000}
	if o.Reorder > 0 {
		r.order.span = o.Reorder.Microseconds()
	}
	if o.Held > 0 {
		r.order.most = o.Held
	}
	var err error
	if o.Format != "" {
		r.format, err = Named(o.Format)
	} else {
		err = r.detect()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.summary.Format = r.format.Name
	return r, nil
}

// detect reads ahead.
func (r *Reader) detect() error {
	var texts [][]byte
	for size := 0; len(texts) < sampled && size < sampledBytes; {
		line, err := r.source.next()
		if err != nil {
			r.end = err
			break
		}
		if len(line) > 0 {
			texts = append(texts, bytes.Clone(line))
			r.sample = append(r.sample, logLine{texts[len(texts)-1], r.source.skipped, r.source.name})
			size += len(line)
		}
	}
	switch {
	case len(texts) > 0:
		var err error
		r.format, err = detect(texts)
		return err
	case errors.Is(r.end, io.EOF):
		return errors.New("the log is empty")
	default:
		return r.end
	}
}

// Directory is who the numbers of requests are.
func (r *Reader) Directory() *Directory { return r.directory }

// Summary is what was met until now; all of it is true after io.EOF.
func (r *Reader) Summary() Summary {
	s := r.summary
	s.Bytes, s.Late, s.Seconds = r.source.size, r.order.late, r.whole && s.Requests > 0
	s.Arrivals = r.completed == 0
	return s
}

// Close ends reading.
func (r *Reader) Close() error {
	if r.source.lines == nil {
		return nil
	}
	r.source.lines = nil
	return r.source.close()
}

// Next is the next arrival. After the last one it is io.EOF, or what is wrong with a file:
// what was read until then has been given.
func (r *Reader) Next() (Request, error) {
	for {
		if q, ok := r.order.next(r.end != nil && len(r.sample) == 0); ok {
			if r.summary.Requests == 0 {
				r.summary.From = q.At
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
			return Request{}, r.end
		default:
			line, err := r.source.next()
			if r.end = err; err == nil && len(line) > 0 {
				r.take(logLine{line, r.source.skipped, r.source.name})
			}
		}
	}
}

// take reads one line into the order.
func (r *Reader) take(line logLine) {
	r.summary.Lines++
	var found record
	err := r.format.lines.read(line.text, &found)
	if line.long {
		err = fmt.Errorf("longer than %d bytes", LongestLine)
	}
	if err != nil {
		r.summary.Bad++
		if len(r.summary.Examples) < mostExamples {
			r.summary.Examples = append(r.summary.Examples, BadLine{line.file, r.summary.Lines, err.Error()})
		}
		return
	}
	at := found.stamp
	r.whole = r.whole && at%second == 0
	switch {
	case r.format.Completion && found.has&fieldDuration != 0:
		at -= found.duration
	case r.format.Completion:
		r.completed++
	}
	if found.status == 429 {
		r.summary.Refused++
	}
	r.order.add(Request{
		At: at, Line: r.summary.Lines, Client: r.directory.client(found.client),
		Route: r.directory.route(found.method, found.target), Status: uint16(found.status),
	})
}
