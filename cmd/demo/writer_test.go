package demo

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestWriteChangesABatch: and the same seed changes the same.
func TestWriteChangesABatch(t *testing.T) {
	var lists [2][]Video
	for i := range lists {
		c := small(t)
		c.WriteBatch, c.PageSize = 30, MaxPageSize
		a := open(t, c)
		before := videos(t, a, "/api/v1/trending", nil)
		if err := a.writer.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		lists[i] = videos(t, a, "/api/v1/trending", nil)
		if gocmp.Equal(before, lists[i]) {
			t.Error("a write changed nothing")
		}
		if got := changed(t, a, catalogue(a.config)); got < 20 || got > 30 {
			t.Errorf("%d videos have another velocity, want about 30", got)
		}
	}
	if diff := gocmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("the same seed (-once +again):\n%s", diff)
	}
}

// changed counts the videos whose velocity is no longer that of the catalogue.
func changed(t *testing.T, a *API, all []Video) int {
	t.Helper()
	n := 0
	for page := 0; page*a.config.PageSize < len(all); page++ {
		rows, err := a.list(t.Context(), endpoints[0], asked{page: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rows {
			if v.Velocity != all[v.ID-1].Velocity {
				n++
			}
		}
	}
	return n
}

// TestReadersMeetTheWriter: with the writer at work all the time, more readers
// than connections get sorted pages, and nobody is told that the database is
// locked.
func TestReadersMeetTheWriter(t *testing.T) {
	c := small(t)
	c.WriteEvery, c.WriteBatch = time.Microsecond, 20
	a := open(t, c)
	ask := []struct {
		path  string
		asked url.Values
	}{
		{"/api/v1/trending", nil},
		{"/api/v1/feed", url.Values{"region": {"PL"}}},
		{"/api/v1/search", url.Values{"q": {"harbour"}}},
	}
	const writes = 30
	var readers sync.WaitGroup
	for i := range 2 * DefaultReaders {
		readers.Go(func() {
			for n := 0; n < 5 || a.writer.batches.Load() < writes; n++ {
				if a.writer.err() != nil {
					return // Close tells
				}
				from := ask[(i+n)%len(ask)]
				res := get(a, from.path, from.asked)
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s: %+v", from.path, refused(t, res))
					return
				}
				res.Body.Close()
			}
		})
	}
	for range 5 {
		for _, from := range ask {
			listed := videos(t, a, from.path, from.asked)
			if !slices.IsSortedFunc(listed, func(a, b Video) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) }) {
				t.Errorf("%s is not sorted", from.path)
			}
		}
	}
	readers.Wait()
}

// TestLogIsTrimmed: readers of whom some are always at work do not let the log
// grow without end.
func TestLogIsTrimmed(t *testing.T) {
	const most, writes = 50, 60 // a write takes about 10 pages, which is all of them
	c := small(t)
	a := open(t, c)
	a.writer.maxLog, a.writer.batch = most, 60
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range DefaultReaders {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					videos(t, a, "/api/v1/feed", nil)
				}
			}
		})
	}
	for range writes {
		if err := a.writer.write(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
	log, err := os.Stat(filepath.Join(a.dir, "videos.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if pages := log.Size() / 4096; pages > 2*most {
		t.Errorf("a log of %d pages after %d writes, want about %d", pages, writes, most)
	}
}

// TestWriterThatFails: health says so, the lists are still served, and Close
// returns why.
func TestWriterThatFails(t *testing.T) {
	c := small(t)
	c.WriteEvery = time.Millisecond
	a, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const broken = `CREATE TRIGGER no BEFORE UPDATE ON videos BEGIN SELECT RAISE(FAIL, 'no writes today'); END`
	if _, err := a.writer.db.Exec(broken); err != nil {
		t.Fatal(err)
	}
	a.writer.running.Wait()
	if p := refused(t, get(a, "/healthz", nil)); p.Status != http.StatusServiceUnavailable || !strings.Contains(p.Detail, "no writes today") {
		t.Errorf("health: %+v", p)
	}
	videos(t, a, "/api/v1/trending", nil)
	if err := a.Close(); err == nil || !strings.Contains(err.Error(), "no writes today") {
		t.Errorf("Close returned %v", err)
	}
	if left := entries(t, c.Dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// BenchmarkRequest is what a request costs at the default size.
func BenchmarkRequest(b *testing.B) {
	a, err := Open(b.Context(), Config{WriteEvery: time.Hour, Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	for _, target := range []struct {
		name, path string
		asked      url.Values
	}{
		{"trending", "/api/v1/trending", nil},
		{"trending-region", "/api/v1/trending", url.Values{"region": {"DE"}}},
		{"feed", "/api/v1/feed", nil},
		{"search", "/api/v1/search", url.Values{"q": {"harbour"}}},
	} {
		b.Run(target.name, func(b *testing.B) {
			for b.Loop() {
				if res := get(a, target.path, target.asked); res.StatusCode != http.StatusOK {
					b.Fatal(res.Status)
				}
			}
		})
	}
}
