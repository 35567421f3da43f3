package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Play is all requests in batches of up to 8192, each good until the next. An error is the
// last that comes: what was before it is true.
func (t *Tape) Play() iter.Seq2[[]Request, error] { return t.play(math.MinInt64, math.MaxInt64, true) }

// Between is the requests that arrived in [from, to), in µs since 1970, as Play gives
// them. No more is read than two blocks around those.
func (t *Tape) Between(from, to int64) iter.Seq2[[]Request, error] { return t.play(from, to, false) }

// play gives what arrived in [from, to), or all from then on.
func (t *Tape) play(from, to int64, all bool) iter.Seq2[[]Request, error] {
	return func(yield func([]Request, error) bool) {
		if t.file == nil && errors.Is(t.err, ErrClosed) {
			yield(nil, ErrClosed)
			return
		}
		// Equal arrivals may reach over several blocks; the first of them may be in the block
		// before the first that begins with one.
		i, _ := slices.BinarySearch(t.starts, from)
		var raw []byte
		requests := make([]Request, 0, batch)
		for i = max(0, i-1); i < len(t.starts) && (all || t.starts[i] < to); i++ {
			block, err := t.block(i, &raw)
			if err != nil {
				yield(nil, err)
				return
			}
			requests = requests[:0]
			for ; len(block) > 0; block = block[recordSize:] {
				if q := decode(block); q.At >= from && (all || q.At < to) {
					requests = append(requests, q)
				}
			}
			if len(requests) > 0 && !yield(requests, nil) {
				return
			}
		}
	}
}

// block is the bytes of one, in raw where they have to be read.
func (t *Tape) block(i int, raw *[]byte) ([]byte, error) {
	switch {
	case i < len(t.blocks):
		return t.blocks[i], nil
	case i == len(t.starts)-1:
		return t.tail, nil
	}
	if *raw == nil {
		*raw = make([]byte, batch*recordSize)
	}
	if _, err := t.file.ReadAt(*raw, int64(i-len(t.blocks))*batch*recordSize); err != nil {
		return nil, fmt.Errorf("read requests %d to %d from a file in %s: %w", int64(i)*batch+1, int64(i+1)*batch, t.dir, err)
	}
	return *raw, nil
}

func decode(b []byte) Request {
	line := binary.LittleEndian.Uint64(b[8:])
	return Request{
		At: int64(binary.LittleEndian.Uint64(b)), Line: int64(line >> 16), Status: uint16(line),
		Client: binary.LittleEndian.Uint32(b[16:]), Route: binary.LittleEndian.Uint32(b[20:]),
	}
}
