package trace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// newTape is one that holds so many requests in memory, with some added.
func newTape(t testing.TB, most int, requests ...Request) *Tape {
	t.Helper()
	tape, err := NewTape(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tape.most = most
	t.Cleanup(func() { _ = tape.Close() })
	for _, q := range requests {
		if err := tape.Add(q); err != nil {
			t.Fatal(err)
		}
	}
	return tape
}

// played is all that a tape gives of [from, to), and how many batches that were.
func played(tape *Tape, from, to int64) (all []Request, batches int, err error) {
	for requests, err := range tape.Between(from, to) {
		if err != nil {
			return all, batches, err
		}
		all = append(all, requests...)
		batches++
	}
	return all, batches, nil
}

// arrivals are n requests, some of them at one time, each unlike the others.
func arrivals(n int) []Request {
	all := make([]Request, n)
	for i := range all {
		all[i] = Request{At: int64(i/3*10) - 1000, Line: int64(i)<<20 + 7, Client: ^uint32(i), Route: uint32(i % 1001), Status: uint16(i)}
	}
	return all
}

// What was added is what is played, as often as one likes and at the same time, whether it
// is in memory or in a file.
func TestTapePlaysAgain(t *testing.T) {
	for _, n := range []int{0, 1, batch - 1, batch, batch + 1, 4*batch + 5} {
		for _, most := range []int{0, 2 * batch, 10 * batch} {
			want := arrivals(n)
			tape := newTape(t, most, want...)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					var all []Request
					for requests, err := range tape.Play() {
						if err != nil || len(requests) == 0 || len(requests) > batch {
							t.Errorf("%d requests, %v", len(requests), err)
						}
						all = append(all, requests...)
					}
					if !slices.Equal(all, want) {
						t.Errorf("%d requests, %d in memory: %d are played, or others", n, most, len(all))
					}
				})
			}
			both.Wait()
			if spilled := tape.file != nil; spilled != (n > most+batch) || tape.Len() != int64(n) {
				t.Errorf("%d requests, %d in memory: in a file: %t, length %d", n, most, spilled, tape.Len())
			}
		}
	}
}

// A range is what arrived in it, and little else is read for it.
func TestTapePlaysRanges(t *testing.T) {
	all := arrivals(5 * batch)
	tapes := []*Tape{newTape(t, batch, all...), newTape(t, batch, make([]Request, 3*batch)...)}
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(-2000, 170_000).Draw(t, "from")
		to := from + rapid.Int64Range(-10, 60_000).Draw(t, "width")
		var want []Request
		for _, q := range all {
			if q.At >= from && q.At < to {
				want = append(want, q)
			}
		}
		got, batches, err := played(tapes[0], from, to)
		if err != nil || !slices.Equal(got, want) || batches > len(want)/batch+2 {
			t.Fatalf("[%d, %d): %d requests in %d batches, want %d; %v", from, to, len(got), batches, len(want), err)
		}
	})
	for _, row := range []struct {
		from, to int64
		want     int
	}{{0, 1, 3 * batch}, {0, 0, 0}, {-5, 0, 0}, {1, 9, 0}} {
		if got, _, err := played(tapes[1], row.from, row.to); len(got) != row.want || err != nil {
			t.Errorf("of one time, [%d, %d): %d requests, %v", row.from, row.to, len(got), err)
		}
	}
	reads := &broken{storage: tapes[0].file, writable: 1 << 30}
	tapes[0].file = reads
	if got, _, err := played(tapes[0], all[3*batch].At, all[3*batch].At+1); len(got) != 3 || err != nil || reads.reads > 2 {
		t.Errorf("%d requests, %v, after %d reads", len(got), err, reads.reads)
	}
	for range tapes[0].Play() {
		break // whoever has enough may stop
	}
}

// Nothing is left behind, even while a tape is in use.
func TestTapeLeavesNothing(t *testing.T) {
	tape := newTape(t, 0, arrivals(3*batch)...)
	if files, err := os.ReadDir(tape.dir); err != nil || tape.path == "" && len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
	file := tape.file.(*os.File)
	if err := errors.Join(tape.Close(), tape.Close()); err != nil {
		t.Error(err)
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
	if files, err := os.ReadDir(tape.dir); err != nil || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
	if _, _, err := played(tape, 0, 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := tape.Add(Request{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// broken is storage that is full after some bytes, and reads no more when it is told so.
type broken struct {
	storage
	writable int64
	deaf     bool
	reads    int
}

func (b *broken) WriteAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > b.writable {
		return 0, syscall.ENOSPC
	}
	return b.storage.WriteAt(p, at)
}

func (b *broken) ReadAt(p []byte, at int64) (int, error) {
	b.reads++
	if b.deaf {
		return 0, syscall.EIO
	}
	return b.storage.ReadAt(p, at)
}

// A full disk ends adding with words; what was added stays.
func TestTapeOnFullDisk(t *testing.T) {
	all := arrivals(6 * batch)
	tape := newTape(t, batch, all[:3*batch]...)
	tape.file = &broken{storage: tape.file, writable: 2 * batch * recordSize}
	n, err := 3*batch, error(nil)
	for err == nil && n < len(all) {
		if err = tape.Add(all[n]); err == nil {
			n++
		}
	}
	want := fmt.Sprintf("write requests 24577 to 32768 to a file in %s, after 393216 bytes: ", tape.dir)
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), want) || n != 4*batch {
		t.Errorf("after %d requests: %v, want %s", n, err, want)
	}
	if again := tape.Add(all[n]); !errors.Is(again, syscall.ENOSPC) {
		t.Errorf("once more: %v", again)
	}
	got, _, err := played(tape, -1<<62, 1<<62)
	if err != nil || !slices.Equal(got, all[:n]) || tape.Len() != int64(n) {
		t.Errorf("%d requests are played, %v", len(got), err)
	}
	tape.file.(*broken).deaf = true
	got, _, err = played(tape, -1<<62, 1<<62)
	want = fmt.Sprintf("read requests 8193 to 16384 from a file in %s: ", tape.dir)
	if !errors.Is(err, syscall.EIO) || !strings.HasPrefix(err.Error(), want) || len(got) != batch {
		t.Errorf("a file that cannot be read: %d requests, %v, want %s", len(got), err, want)
	}
}

func TestTapeRefuses(t *testing.T) {
	tape := newTape(t, batch, Request{At: 5})
	for _, row := range []struct {
		q    Request
		want string
	}{
		{Request{At: 3}, "request 2 of a tape arrived 2 µs before the one that was added last"},
		{Request{At: 5, Line: -1}, "request 2 of a tape is in line -1"},
		{Request{At: 5, Line: 1 << 48}, "request 2 of a tape is in line 281474976710656"},
	} {
		if err := tape.Add(row.q); err == nil || err.Error() != row.want {
			t.Errorf("%+v: %v, want %q", row.q, err, row.want)
		}
	}
	if err := tape.Add(Request{At: 5, Line: 1<<48 - 1, Status: 1<<16 - 1}); err != nil {
		t.Error(err)
	}
	got, _, err := played(tape, 0, 10)
	if diff := cmp.Diff([]Request{{At: 5}, {At: 5, Line: 1<<48 - 1, Status: 1<<16 - 1}}, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%v; requests (-want +got):\n%s", err, diff)
	}
	for dir, want := range map[string]error{t.TempDir() + "/none": os.ErrNotExist, os.Args[0]: nil} {
		if _, err := NewTape(dir); err == nil || !strings.HasPrefix(err.Error(), "keep requests in "+dir) || want != nil && !errors.Is(err, want) {
			t.Errorf("in %s: %v", dir, err)
		}
	}
	gone := newTape(t, 0, arrivals(batch)...)
	if err := os.Remove(gone.dir); err != nil {
		t.Fatal(err)
	}
	if err := gone.Add(Request{At: 1 << 40}); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), fmt.Sprintf("keep more than %d requests in a file in %s", batch, gone.dir)) {
		t.Errorf("a directory that is gone: %v", err)
	}
}

func BenchmarkTape(b *testing.B) {
	all := arrivals(batch)
	for name, most := range map[string]int{"memory": 1 << 30, "file": 0} {
		b.Run(name, func(b *testing.B) {
			tape := newTape(b, most)
			for i := range 64 * batch {
				q := all[i%batch]
				q.At = int64(i)
				if err := tape.Add(q); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for n := 0; n < b.N; {
				for requests, err := range tape.Play() {
					if n += len(requests); err != nil || n >= b.N {
						break
					}
				}
			}
		})
	}
}
