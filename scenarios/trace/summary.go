package trace

import (
	"errors"
	"fmt"
	"strings"
)

// What may be wrong with a log as a whole; test for it with errors.Is.
var (
	// ErrNotLog is of a file in which there is no line of a log.
	ErrNotLog = errors.New("this is no access log")
	// ErrEmpty is of a log without any line.
	ErrEmpty = errors.New("the log is empty")
	// ErrXZ is of a file that is compressed in a way that is not read here.
	ErrXZ = errors.New("it is compressed by xz")
	// ErrTwice is of a file that is given twice, or of a copy of one: all that is in both
	// would count twice.
	ErrTwice = errors.New("the same log twice")
	// ErrBadLines is of a log in which more lines are broken than Options.MaxBad allows.
	ErrBadLines = errors.New("too many lines cannot be read")
)

// Summary says what a reader has met so far.
type Summary struct {
	// Format is its name, or the pattern; of CSV and JSON it has the names of fields that
	// were found, as Named takes them.
	Format string
	// Sampled lines were looked at to find the format, and Agreed of them are of it. Both
	// are 0 for a format that was named.
	Sampled, Agreed int
	// Files in the order in which they are read: that of their first stamps, unless
	// one of them cannot be read twice. Sorted is whether that is another order than the one given.
	Files  []string
	Sorted bool
	Lines  int64 // without empty ones, and headers of CSV
	Bytes  int64 // read from files, compressed or not
	Bad    int64 // lines that are not of the format
	// Examples are the first bad lines, at most 5. They say what is wrong, and not what is there.
	Examples []BadLine
	Late     int64 // lines too far from their place, which are left out
	Latest   int64 // how far the farthest of them is behind, in µs: Options.Reorder has to be more
	Requests int64 // that were given away
	From, To int64 // arrivals of the first and the last, in µs since 1970
	// Gap is the longest time without an arrival, in µs, which began at GapFrom.
	Gap, GapFrom int64
	// Uncertainty of all arrivals in µs: one is at Request.At or later, but by less than
	// this. It is a second where stamps are of whole seconds, and where durations are that are taken off; 1000
	// where they are of whole milliseconds; otherwise 1.
	Uncertainty int64
	// Seconds is whether Uncertainty is a second: where within, nobody knows.
	Seconds bool
	// Arrivals is whether stamps are of arrivals, by the format or because durations are
	// logged. Otherwise long responses look like late requests.
	Arrivals bool
	Refused  int64 // answered with 429: a limiter was at work already
}

// BadLine is one that could not be read.
type BadLine struct {
	File string
	Line int64 // of the file, from 1 on, as an editor counts
	Why  string
}

func (b BadLine) String() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why) }

// tooMany is what is wrong with a log of which so many lines are bad.
func (s Summary) tooMany(share float64) error {
	if float64(s.Bad) <= share*float64(s.Lines) {
		return nil
	}
	var examples []string
	for _, b := range s.Examples {
		examples = append(examples, b.String())
	}
	return fmt.Errorf("%w as %s: %d of %d, and at most %g %% may be broken; the first: %s",
		ErrBadLines, s.Format, s.Bad, s.Lines, 100*share, strings.Join(examples, "; "))
}

// grain is the coarsest step that all of some numbers of microseconds are multiples of:
// a second, a millisecond, or one.
type grain struct{ fine, millis bool }

func (g *grain) add(us int64) {
	if g.fine || us%second == 0 {
		return
	}
	g.millis = true
	g.fine = us%1000 != 0
}

func (g grain) step() int64 {
	switch {
	case g.fine:
		return 1
	case g.millis:
		return 1000
	default:
		return second
	}
}
