package backend

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// What holds for every flavour, with and without an injector that does nothing.
func TestContract(t *testing.T) {
	for _, kind := range Flavours {
		for _, injectable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s injectable=%t", kind.Name, injectable), func(t *testing.T) { testContract(t, kind, injectable) })
		}
	}
}

func testContract(t *testing.T, kind Kind, injectable bool) {
	spec := string(kind.Name)
	if kind.Name != Embedded {
		requireRedis(t)
	}
	if kind.Name == Live {
		spec = open(t, "managed", Options{}).URL()
	}
	s := open(t, spec, Options{PoolSize: 3, Timeout: 5 * time.Second, Injectable: injectable})
	if s.Flavour() != kind.Name {
		t.Errorf("flavour %q", s.Flavour())
	}
	t.Run("options", func(t *testing.T) { testOptions(t, s) })
	t.Run("url", func(t *testing.T) { testURL(t, s) })
	t.Run("describe", func(t *testing.T) { testDescribe(t, s) })
	t.Run("clock", func(t *testing.T) { testClock(t, s) })
	t.Run("keys", func(t *testing.T) { testKeys(t, s) })
	t.Run("expiry", func(t *testing.T) { testExpiry(t, s) })
	t.Run("inspect", func(t *testing.T) { testInspect(t, s) })
	t.Run("inspect many", func(t *testing.T) { testInspectMany(t, s) })
	t.Run("scan", func(t *testing.T) { testScan(t, s) })
	t.Run("persist", func(t *testing.T) { testPersist(t, s) })
	t.Run("clear", func(t *testing.T) { testClear(t, s) })
	t.Run("compile", func(t *testing.T) { testCompile(t, s) })
	t.Run("unstick nothing", func(t *testing.T) { testUnstickNothing(t, s) })
	t.Run("stats", func(t *testing.T) { testStats(t, s) })
	t.Run("close", func(t *testing.T) { testClose(t, s) })
}

func testOptions(t *testing.T, s *Server) {
	o := s.Client().Options()
	if o.PoolSize != 3 || o.DialTimeout != 5*time.Second || o.ReadTimeout != 5*time.Second {
		t.Errorf("options did not arrive: %d connections, %s, %s", o.PoolSize, o.DialTimeout, o.ReadTimeout)
	}
	if o.MaxRetries > 0 {
		t.Errorf("client is not tuned: %d retries", o.MaxRetries)
	}
}

func testURL(t *testing.T, s *Server) {
	if s.Flavour() == Embedded {
		if s.URL() != "" {
			t.Errorf("URL %q", s.URL())
		}
		return
	}
	if !strings.HasPrefix(s.URL(), "unix:///") {
		t.Errorf("URL %q", s.URL())
	}
	if err := s.Client().Set(t.Context(), "shared", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := open(t, s.URL(), Options{}).Client().Get(t.Context(), "shared").Int(); n != 1 || err != nil {
		t.Errorf("another client reads %d, %v", n, err)
	}
}

func testDescribe(t *testing.T, s *Server) {
	d, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Flavour() == Embedded {
		d.Version = "" // a test binary does not know it
		if want := (Description{Name: "miniredis", Mode: "standalone"}); d != want {
			t.Errorf("got %+v, want %+v", d, want)
		}
		return
	}
	if d.Name != "redis" && d.Name != "valkey" || d.Version == "" || d.Mode != "standalone" || d.MaxmemoryPolicy != "noeviction" {
		t.Errorf("got %+v", d)
	}
}

// All servers here have our clock, so the promised bound on the error is a
// bound on the offset.
func testClock(t *testing.T, s *Server) {
	c, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.RTT <= 0 || c.Offset.Abs() > c.RTT/2+time.Millisecond {
		t.Errorf("got %+v", c)
	}
}

// More keys than a chunk, in pipelines longer than the buffers of a pipe.
func testKeys(t *testing.T, s *Server) {
	ctx := t.Context()
	keys := make([]string, 3*chunk+1)
	for i := range keys {
		keys[i] = fmt.Sprintf("{%d}:%s", i, strings.Repeat("k", 50))
	}
	_, err := s.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, key := range keys {
			p.Set(ctx, key, "0123456789", 0)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	usage, err := s.MemoryUsage(ctx, append(keys, "absent"))
	if usage.Keys != len(keys) {
		t.Errorf("%d keys, want %d", usage.Keys, len(keys))
	}
	if s.Flavour() == Embedded {
		if !errors.Is(err, errors.ErrUnsupported) || usage.Bytes != 0 {
			t.Errorf("got %+v, %v", usage, err)
		}
	} else if least := int64(60 * len(keys)); err != nil || usage.Bytes < least {
		t.Errorf("got %+v, %v, want at least %d bytes", usage, err, least)
	}
	if err := s.Delete(ctx, append(keys, "absent")); err != nil {
		t.Error(err)
	}
	if usage, _ := s.MemoryUsage(ctx, keys); usage != (Usage{}) {
		t.Errorf("after delete: %+v", usage)
	}
	if usage, _ := s.MemoryUsage(ctx, nil); usage != (Usage{}) {
		t.Errorf("of no keys: %+v", usage)
	}
}

func testExpiry(t *testing.T, s *Server) {
	if err := s.Client().Set(t.Context(), "brief", 1, 20*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	if err := s.Client().Get(t.Context(), "brief").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the key did not expire: %v", err)
	}
}

func testStats(t *testing.T, s *Server) {
	before, err := s.CommandStats(t.Context())
	if s.Flavour() == Embedded {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v, %v", before, err)
		}
		return
	}
	for range 7 {
		s.Client().Eval(t.Context(), "return redis.call('STRLEN', KEYS[1])", []string{"absent"})
	}
	after, err := s.CommandStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"eval", "strlen"} {
		if n := after[command].Calls - before[command].Calls; n != 7 {
			t.Errorf("%d calls of %s, want 7", n, command)
		}
	}
	if after["eval"].Micros == 0 {
		t.Error("eval took no time")
	}
}

func testClose(t *testing.T, s *Server) {
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	_, clock := s.Clock(t.Context())
	_, describe := s.Describe(t.Context())
	_, stats := s.CommandStats(t.Context())
	_, usage := s.MemoryUsage(t.Context(), []string{"a"})
	_, inspect := s.Inspect(t.Context(), []string{"a"})
	_, _, scan := s.Scan(t.Context(), "*", 1)
	_, unstick := s.Unstick(t.Context())
	for _, err := range []error{
		clock, stats, usage, inspect, scan, unstick, s.Delete(t.Context(), []string{"a"}),
		s.Persist(t.Context(), []string{"a"}), s.Compile(t.Context(), "return 1"),
	} {
		if !errors.Is(err, redis.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if s.Flavour() != Embedded && !errors.Is(describe, redis.ErrClosed) {
		t.Errorf("after Close: %v", describe)
	}
}
