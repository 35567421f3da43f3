package scenarios

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// record is a Result without pointers, so that it can be written as it is and the
// garbage collector need not look at it: planned, sent, done; the limit, what remains,
// both waits, the instant in microseconds; and a word of what is small.
type record [9]uint64

const recordBytes = 8 * 9

// The parts of the last word, from below: is it admitted and a shadow's, the outcome,
// and the places of the source, the error and the cause.
const (
	allowedBit, shadowBit                                  = 1, 2
	outcomeShift, sourceShift, errShift, causeShift        = 2, 5, 16, 40
	outcomeMask, sourceMask, errMask                uint64 = 1<<3 - 1, 1<<11 - 1, 1<<24 - 1
)

func (l *Log) pack(r Result) record {
	d := r.Decision
	small := uint64(r.Outcome) << outcomeShift
	if d.Allowed {
		small |= allowedBit
	}
	if d.Shadow {
		small |= shadowBit
	}
	if d.Source != "" {
		small |= l.sources.place(d.Source, sourceMask) << sourceShift
	}
	if r.Err != nil {
		small |= l.errs.place(r.Err, errMask) << errShift
	}
	if d.Cause != nil {
		small |= l.errs.place(d.Cause, errMask) << causeShift
	}
	return record{
		uint64(r.Planned), uint64(r.Sent), uint64(r.Done),
		uint64(d.Limit), uint64(d.Remaining), uint64(d.RetryAfter), uint64(d.ResetAfter), uint64(d.At.UnixMicro()), small,
	}
}

func (l *Log) unpack(r *record) Result {
	small := r[8]
	if *r == (record{}) {
		return Result{} // never set
	}
	return Result{
		Planned: time.Duration(r[0]), Sent: time.Duration(r[1]), Done: time.Duration(r[2]),
		Outcome: Outcome(small >> outcomeShift & outcomeMask),
		Err:     l.errs.at(small >> errShift & errMask),
		Decision: limiter.Decision{
			Allowed: small&allowedBit != 0, Limit: int64(r[3]), Remaining: int64(r[4]),
			RetryAfter: time.Duration(r[5]), ResetAfter: time.Duration(r[6]), At: time.UnixMicro(int64(r[7])).UTC(),
			Source: l.sources.at(small >> sourceShift & sourceMask), Cause: l.errs.at(small >> causeShift & errMask),
			Shadow: small&shadowBit != 0,
		},
	}
}

func encode(records []record) []byte {
	bytes := make([]byte, 0, len(records)*recordBytes)
	for i := range records {
		for _, word := range records[i] {
			bytes = binary.LittleEndian.AppendUint64(bytes, word)
		}
	}
	return bytes
}

func decode(bytes []byte) (r record) {
	for i := range r {
		r[i] = binary.LittleEndian.Uint64(bytes[8*i:])
	}
	return r
}

// interned keeps one of all values of one text. Place 0 is none.
type interned[T any] struct {
	text   func(T) string
	mutex  sync.RWMutex
	places map[string]uint64
	values []T
}

// place is where a value is, most at most: what comes later shares the last place.
func (n *interned[T]) place(value T, most uint64) uint64 {
	text := n.text(value)
	n.mutex.RLock()
	place := n.places[text]
	n.mutex.RUnlock()
	if place > 0 {
		return place
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if place = n.places[text]; place > 0 {
		return place
	}
	if uint64(len(n.values)) == most {
		return most
	}
	if n.places == nil {
		n.places = map[string]uint64{}
	}
	n.values = append(n.values, value)
	place = uint64(len(n.values))
	n.places[text] = place
	return place
}

func (n *interned[T]) at(place uint64) (value T) {
	if place == 0 {
		return value
	}
	n.mutex.RLock()
	defer n.mutex.RUnlock()
	return n.values[place-1]
}
