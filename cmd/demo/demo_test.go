package demo

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestOpenRefuses(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*Config)
		fault  string
	}{
		{"fewer than no videos", func(c *Config) { c.Videos = -1 }, "-1 videos: want 1 to 1000000"},
		{"too many videos", func(c *Config) { c.Videos = MaxVideos + 1 }, "1000001 videos"},
		{"a page too long", func(c *Config) { c.PageSize = MaxPageSize + 1 }, "101 videos a page"},
		{"too many readers", func(c *Config) { c.Readers = MaxReaders + 1 }, "65 readers"},
		{"a write of nothing", func(c *Config) { c.WriteBatch = -5 }, "-5 videos a write"},
		{"no time at all", func(c *Config) { c.Timeout = -1 }, "timeout -1ns is negative"},
		{"writes before the last", func(c *Config) { c.WriteEvery = -time.Second }, "write every -1s is negative"},
		{"a directory that is not there", func(c *Config) { c.Dir = filepath.Join(c.Dir, "missing") }, "no such file"},
	} {
		c := small(t)
		row.change(&c)
		_, err := Open(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: got %v, want an error with %q", row.why, err, row.fault)
		}
	}
	_, err := Open(t.Context(), Config{Videos: -1, Readers: -1, Timeout: -1})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("all mistakes at once: got %v", err)
	}
}

func TestZeroConfigIsValid(t *testing.T) {
	c := Config{}.withDefaults()
	if err := c.validate(); err != nil {
		t.Error(err)
	}
	want := Config{Videos: 20_000, PageSize: 20, Readers: 4, Timeout: 2 * time.Second, WriteEvery: 100 * time.Millisecond, WriteBatch: 50}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

func TestOpenThatFailsLeavesNothing(t *testing.T) {
	c := small(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Open(stopped, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := entries(t, c.Dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func entries(t *testing.T, dir string) []fs.DirEntry {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestClose: while it is open there is one directory, afterwards nothing, and
// whoever still asks is told.
func TestClose(t *testing.T) {
	c := small(t)
	c.Dir = filepath.Join(c.Dir, "50% of #1?") // a name that means something in a URL
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a := open(t, c)
	videos(t, a, "/api/v1/trending", nil)
	if all := entries(t, c.Dir); len(all) != 1 || !strings.HasPrefix(all[0].Name(), "rlbench-demo-") {
		t.Errorf("made %v, want one directory", all)
	}
	if _, err := os.Stat(filepath.Join(a.dir, "videos.db-wal")); err != nil {
		t.Errorf("no WAL: %v", err)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := entries(t, c.Dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	for _, path := range []string{"/api/v1/trending", "/healthz"} {
		res := get(a, path, nil)
		if p := refused(t, res); p.Status != http.StatusServiceUnavailable || p.Detail != "the API is closed" {
			t.Errorf("%s after Close: %+v", path, p)
		}
	}
}

// TestCloseEndsRequests: requests that wait for a reader get an answer, and
// Close returns after the last of them.
func TestCloseEndsRequests(t *testing.T) {
	c := small(t)
	c.Readers, c.Timeout = 1, time.Hour // so that nothing else ends them
	a := open(t, c)
	busy, err := a.readers.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	status := make(chan int, 5)
	var asked sync.WaitGroup
	for range cap(status) {
		asked.Go(func() { status <- get(a, "/api/v1/feed", nil).StatusCode })
	}
	for a.readers.Stats().WaitCount < int64(cap(status)) {
		runtime.Gosched() // until all of them wait
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	_ = busy.Close() // a closed pool is not news
	asked.Wait()
	close(status)
	for code := range status {
		if code != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", code)
		}
	}
}

// TestTimeout: who finds no reader in time is told so.
func TestTimeout(t *testing.T) {
	c := small(t)
	c.Readers, c.Timeout = 1, time.Millisecond
	a := open(t, c)
	busy, err := a.readers.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, path := range []string{"/api/v1/trending", "/healthz"} {
		res := get(a, path, nil)
		if p := refused(t, res); p.Status != http.StatusServiceUnavailable || p.Detail != "no answer within 1ms" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// TestSlowStatementIsInterrupted: the budget ends a statement that is running,
// and the connection serves on.
func TestSlowStatementIsInterrupted(t *testing.T) {
	c := small(t)
	c.Readers, c.Timeout = 1, 100*time.Millisecond
	a := open(t, c)
	const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	err := a.reader(t.Context(), func(ctx context.Context) error {
		var n int
		return a.readers.QueryRowContext(ctx, endless).Scan(&n)
	})
	if err == nil || err.Error() != "no answer within 100ms" {
		t.Errorf("got %v", err)
	}
	a.config.Timeout = time.Minute
	videos(t, a, "/api/v1/trending", nil)
}

// TestClientThatLeaves: its statement ends with it.
func TestClientThatLeaves(t *testing.T) {
	a := open(t, small(t))
	gone, leave := context.WithCancel(t.Context())
	leave()
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/api/v1/feed", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
}

// TestReadersCannotWrite: whatever a request could make them do.
func TestReadersCannotWrite(t *testing.T) {
	a := open(t, small(t))
	if _, err := a.readers.Exec(`DELETE FROM videos`); err == nil {
		t.Error("a reader wrote")
	}
}

// TestTwoAtOnce: two catalogues in one directory do not meet.
func TestTwoAtOnce(t *testing.T) {
	c := small(t)
	one := open(t, c)
	c.Seed = 2
	two := open(t, c)
	if gocmp.Equal(videos(t, one, "/api/v1/trending", nil), videos(t, two, "/api/v1/trending", nil)) {
		t.Error("they share a catalogue")
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	videos(t, one, "/api/v1/search", url.Values{"q": {"a"}})
}
