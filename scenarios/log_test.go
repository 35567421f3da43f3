package scenarios_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// anyResult is a result with every field at random, the same for a seed.
func anyResult(i int) scenarios.Result {
	r := rand.New(rand.NewPCG(1, uint64(i)))
	span := func() time.Duration { return time.Duration(r.Int64()) - 1<<62 }
	result := scenarios.Result{Planned: span(), Sent: span(), Done: span(), Outcome: scenarios.Outcome(r.IntN(5))}
	result.Decision = limiter.Decision{
		Allowed: r.IntN(2) == 0, Shadow: r.IntN(2) == 0, Limit: r.Int64(), Remaining: r.Int64(), RetryAfter: span(), ResetAfter: limiter.Never,
		At: time.UnixMicro(r.Int64N(1 << 53)).UTC(), Source: []limiter.Source{"", limiter.SourceRedis, limiter.SourceLocal, "mine"}[r.IntN(4)],
	}
	if result.Outcome == scenarios.Unknown {
		result.Err = fmt.Errorf("request %d: %w", i%50, limiter.ErrUnknown)
	}
	if r.IntN(3) == 0 {
		result.Decision.Cause = limiter.ErrBusy
	}
	return result
}

// sameErrors have one text, and are of unknown fate or not.
var sameErrors = cmp.Comparer(func(a, b error) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Error() == b.Error() && errors.Is(a, limiter.ErrUnknown) == errors.Is(b, limiter.ErrUnknown)
})

// TestLog: what is written comes back, in order and one by one, from memory and from
// disk, in whatever order it came; what nobody wrote is missed.
func TestLog(t *testing.T) {
	const n, silent = 20_000, 9_000 // in the middle of a block
	for name, memory := range map[string]int{"in memory": n, "on disk": 100, "on a disk that is not there": 100} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			if name == "on a disk that is not there" {
				t.Setenv("TMPDIR", temp+"/nowhere")
			}
			l := scenarios.NewLog(n - 500)
			defer l.Close()
			l.InMemory(memory)
			l.Grow(500)
			var writers sync.WaitGroup
			for w := range 7 {
				writers.Go(func() {
					for i := w; i < n; i += 7 {
						if i != silent && i/4096 != 3 {
							l.Set(i, anyResult(i))
						}
					}
				})
			}
			writers.Wait()
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("%v and error %v: it has a name", left, err)
			}
			want := func(i int) scenarios.Result {
				if i == silent || i/4096 == 3 {
					return scenarios.Result{}
				}
				return anyResult(i)
			}
			places := 0
			for i, got := range l.All() {
				if diff := cmp.Diff(want(i), got, sameErrors); diff != "" || places != i {
					t.Fatalf("place %d, number %d (-want +got):\n%s", i, places, diff)
				}
				places++
			}
			if places != n || l.Len() != n || l.Told() != n-1-4096 {
				t.Errorf("%d results, length %d, %d told", places, l.Len(), l.Told())
			}
			for _, i := range []int{0, 1, 4095, 4096, silent, 3 * 4096, n - 1} {
				if diff := cmp.Diff(want(i), l.At(i), sameErrors); diff != "" {
					t.Errorf("place %d (-want +got):\n%s", i, diff)
				}
			}
			for step := range 101 {
				for i := step; i < n; i += 101 {
					if got := l.At(i); got.Planned != want(i).Planned || !got.Decision.At.Equal(want(i).Decision.At) {
						t.Fatalf("place %d: got %+v, want %+v", i, got, want(i))
					}
				}
			}
			l.Cut(5000)
			for i := range l.All() {
				places = i + 1
			}
			if places != 5000 || l.Len() != 5000 || l.Err() != nil || (l.Unwritten() != nil) != strings.Contains(name, "not there") {
				t.Errorf("cut at 5000: %d results, length %d, errors %v and %v", places, l.Len(), l.Err(), l.Unwritten())
			}
		})
	}
}

// logOf is a log of so many results, of which those beyond memory are on disk.
func logOf(t *testing.T, n, memory int) *scenarios.Log {
	t.Helper()
	l := scenarios.NewLog(0)
	l.InMemory(memory)
	for i := range n {
		l.Append(anyResult(i))
	}
	if err := l.Err(); err != nil {
		t.Error(err)
	}
	return l
}

// TestLogThatCannotBeRead says so, instead of judging what is not there: neither what
// was found nor what was not is taken for a result.
func TestLogThatCannotBeRead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	reads := map[string]func(*scenarios.Log) scenarios.Result{
		"one": func(l *scenarios.Log) scenarios.Result { return l.At(7) },
		"all": func(l *scenarios.Log) (last scenarios.Result) {
			for _, r := range l.All() {
				last = r
			}
			return last
		},
	}
	for name, read := range reads {
		for _, memory := range []int{0, 10_000} {
			l := logOf(t, 4096, memory)
			if err := errors.Join(l.Close(), l.Close()); err != nil {
				t.Error(err)
			}
			if r := read(l); r != (scenarios.Result{}) || !errors.Is(l.Err(), os.ErrClosed) {
				t.Errorf("closed, memory for %d, %s: got %+v and error %v", memory, name, r, l.Err())
			}
		}
		l := logOf(t, 4096, 0)
		defer l.Close()
		if r := l.At(8); r == (scenarios.Result{}) {
			t.Error("nothing is there")
		}
		if err := l.Spoil(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r := read(l); r != (scenarios.Result{}) || !errors.Is(l.Err(), io.EOF) {
				t.Errorf("spoilt, %s: got %+v and error %v", name, r, l.Err())
			}
		}
	}
}

// TestLogAvoidsMemory: /tmp is memory in many places, so without a TMPDIR it is not taken.
func TestLogAvoidsMemory(t *testing.T) {
	t.Setenv("TMPDIR", "")
	want := "/var/tmp"
	if info, err := os.Stat(want); err != nil || !info.IsDir() {
		want = os.TempDir()
	}
	l := logOf(t, 4096, 0)
	defer l.Close()
	if got := filepath.Dir(l.Spilled()); got != want {
		t.Errorf("results are in %s, want %s", got, want)
	}
}
