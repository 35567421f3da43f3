package limiter_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// calls counts the script calls of a client by whether they have one key or more.
type calls struct{ one, more atomic.Int64 }

func (c *calls) count(cmd redis.Cmder) {
	switch args := cmd.Args(); {
	case !strings.HasPrefix(cmd.Name(), "eval"):
	case args[2] == 1:
		c.one.Add(1)
	default:
		c.more.Add(1)
	}
}

func (c *calls) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(cmd)
		}
		return next(ctx, cmds)
	}
}

// askAll asks for 200 identities at once, twice each, and wants both counted.
func askAll(t *testing.T, l *limiter.Redis) {
	t.Helper()
	var all sync.WaitGroup
	var left [200]atomic.Int64
	for i := range 2 * len(left) {
		all.Go(func() {
			d, err := l.Allow(t.Context(), limiter.Request{Key: fmt.Sprint(i / 2), At: t0})
			if err != nil || !d.Allowed {
				t.Errorf("got %+v and error %v", d, err)
			}
			left[i/2].Add(d.Remaining)
		})
	}
	all.Wait()
	for i := range left {
		if got, want := left[i].Load(), 2*l.Limit().Max-3; got != want {
			t.Errorf("identity %d: both have %d left together, want %d", i, got, want)
		}
	}
}

// TestPipelineToAClusterByAPlainClient: the cluster refuses a call with keys of many
// slots, so requests go by themselves from then on, and none is lost or counted twice.
func TestPipelineToAClusterByAPlainClient(t *testing.T) {
	var nodes []string
	if err := cluster(t).ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error {
		nodes = append(nodes, c.Options().Addr)
		return nil
	}); err != nil || len(nodes) != 1 {
		t.Fatalf("nodes %q and error %v, want one", nodes, err)
	}
	client := redis.NewClient(limiter.Tune(&redis.Options{Addr: nodes[0]}))
	defer client.Close()
	n := new(calls)
	client.AddHook(n)
	l := pipelined(t, client, limiter.LogPacked)
	askAll(t, l)
	refused := n.more.Load()
	if connections := client.PoolStats().TotalConns; refused == 0 || connections > 2 {
		t.Errorf("%d calls were refused, by %d connections; want some, and those of two calls at a time", refused, connections)
	}
	n.one.Store(0)
	if err := l.Reset(t.Context(), limiter.Request{Key: "0"}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := l.Allow(t.Context(), limiter.Request{Key: "0", At: t0}); err != nil {
			t.Error(err)
		}
	}
	if n.more.Load() != refused || n.one.Load() != 10 {
		t.Errorf("then %d more calls with many keys, and %d with one, want 10", n.more.Load()-refused, n.one.Load())
	}
}

// TestPipelineApart: no call ever has more than one key.
func TestPipelineApart(t *testing.T) {
	o := *managed(t).Client().Options()
	client := redis.NewClient(limiter.Tune(&o))
	defer client.Close()
	n := new(calls)
	client.AddHook(n)
	p, err := limiter.NewPipeline(client)
	if err != nil {
		t.Fatal(err)
	}
	p.Few, p.Apart = 0, true
	c := config(limiter.Counter)
	c.Policy, c.Timeout = "apart-"+rand.Text(), 10*time.Second
	l, err := limiter.New(p, c)
	if err != nil {
		t.Fatal(err)
	}
	askAll(t, l)
	if connections := client.PoolStats().TotalConns; n.more.Load() != 0 || n.one.Load() < 400 || connections > 1 {
		t.Errorf("%d calls with many keys, and %d with one, by %d connections, want 0, 400 and one", n.more.Load(), n.one.Load(), connections)
	}
}

// TestBatchErrorsAreNoRefusal: an error of a script itself, whatever it says, has run,
// and is not sent again.
func TestBatchErrorsAreNoRefusal(t *testing.T) {
	client := managed(t).Client()
	a := limiter.Fixed
	a.Name, a.Script = "mine", "redis.call('INCR', KEYS[1]) return redis.error_reply('CROSSSLOT mine')"
	l := pipelined(t, client, a)
	for range 3 {
		if _, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: t0}); !limiter.Answered(err) {
			t.Errorf("got error %v, want the script's", err)
		}
	}
	if n, err := client.Get(t.Context(), l.Keys("a")[0]).Int(); n != 3 || err != nil {
		t.Errorf("counted %d times, error %v, want 3", n, err)
	}
}

// TestPipelineFlights: limiters that share a pipeline never have more calls on their way
// than leave the pool a connection for each; who waits for that can leave, and was not
// sent.
func TestPipelineFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{
			Client: redis.NewClient(limiter.Tune(&redis.Options{PoolSize: 3})),
			calls:  make(chan []string, 10), free: make(chan error),
		}
		defer h.Close()
		p, err := limiter.NewPipeline(h)
		if err != nil {
			t.Fatal(err)
		}
		p.Few = 1 // who needs one of the three
		leaving, leave := context.WithCancel(t.Context())
		var errs [5]error
		for i := range errs {
			c := config(limiter.Fixed)
			c.Policy, c.Timeout = fmt.Sprint("flights-", i), time.Minute
			l, err := limiter.New(p, c)
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if i == 4 {
				ctx = leaving
			}
			go func() { _, errs[i] = l.Allow(ctx, limiter.Request{Key: "a", At: t0}) }()
			synctest.Wait()
		}
		if len(h.calls) != 3 {
			t.Errorf("%d calls on their way, want 3: the lone caller's and two more", len(h.calls))
		}
		leave()
		synctest.Wait()
		if err := errs[4]; !errors.Is(err, context.Canceled) || errors.Is(err, limiter.ErrUnknown) || !strings.Contains(err.Error(), "nothing was sent") {
			t.Errorf("left before it was sent: %v, want a certain fate", err)
		}
		c := config(limiter.Fixed)
		c.Policy, c.Timeout = "flights-short", time.Second
		l, err := limiter.New(p, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: t0}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, limiter.ErrUnknown) {
			t.Errorf("waited for its turn until its time was over: %v, want a certain fate", err)
		}
		if n := l.Counters().Snapshot().Errors[limiter.TroubleNoConnection]; n != 1 {
			t.Errorf("counted %v, want one that got no connection", l.Counters().Snapshot().Errors)
		}
		for range 4 {
			h.free <- nil
			synctest.Wait()
		}
		if len(h.calls) != 4 || errors.Join(errs[1:4]...) != nil { // what is no reply to one key is the lone caller's
			t.Errorf("%d calls and errors %v, want one for each who stayed", len(h.calls), errs)
		}
	})
}

// TestPipelineCallerLeaves: who waits for a reply that does not come can leave at once,
// also where requests do not share calls.
func TestPipelineCallerLeaves(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	heard, hangUp := make(chan struct{}, 10), make(chan struct{})
	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if n, _ := conn.Read(make([]byte, 1)); n > 0 {
					heard <- struct{}{}
				}
				<-hangUp
			}()
		}
	}()
	client := redis.NewClient(limiter.Tune(&redis.Options{Addr: mute.Addr().String(), ReadTimeout: time.Minute}))
	defer client.Close()
	defer close(hangUp) // or closing would wait for replies
	p, err := limiter.NewPipeline(client)
	if err != nil {
		t.Fatal(err)
	}
	p.Few, p.Apart = 0, true
	c := config(limiter.Fixed)
	c.Timeout, c.OnFailure = time.Minute, limiter.FailError
	l, err := limiter.New(p, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-heard
		leave()
	}()
	if _, err := l.Allow(ctx, limiter.Request{Key: "a", At: t0}); !errors.Is(err, context.Canceled) || !errors.Is(err, limiter.ErrUnknown) {
		t.Errorf("got error %v, want that the caller left, and an unknown fate", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Allow(overtime{short}, limiter.Request{Key: "a", At: t0}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the caller's time", err)
	}
}

// overtime is a context that ends before the deadline that it tells.
type overtime struct{ context.Context }

func (overtime) Deadline() (time.Time, bool) { return time.Time{}, false }

// old is a client of a Redis that tells a script where in it a command has failed.
type old struct{ *redis.Client }

func (old) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.(interface{ SetVal(any) }).SetVal([]any{[]any{"@user_script: 41: WRONGTYPE Operation against a key"}})
	return nil
}

// TestBatchErrorsOfAnOldServer: an error has the words that it has from a new one.
func TestBatchErrorsOfAnOldServer(t *testing.T) {
	client := old{redis.NewClient(limiter.Tune(&redis.Options{}))}
	defer client.Close()
	l := pipelined(t, client, limiter.Log)
	if _, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: t0}); err == nil || !redis.HasErrorPrefix(err, "WRONGTYPE Operation") {
		t.Errorf("got error %v", err)
	}
}
