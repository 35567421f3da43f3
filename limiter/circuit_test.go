package limiter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// desk is a limiter whose Redis and clock are the test's.
type desk struct {
	*Redis
	answer  func(context.Context) error // nil: an admission
	asked   atomic.Int64
	mu      sync.Mutex
	now     time.Time
	log     bytes.Buffer
	circuit *Circuit
}

var (
	refused = &dialError{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	silence = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
)

func newDesk(t *testing.T, change func(*Config)) *desk {
	t.Helper()
	d := &desk{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), circuit: new(Circuit)}
	c := Config{
		Algorithm: Fixed, Limit: Limit{10, time.Minute}, OnFailure: FailOpen,
		Logger: slog.New(slog.NewTextHandler(&d.log, nil)), Circuit: d.circuit, Now: d.clock,
	}
	if change != nil {
		change(&c)
	}
	d.circuit.Now = d.clock
	l, err := New(processor(d.process), c)
	if err != nil {
		t.Fatal(err)
	}
	d.Redis = l
	return d
}

func (d *desk) process(ctx context.Context, cmd redis.Cmder) error {
	d.asked.Add(1)
	if d.answer != nil {
		if err := d.answer(ctx); err != nil {
			return err
		}
	}
	cmd.(interface{ SetVal(any) }).SetVal([]any{int64(1), int64(9), int64(0), int64(60e6), d.clock().UnixMicro()})
	return nil
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) wait(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *desk) always(err error) { d.answer = func(context.Context) error { return err } }

// ask asks n times and says how often that reached Redis.
func (d *desk) ask(t *testing.T, n int) (sent int64) {
	t.Helper()
	before := d.asked.Load()
	for range n {
		if _, err := d.Allow(t.Context(), Request{Key: "203.0.113.7"}); err != nil {
			t.Fatal(err)
		}
	}
	return d.asked.Load() - before
}

// TestWhatOpensTheCircuit: what costs callers time does, what Redis says does not.
func TestWhatOpensTheCircuit(t *testing.T) {
	for _, row := range []struct {
		err   error
		kind  Trouble
		opens bool
	}{
		{refused, TroubleDial, true},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, TroubleDial, true},
		{silence, TroubleTimeout, true},
		{io.EOF, TroubleBroken, true},
		{syscall.ECONNRESET, TroubleBroken, true},
		{redis.ErrPoolTimeout, TroubleNoConnection, true},
		{context.DeadlineExceeded, TroubleNoConnection, true},
		{redis.ErrClosed, TroubleBroken, true},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), TroubleAnswer, false},
		{reply("READONLY You can't write against a read only replica."), TroubleAnswer, false},
		{reply("NOPERM this user has no permissions"), TroubleAnswer, false},
		{reply("LOADING Redis is loading the dataset in memory"), TroubleAnswer, false},
		{reply("BUSY Redis is busy running a script"), TroubleAnswer, false},
		{reply("CLUSTERDOWN The cluster is down"), TroubleAnswer, false},
	} {
		d := newDesk(t, nil)
		d.always(row.err)
		sent := d.ask(t, 20)
		if opened := sent == DefaultFailures; opened != row.opens || d.circuit.Open() != row.opens || !opened && sent != 20 {
			t.Errorf("%v: %d of 20 requests were sent, open %t, want it open: %t", row.err, sent, d.circuit.Open(), row.opens)
		}
		if n := d.Counters().Snapshot().Errors[row.kind]; n != sent {
			t.Errorf("%v: counted %d of kind %s, want %d", row.err, n, row.kind, sent)
		}
	}
}

// TestCircuit is the life of one: what is sent at each step, and whether it is
// open after it.
func TestCircuit(t *testing.T) {
	type step struct {
		why  string
		wait time.Duration
		err  error
		ask  int
		sent int64
		open bool
	}
	d := newDesk(t, nil)
	for _, s := range []step{
		{"all is well", 0, nil, 3, 3, false},
		{"four failures are not enough", 0, silence, 4, 4, false},
		{"an answer starts the count afresh", 0, nil, 1, 1, false},
		{"so do errors that are answers", 0, silence, 4, 4, false},
		{"", 0, reply("OOM"), 1, 1, false},
		{"", 0, silence, 4, 4, false},
		{"the fifth in a row opens it, and no more is sent", 0, silence, 10, 1, true},
		{"a tick before it is time, nothing is sent", DefaultProbe - tick, silence, 10, 0, true},
		{"then one request is", tick, silence, 10, 1, true},
		{"which it was for this interval", DefaultProbe - tick, nil, 10, 0, true},
		{"the next one is answered, and closes it", tick, nil, 10, 10, false},
		{"it opens again", 0, refused, 10, 5, true},
		{"nobody asks for an hour", time.Hour, refused, 10, 1, true},
		{"an error that is an answer closes it too", DefaultProbe, reply("LOADING"), 10, 10, false},
	} {
		d.wait(s.wait)
		d.always(s.err)
		if sent := d.ask(t, s.ask); sent != s.sent || d.circuit.Open() != s.open {
			t.Fatalf("%s: after %s, of %d requests %d were sent, open %t; want %d, %t",
				s.why, s.wait, s.ask, sent, d.circuit.Open(), s.sent, s.open)
		}
	}
	s := d.Counters().Snapshot()
	if want := 2*DefaultProbe + time.Hour + DefaultProbe; s.Opened != 2 || s.OpenFor != want || s.OpenCircuits != 0 {
		t.Errorf("opened %d times for %s, want 2 and %s", s.Opened, s.OpenFor, want)
	}
	log := d.log.String()
	for _, want := range []string{
		"level=WARN msg=\"rate limiter: Redis does not answer and is not asked\" failures=5 error=",
		"level=INFO msg=\"rate limiter: Redis answers again\" open_for=200ms admitted=",
		"level=WARN msg=\"rate limiter: Redis answers with an error\" answer=OOM times=1",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if n := strings.Count(log, "\n"); n != 2+2+2 || strings.Contains(log, "203.0.113.7") {
		t.Errorf("got %d lines, want 2 of opening, 2 of closing and 2 of answers, and no key:\n%s", n, log)
	}
}

const tick = time.Microsecond

// TestOneProbeAnInterval: many callers, one goes through.
func TestOneProbeAnInterval(t *testing.T) {
	d := newDesk(t, nil)
	d.always(refused)
	d.ask(t, DefaultFailures)
	for range 20 {
		d.wait(DefaultProbe)
		before := d.asked.Load()
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() { _, _ = d.Allow(t.Context(), Request{Key: "k"}) })
		}
		callers.Wait()
		if sent := d.asked.Load() - before; sent != 1 {
			t.Fatalf("%d of 50 requests were sent, want 1", sent)
		}
	}
}

// TestOpenCircuitIsACause: it says since when and why, and that nothing of this
// request is in doubt.
func TestOpenCircuitIsACause(t *testing.T) {
	for _, policy := range policies {
		d := newDesk(t, func(c *Config) { c.OnFailure = policy })
		d.always(silence)
		for range DefaultFailures {
			_, _ = d.Allow(t.Context(), Request{Key: "k"})
		}
		decision, err := d.Allow(t.Context(), Request{Key: "k"})
		if policy != FailError {
			err = decision.Cause
		}
		open, ok := errors.AsType[*CircuitError](err)
		switch {
		case !ok || !errors.Is(err, ErrCircuitOpen):
			t.Errorf("policy %s: got %+v, %v", policy, decision, err)
		case errors.Is(err, ErrUnknown) || Answered(err):
			t.Errorf("policy %s: nothing was sent, but the cause wraps how another request ended: %v", policy, err)
		case !open.Since.Equal(d.clock()) || !errors.Is(open.Last, os.ErrDeadlineExceeded):
			t.Errorf("policy %s: since %s, last %v", policy, open.Since, open.Last)
		}
	}
}

// TestStaleFailures: requests that were sent before an outage and fail after it
// do not open the circuit again.
func TestStaleFailures(t *testing.T) {
	d := newDesk(t, nil)
	release, sent := make(chan struct{}), make(chan struct{}, 20)
	d.answer = func(context.Context) error { sent <- struct{}{}; <-release; return silence }
	var late sync.WaitGroup
	for range 20 {
		late.Go(func() { _, _ = d.Allow(t.Context(), Request{Key: "k"}) })
	}
	for range 20 {
		<-sent
	}
	d.always(refused)
	d.ask(t, DefaultFailures)
	d.wait(DefaultProbe)
	d.always(nil)
	d.ask(t, 1)
	if d.circuit.Open() {
		t.Fatal("still open after an answer")
	}
	close(release)
	late.Wait()
	if d.circuit.Open() {
		t.Error("requests of before the outage opened the circuit after it")
	}
}

// TestImpatientCallers: who gives up, or has no time, opens the circuit for nobody.
func TestImpatientCallers(t *testing.T) {
	d := newDesk(t, nil)
	d.answer = func(ctx context.Context) error { <-ctx.Done(); return silence }
	for range 3 * DefaultFailures {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, _ = d.Allow(ctx, Request{Key: "k"})
		cancel()
	}
	d.always(io.EOF)
	for range 3 * DefaultFailures {
		ctx, cancel := context.WithCancel(t.Context())
		d.answer = func(context.Context) error { cancel(); return io.EOF }
		if _, err := d.Allow(ctx, Request{Key: "k"}); err == nil {
			t.Error("a decision was made up for nobody")
		}
	}
	if s := d.Counters().Snapshot(); d.circuit.Open() || s.Errors[TroubleOverdue] != 15 || s.Errors[TroubleCancelled] != 15 {
		t.Errorf("open %t, counted %v", d.circuit.Open(), s.Errors)
	}
}

// TestBusy: what waits for Redis is bounded before anybody knows that it is away.
func TestBusy(t *testing.T) {
	const most = 7
	d := newDesk(t, func(c *Config) { c.Circuit.InFlight = most })
	release, sent := make(chan struct{}), make(chan struct{}, most)
	d.answer = func(context.Context) error { sent <- struct{}{}; <-release; return nil }
	var waiting sync.WaitGroup
	for range most {
		waiting.Go(func() { _, _ = d.Allow(t.Context(), Request{Key: "k"}) })
	}
	for range most {
		<-sent
	}
	decision, err := d.Allow(t.Context(), Request{Key: "k"})
	if err != nil || decision.Source != SourceFailOpen || !errors.Is(decision.Cause, ErrBusy) || errors.Is(decision.Cause, ErrUnknown) {
		t.Errorf("got %+v, %v, want the policy's decision because of ErrBusy", decision, err)
	}
	close(release)
	waiting.Wait()
	d.answer = nil
	if sent := d.ask(t, 10); sent != 10 || d.circuit.inFlight.Load() != 0 {
		t.Errorf("%d of 10 requests were sent after the crowd left, %d are said to wait", sent, d.circuit.inFlight.Load())
	}
}

// TestNeverOpens: a negative number of failures asks every time.
func TestNeverOpens(t *testing.T) {
	d := newDesk(t, func(c *Config) { c.Circuit.Failures = -1 })
	d.always(refused)
	if sent := d.ask(t, 100); sent != 100 || d.circuit.Open() {
		t.Errorf("%d of 100 requests were sent", sent)
	}
}

// TestSharedCircuit: what one limiter finds out is known to the other.
func TestSharedCircuit(t *testing.T) {
	a := newDesk(t, nil)
	b := newDesk(t, func(c *Config) { c.Circuit, c.Counters = a.circuit, a.Counters() })
	a.always(refused)
	a.ask(t, DefaultFailures)
	if sent := b.ask(t, 5); sent != 0 {
		t.Errorf("%d requests were sent though the circuit is open", sent)
	}
	if s := a.Counters().Snapshot(); s.Opened != 1 || s.OpenCircuits != 1 {
		t.Errorf("a shared circuit counts %d times, %d open", s.Opened, s.OpenCircuits)
	}
}

// TestWarningsAreFew: an error a request is one line in ten seconds for each word.
func TestWarningsAreFew(t *testing.T) {
	d := newDesk(t, nil)
	for i := range 100 {
		for _, text := range []string{"OOM no memory", "ERR unknown command, with args beginning with: '203.0.113.7'", fmt.Sprintf("W%d made up", i), "203.0.113.7 a key"} {
			d.always(reply(text))
			d.ask(t, 1)
		}
		d.wait(warnEvery / 50)
	}
	log := d.log.String()
	for _, want := range []string{"answer=OOM times=1\n", "answer=OOM times=50\n"} {
		if strings.Count(log, want) != 1 {
			t.Errorf("want %q once:\n%s", want, log)
		}
	}
	if strings.Contains(log, "203.0.113.7") || strings.Count(log, "\n") > 2*(maxAnswers+1) {
		t.Errorf("too much is logged:\n%s", log)
	}
	if n := len(d.Counters().Snapshot().Answers); n > maxAnswers+1 {
		t.Errorf("%d words are counted, want at most %d and the rest", n, maxAnswers)
	}
}

// TestClassify: which errors leave the fate of a request in doubt.
func TestClassify(t *testing.T) {
	for _, row := range []struct {
		err     error
		unknown bool
	}{{context.Canceled, false}, {context.DeadlineExceeded, false}, {io.EOF, true}, {refused, false}, {silence, true}} {
		if err := classify(row.err); errors.Is(err, ErrUnknown) != row.unknown || !errors.Is(err, row.err) {
			t.Errorf("%v: classified as %v, want its fate unknown: %t", row.err, err, row.unknown)
		}
	}
}
