package backend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// faultLimit is the limit of limiters in tests of faults.
const faultLimit = 100

// limiterOn makes a limiter that hands over errors, and has the server load its
// script.
func limiterOn(t *testing.T, s *Server, a limiter.Algorithm) *limiter.Redis {
	t.Helper()
	l, err := limiter.New(s.Client(), limiter.Config{
		Algorithm: a, Limit: limiter.Limit{Max: faultLimit, Window: time.Hour}, OnFailure: limiter.FailError,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compile(t.Context(), a.Script); err != nil {
		t.Fatal(err)
	}
	return l
}

// at is when all requests of these tests happen; their keys live in real time.
var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ask(t *testing.T, l *limiter.Redis, key string) error {
	t.Helper()
	_, err := l.Allow(t.Context(), limiter.Request{Key: key, At: at})
	return err
}

// counted is how many requests of a key were counted.
func counted(t *testing.T, l *limiter.Redis, key string) int {
	t.Helper()
	d, err := l.Peek(t.Context(), limiter.Request{Key: key, At: at})
	if err != nil {
		t.Fatalf("peek: %v", err)
	}
	if !d.Allowed {
		return faultLimit
	}
	return faultLimit - 1 - int(d.Remaining)
}

// what an error of Allow says.
type fate string

const (
	fine     fate = "decided"
	unknown  fate = "unknown"  // it may have been counted
	answered fate = "answered" // the server refused, so nothing was counted
	unsent   fate = "unsent"   // nothing was counted for sure
)

func fateOf(err error) fate {
	switch {
	case err == nil:
		return fine
	case errors.Is(err, limiter.ErrUnknown):
		return unknown
	case limiter.Answered(err):
		return answered
	}
	return unsent
}

func inject(t *testing.T, s *Server, f Fault) *Injection {
	t.Helper()
	i, err := s.Inject(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, i) })
	return i
}

func end(t *testing.T, i *Injection) {
	t.Helper()
	if err := i.End(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// injectable opens a server of that flavour.
func injectable(t *testing.T, flavour Flavour, o Options) *Server {
	t.Helper()
	spec := string(flavour)
	if flavour != Embedded {
		requireRedis(t)
	}
	if flavour == Live {
		spec = open(t, "managed", Options{}).URL()
	}
	o.Injectable = true
	return open(t, spec, o)
}

// What is done to each request, on every flavour: what its sender sees, and
// whether the server has counted it.
func TestFaultsOnConnections(t *testing.T) {
	for _, kind := range Flavours {
		t.Run(string(kind.Name), func(t *testing.T) {
			t.Parallel()
			s := injectable(t, kind.Name, Options{})
			l := limiterOn(t, s, limiter.Log)
			for _, row := range []struct {
				fault  Fault
				want   fate
				counts bool // also when it is hit
				text   string
			}{
				{Fault{Kind: "latency", Delay: time.Millisecond}, fine, true, ""},
				{Fault{Kind: "reset"}, unknown, false, "write: connection reset by peer"},
				{Fault{Kind: "lost-reply"}, unknown, true, "read: connection reset by peer"},
				{Fault{Kind: "partial"}, unknown, false, "write: connection reset by peer"},
				{Fault{Kind: "loading"}, answered, false, "LOADING Redis is loading"},
			} {
				t.Run(row.fault.Kind, func(t *testing.T) {
					testFaultOnConnection(t, s, l, row.fault, row.want, row.counts, row.text)
				})
			}
		})
	}
}

func testFaultOnConnection(t *testing.T, s *Server, l *limiter.Redis, f Fault, want fate, counts bool, text string) {
	const requests, every, hits = 9, 3, 2
	f.Every, f.Hits = every, hits
	i := inject(t, s, f)
	expected := 0
	for n := 1; n <= requests; n++ {
		err := ask(t, l, f.Kind)
		hit := n%every == 0 && n/every <= hits
		wanted := fine
		if hit {
			wanted = want
		}
		if fateOf(err) != wanted || hit && err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("request %d: %v, want %s", n, err, wanted)
		}
		if !hit || counts {
			expected++
		}
	}
	end(t, i)
	end(t, i)
	for range 2 * every {
		if err := ask(t, l, f.Kind); err != nil {
			t.Errorf("after End: %v", err)
		}
		expected++
	}
	if n := counted(t, l, f.Kind); n != expected {
		t.Errorf("%d counted, want %d", n, expected)
	}
	got := i.Hits()
	if len(got) != hits {
		t.Fatalf("hits %+v", got)
	}
	for _, h := range got {
		if h.Command != "EVALSHA" || h.Connection < 1 || h.Operation < 1 || h.Done == "" || h.Delay != f.Delay ||
			h.At.Before(i.Since()) || h.At.After(time.Now()) {
			t.Errorf("hit %+v", h)
		}
	}
}

// Hits name the connection and the operation on it exactly.
func TestHitsAreExact(t *testing.T) {
	s := injectable(t, Embedded, Options{PoolSize: 1})
	l := limiterOn(t, s, limiter.Fixed)
	for range 4 {
		_ = ask(t, l, "a")
	}
	i := inject(t, s, Fault{Kind: "reset", Every: 2})
	for range 6 {
		_ = ask(t, l, "a")
	}
	var got [][2]int
	for _, h := range i.Hits() {
		got = append(got, [2]int{h.Connection, h.Operation})
	}
	// The fifth passes on the first connection, the sixth ends it; then each
	// connection has one that passes and one that ends it.
	if want := [][2]int{{1, 6}, {2, 2}, {3, 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Setting connections up, questions of the Server and transactions that are
// being put together are no operations.
func TestOthersAreNotHit(t *testing.T) {
	for _, flavour := range []Flavour{Managed, Embedded} {
		t.Run(string(flavour), func(t *testing.T) {
			s := injectable(t, flavour, Options{})
			i := inject(t, s, Fault{Kind: "reset"})
			ctx := t.Context()
			if err := s.Warm(ctx, 3); err != nil {
				t.Error(err)
			}
			_, clock := s.Clock(ctx)
			_, describe := s.Describe(ctx)
			_, _, scan := s.Scan(ctx, "", 10)
			_, usage := s.MemoryUsage(ctx, []string{"a"})
			if errors.Is(usage, errors.ErrUnsupported) {
				usage = nil
			}
			err := errors.Join(clock, describe, scan, usage, s.Compile(ctx, "return 1"), s.Clear(ctx), s.Client().Get(ctx, "a").Err())
			if err != nil && err.Error() != redis.Nil.Error() {
				t.Error(err)
			}
			if hits := i.Hits(); len(hits) > 0 {
				t.Errorf("hit: %v", hits)
			}
			end(t, i)
			i = inject(t, s, Fault{Kind: "loading"})
			_, err = s.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "a")
				p.Incr(ctx, "a")
				return nil
			})
			if hits := i.Hits(); !hasPrefix(err, "LOADING") || len(hits) != 1 || hits[0].Command != "EXEC" {
				t.Errorf("got %v, hits %v", err, hits)
			}
		})
	}
}

// A client that sends again what it has lost the reply of counts four times,
// and hears of nothing if one reply arrives.
func TestLostReplyIsAmplifiedByRetries(t *testing.T) {
	s := injectable(t, Managed, Options{})
	o := s.Client().Options()
	plain := redis.NewClient(&redis.Options{
		Network: o.Network, Addr: o.Addr, Dialer: s.Dialer(), MinRetryBackoff: -1, MaxRetryBackoff: -1,
		DialTimeout: patient, ReadTimeout: patient, WriteTimeout: patient,
	})
	defer plain.Close()
	i := inject(t, s, Fault{Kind: "lost-reply"})
	if err := plain.Incr(t.Context(), "a").Err(); err == nil {
		t.Error("no error")
	}
	end(t, i)
	if n, err := plain.Get(t.Context(), "a").Int(); n != 4 || len(i.Hits()) != 4 {
		t.Errorf("one INCR counted %d times, %v; %d hits", n, err, len(i.Hits()))
	}
	silent := inject(t, s, Fault{Kind: "lost-reply", Hits: 1})
	if n, err := plain.Incr(t.Context(), "b").Result(); n != 2 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if hits := silent.Hits(); len(hits) != 1 || hits[0].Command != "INCR" {
		t.Errorf("hits %v", hits)
	}
}

// Of two faults the older one hits what both would; delays add to it.
func TestFaultsTogether(t *testing.T) {
	s := injectable(t, Embedded, Options{})
	l := limiterOn(t, s, limiter.Fixed)
	slow := inject(t, s, Fault{Kind: "latency", Delay: time.Millisecond})
	lost := inject(t, s, Fault{Kind: "lost-reply", Every: 2})
	reset := inject(t, s, Fault{Kind: "reset", Every: 2})
	for range 4 {
		_ = ask(t, l, "a")
	}
	if a, b, c := len(slow.Hits()), len(lost.Hits()), len(reset.Hits()); a != 4 || b != 2 || c != 0 {
		t.Errorf("%d held, %d lost, %d reset", a, b, c)
	}
	end(t, lost)
	for range 4 {
		_ = ask(t, l, "a")
	}
	if n := len(reset.Hits()); n != 2 {
		t.Errorf("%d reset", n)
	}
}

// A Server that was not opened for it does no faults, and has one client.
func TestNotInjectable(t *testing.T) {
	s := open(t, "embedded", Options{})
	for _, f := range []Fault{{Kind: "reset"}, {Kind: "script-flush"}} {
		_, err := s.Inject(t.Context(), f)
		e, ok := errors.AsType[*FaultError](err)
		if !ok || !errors.Is(err, errors.ErrUnsupported) || e.State != untouched || e.Kind != f.Kind {
			t.Errorf("got %v", err)
		}
	}
	if s.manager != s.client {
		t.Error("two clients")
	}
	conn, err := s.Dialer()(t.Context(), "tcp", "embedded")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, wrapped := conn.(*wire); wrapped {
		t.Error("an injector is in the way")
	}
}
