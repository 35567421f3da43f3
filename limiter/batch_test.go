package limiter_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// pipelined is a limiter whose requests all go through a pipeline.
func pipelined(t *testing.T, client limiter.Pipeliner, a limiter.Algorithm) *limiter.Redis {
	t.Helper()
	p, err := limiter.NewPipeline(client)
	if err != nil {
		t.Fatal(err)
	}
	p.Few = 0
	c := config(a)
	c.Policy, c.Timeout = "batch-"+rand.Text(), 10*time.Second
	l, err := limiter.New(p, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestBatchErrorsAreOnesOwn: a key that holds something else spoils no request but its
// own, whether its error is an answer of the script or of a command.
func TestBatchErrorsAreOnesOwn(t *testing.T) {
	for name, client := range map[string]*redis.Client{"embedded": embedded(t).Client(), "managed": managed(t).Client()} {
		for _, a := range limiter.Algorithms {
			t.Run(name+"/"+a.Name, func(t *testing.T) {
				l := pipelined(t, client, a)
				for key, spoil := range map[string][]any{"type": {"lpush", "", "x"}, "text": {"set", "", "rubbish"}} {
					spoil[1] = l.Keys(key)[0]
					if err := client.Do(t.Context(), spoil...).Err(); err != nil {
						t.Fatal(err)
					}
				}
				var all sync.WaitGroup
				for i := range 100 {
					key := fmt.Sprint("sound", i)
					switch i % 10 {
					case 3:
						key = "type"
					case 7:
						key = "text"
					}
					all.Go(func() {
						d, err := l.Allow(t.Context(), limiter.Request{Key: key, At: t0})
						if sound := strings.HasPrefix(key, "sound"); sound && (err != nil || !d.Allowed || d.Remaining != l.Limit().Max-1) {
							t.Errorf("%s: got %+v and error %v", key, d, err)
						} else if !sound && (!limiter.Answered(err) || errors.Is(err, limiter.ErrUnknown)) {
							t.Errorf("%s: got %+v and error %v, want an answer of the server", key, d, err)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// held is a client whose calls wait for the test. It replies as a script that admits
// everything.
type held struct {
	*redis.Client
	calls chan []string // the keys of each
	free  chan error
}

func (h *held) Process(ctx context.Context, cmd redis.Cmder) error {
	args := cmd.Args()
	var keys []string
	replies := []any{}
	for i := range args[2].(int) {
		keys = append(keys, args[3+i].(string))
		replies = append(replies, []any{int64(1), int64(9), int64(0), int64(0), t0.UnixMicro()})
	}
	h.calls <- keys
	select {
	case err := <-h.free:
		if err == nil {
			cmd.(interface{ SetVal(any) }).SetVal(replies)
		}
		cmd.SetErr(err)
	case <-ctx.Done():
		cmd.SetErr(ctx.Err())
	}
	return cmd.Err()
}

// TestBatches: what comes while two calls are on their way goes together with the next,
// in its order; who has left before is not sent, and whoever leaves later is unknown.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{Client: redis.NewClient(limiter.Tune(&redis.Options{})), calls: make(chan []string, 10), free: make(chan error)}
		defer h.Close()
		l := pipelined(t, h, limiter.Fixed)
		ended := map[string]*error{}
		ask := func(ctx context.Context, key string) {
			end := new(error)
			ended[key] = end
			go func() { _, *end = l.Allow(ctx, limiter.Request{Key: key, At: t0}) }()
			synctest.Wait()
		}
		wants := func(why string, keys ...string) {
			t.Helper()
			for i, key := range keys {
				keys[i] = l.Keys(key)[0]
			}
			select {
			case got := <-h.calls:
				if !slices.Equal(got, keys) {
					t.Errorf("%s: a call of %q, want %q", why, got, keys)
				}
			default:
				t.Errorf("%s: no call, want one of %q", why, keys)
			}
		}
		leaving, leave := context.WithCancel(t.Context())
		staying := t.Context()
		ask(staying, "a")
		wants("nobody waits for company", "a")
		ask(leaving, "b")
		wants("nor is one call alone", "b")
		ask(staying, "c")
		ask(leaving, "d")
		ask(staying, "e")
		if len(h.calls) > 0 {
			t.Errorf("a third call, of %q", <-h.calls)
		}
		leave()
		synctest.Wait()
		if err := *ended["b"]; !errors.Is(err, limiter.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("left after it was sent: %v, want an unknown fate", err)
		}
		if err := *ended["d"]; errors.Is(err, limiter.ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("left before it was sent: %v, want a certain fate", err)
		}
		h.free <- nil // of the two that are on their way, one is a's or nobody's any more
		synctest.Wait()
		wants("what has waited goes together", "c", "e")
		for range 2 {
			h.free <- errors.New("connection reset")
		}
		synctest.Wait()
		for _, key := range []string{"c", "e"} {
			if err := *ended[key]; !errors.Is(err, limiter.ErrUnknown) {
				t.Errorf("%s ended with %v: it shares the fate of its call", key, err)
			}
		}
		for i := range 70 {
			ask(staying, fmt.Sprint(i))
		}
		<-h.calls
		<-h.calls
		h.free <- nil
		synctest.Wait()
		if got := len(<-h.calls); got != 64 {
			t.Errorf("a call of %d, want 64 at most", got)
		}
		for range 3 {
			h.free <- nil
			synctest.Wait()
		}
		if got := len(<-h.calls); got != 4 {
			t.Errorf("a last call of %d, want the rest, 4", got)
		}
	})
}

// TestBatchRepliesThatAreNoDecision: the script has run, so the fate is unknown, as it
// is without a pipeline; and the others' decisions stand.
func TestBatchRepliesThatAreNoDecision(t *testing.T) {
	for _, reply := range []string{"1", "nil", "false", "'text'", "{}", "{1, 2}"} {
		a := limiter.Fixed
		a.Name, a.Script = "mine", "if string.find(KEYS[1], 'odd') then return "+reply+" end return {1, 9, 0, 0, 1}"
		l := pipelined(t, managed(t).Client(), a)
		var all sync.WaitGroup
		for i := range 20 {
			key := []string{"odd", "even"}[i%2]
			all.Go(func() {
				d, err := l.Allow(t.Context(), limiter.Request{Key: key, At: t0})
				if key == "even" && (err != nil || d.Remaining != 9) || key == "odd" && !errors.Is(err, limiter.ErrUnknown) {
					t.Errorf("reply %s, %s: got %+v and error %v", reply, key, d, err)
				}
			})
		}
		all.Wait()
	}
}
