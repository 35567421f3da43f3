package limiter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// TestScriptReplies: every kind of reply arrives as it is, and the arguments in
// their order.
func TestScriptReplies(t *testing.T) {
	for name, client := range map[string]*redis.Client{"embedded": embedded(t).Client(), "managed": managed(t).Client()} {
		for _, row := range []struct {
			source, why string
			want        any
		}{
			{"return 7", "an integer", int64(7)},
			{"return '0.25'", "text", "0.25"},
			{"return redis.status_reply('QUEUED')", "a status", "QUEUED"},
			{"return nil", "nothing", nil},
			{"return false", "Lua's false is nothing too", nil},
			{"return {1, false, 'x', {2}}", "an array of all of them", []any{int64(1), nil, "x", []any{int64(2)}}},
			{"return {}", "an array of none", []any{}},
			{"return {KEYS[1], KEYS[2], ARGV[1], ARGV[2], #KEYS}", "what was sent", []any{"{k}a", "{k}b", "5", "x", int64(2)}},
		} {
			got, err := limiter.NewScript(client, row.source).Run(t.Context(), []string{"{k}a", "{k}b"}, 5, "x")
			if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
				t.Errorf("%s, %s: error %v, reply (-want +got)\n%s", name, row.why, err, diff)
			}
		}
	}
}

// counting is a Processor that notes the names of commands.
type counting struct {
	limiter.Processor
	names []string
}

func (c *counting) Process(ctx context.Context, cmd redis.Cmder) error {
	c.names = append(c.names, cmd.Name())
	return c.Processor.Process(ctx, cmd)
}

// TestScriptIsLoadedOnce: the source travels when the server does not know it,
// and then no more.
func TestScriptIsLoadedOnce(t *testing.T) {
	client := &counting{Processor: managed(t).Client()}
	s := limiter.NewScript(client, "return redis.call('INCR', KEYS[1]) -- "+t.Name())
	for want := int64(1); want <= 3; want++ {
		if got, err := s.Run(t.Context(), []string{"rl:" + t.Name()}); err != nil || got != want {
			t.Errorf("call %d returned %v and %v: it has to run once", want, got, err)
		}
	}
	if want := []string{"evalsha", "eval", "evalsha", "evalsha"}; !cmp.Equal(client.names, want) {
		t.Errorf("sent %q, want %q", client.names, want)
	}
}

// TestScriptErrors: an error of the script is an answer with its words, and
// what is over before it began was not sent.
func TestScriptErrors(t *testing.T) {
	client := &counting{Processor: managed(t).Client()}
	_, err := limiter.NewScript(client, "return redis.error_reply('MINE too many of them')").Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "MINE too many of them") || !limiter.Answered(err) || errors.Is(err, limiter.ErrUnknown) {
		t.Errorf("an error reply became %v", err)
	}
	client.names = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = limiter.NewScript(client, "return 1").Run(ctx, nil)
	if !errors.Is(err, context.Canceled) || errors.Is(err, limiter.ErrUnknown) || client.names != nil {
		t.Errorf("a context that is over: %v, sent %q", err, client.names)
	}
	lost := redis.NewClient(limiter.Tune(&redis.Options{Addr: rude(t)}))
	defer lost.Close()
	if _, err = limiter.NewScript(lost, "return 1").Run(t.Context(), nil); !errors.Is(err, limiter.ErrUnknown) || limiter.Answered(err) {
		t.Errorf("a reply that never came became %v", err)
	}
}

// TestWrongReplyIsAnAnswer: the server is well, but what the script did is not
// known.
func TestWrongReplyIsAnAnswer(t *testing.T) {
	l := open(t, limiter.Fixed, func(c *limiter.Config) { c.Algorithm.Script = "return {1, 2}" })
	_, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: t0})
	var reply *limiter.ReplyError
	if !errors.As(err, &reply) || reply.Script != "fixed" || !errors.Is(err, limiter.ErrUnknown) || !limiter.Answered(err) {
		t.Errorf("two integers became %v", err)
	}
}
