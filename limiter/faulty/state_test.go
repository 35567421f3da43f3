package faulty

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// left is what a specimen leaves in Redis that the algorithm does not.
type left struct {
	name       string
	given      string // is answered as by the algorithm
	look       func(*testing.T, *redis.Client, opened) string
	got, sound string
}

var traces = []left{
	{"ttl-missing", "0s 1", life, "none", "1m"},
	{"log-ttl-missing", "0s 1", life, "none", "1m"},
	// 60 million milliseconds.
	{"ttl-thousandfold", "0s 1", life, "16h40m", "1m"},
	{"ttl-half-a-window", "0s 1", life, "30s", "1m"},
	{"ttl-not-renewed", "0s 1; halve; 30s 1", life, "30s", "1m"},
	{"counter-expires-with-its-window", "0s 1", life, "1m", "2m"},
	{"ttl-never-healed", "0s 1; persist; 0s 1", life, "none", "1m"},
	{"ttl-never-healed", "0s 3; persist; 0s 1", life, "none", "1m"},
	{"log-never-trims", "0s 3; 60s 3", entriesOf, "6", "3"},
	{"add-then-count", "0s 3; 3*0s 1", entriesOf, "6", "3"},
	{"log-keeps-denied", "0s 3; 0s 1; 0s 1", entriesOf, "5", "3"},
	{"denials-noted", "0s 3; 1s 1; 2s 1", value, "29462400 3..", "29462400 3"},
	{"window-charges-denied", "0s 3; 1s 1; 2s 1", value, "29462400 5", "29462400 3"},
	{"address-at-rest", "0s 1", value, "29462400 1 203.0.113.9", "29462400 1"},
	{"peek-charges", "0s 1; 0s 1 a peek", value, "29462400 2", "29462400 1"},
	{"undeclared-key", "0s 1", undeclared, ":seen", ""},
	{"two-keys-without-a-tag", "0s 1; 0s 1", tags, "2 keys, 0 tags", "1 keys, 1 tags"},
}

func TestTraces(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		for i, row := range traces {
			t.Run(row.name, func(t *testing.T) {
				s, ok := Named(row.name)
				if !ok {
					t.Fatal("no such specimen")
				}
				limit, prefix := limitOf(t, ""), "traces:"+strconv.Itoa(i)
				faulty, sound := openSpecimen(t, client, s, limit, prefix), openSound(t, client, s, limit, prefix)
				specification := newModel(s.base, limit)
				for _, a := range asks(t, row.given) {
					want := specification.answer(a)
					if got := sound.answer(t, client, a); got != want {
						t.Errorf("given %+v: the algorithm says %q, its model %q", a, got, want)
					}
					// Waits of the log show what it keeps.
					if got := faulty.answer(t, client, a); verdict(got) != verdict(want) {
						t.Errorf("given %+v: the specimen says %q, want %q as its model", a, got, want)
					}
				}
				if got := row.look(t, client, faulty); got != row.got {
					t.Errorf("the specimen left %q, want %q", got, row.got)
				}
				if got := row.look(t, client, sound); got != row.sound {
					t.Errorf("the algorithm left %q, want %q", got, row.sound)
				}
			})
		}
	})
}

// life is the time that the key of a has to live, to a quarter of a minute:
// scripts add a second, and the test takes a while.
func life(t *testing.T, client *redis.Client, l opened) string {
	t.Helper()
	d, err := client.PTTL(t.Context(), l.keys("a")[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	if d == -1 {
		return "none"
	}
	return limiter.FormatDuration(d.Round(15 * time.Second))
}

func entriesOf(t *testing.T, client *redis.Client, l opened) string {
	t.Helper()
	n, err := client.ZCard(t.Context(), l.keys("a")[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(n, 10)
}

func value(t *testing.T, client *redis.Client, l opened) string {
	t.Helper()
	text, err := client.Get(t.Context(), l.keys("a")[0]).Result()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// undeclared are the ends of keys that begin like a declared one and are none.
func undeclared(t *testing.T, client *redis.Client, l opened) string {
	t.Helper()
	declared := l.keys("a")[0]
	found, err := client.Keys(t.Context(), declared+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	for _, key := range found {
		if key != declared {
			others = append(others, strings.TrimPrefix(key, declared))
		}
	}
	return strings.Join(others, " ")
}

// tags counts the keys that are declared and exist, and their hash tags.
func tags(t *testing.T, client *redis.Client, l opened) string {
	t.Helper()
	keys, tagged := l.keys("a"), 0
	n, err := client.Exists(t.Context(), keys...).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if strings.HasSuffix(key, "{a}") {
			tagged++
		}
	}
	return strconv.FormatInt(n, 10) + " keys, " + strconv.Itoa(tagged) + " tags"
}

// TestFalsePromise: the specimen is right and its claim is not.
func TestFalsePromise(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		s, _ := Named("false-promise")
		limit := limitOf(t, "3/1m")
		l := openSpecimen(t, client, s, limit, "promise")
		admitted := int64(0)
		for _, a := range asks(t, "59999999us 3; 60s 3") {
			if verdict(l.answer(t, client, a)) == "allowed 0" {
				admitted += a.cost
			}
		}
		if worst := s.Claims.Worst(limit); admitted != 6 || worst != 3 {
			t.Errorf("admitted %d within two ticks and promised at most %d, want 6 and 3", admitted, worst)
		}
	})
}

// meeting lets nobody go on who has read until all have.
type meeting struct {
	reads []string
	size  int
	come  chan struct{}
	all   chan struct{}
}

func (m *meeting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meeting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (m *meeting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if slices.Contains(m.reads, cmd.Name()) {
			m.come <- struct{}{}
			<-m.all
		}
		return err
	}
}

// TestRaces: two ask for the last unit, and both have read before one writes.
func TestRaces(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		for _, row := range []struct {
			name              string
			admitted, refused int
		}{
			{"get-then-set", 2, 0},
			{"count-then-add", 2, 0},
			{"conflict-is-an-admission", 2, 0},
			{"conflict-is-an-error", 1, 1},
		} {
			t.Run(row.name, func(t *testing.T) {
				s, ok := Named(row.name)
				if !ok {
					t.Fatal("no such specimen")
				}
				m := &meeting{reads: []string{"get", "zrangebyscore"}, size: 2, come: make(chan struct{}), all: make(chan struct{})}
				options := *client.Options()
				racing := redis.NewClient(&options)
				defer racing.Close()
				racing.AddHook(m)
				l := openSpecimen(t, racing, s, limitOf(t, "1/1m"), "races:"+row.name)
				if admitted, refused := race(t, m, l); admitted != row.admitted || len(refused) != row.refused {
					t.Errorf("%d admitted and %d refused, want %d and %d", admitted, len(refused), row.admitted, row.refused)
				} else if row.refused > 0 && (!errors.Is(refused[0], redis.TxFailedErr) || errors.Is(refused[0], limiter.ErrUnknown)) {
					t.Errorf("refused with %v, want a conflict after which nothing was counted", refused[0])
				}
			})
		}
	})
}

// TestNoRace: one after the other they are as right as what they were copied from.
func TestNoRace(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		for _, name := range []string{"get-then-set", "count-then-add", "conflict-is-an-admission", "conflict-is-an-error"} {
			s, _ := Named(name)
			l := openSpecimen(t, client, s, limitOf(t, ""), "alone:"+name)
			specification := newModel(s.base, limitOf(t, ""))
			for _, a := range asks(t, "1s 2; 1s 1 a peek; 2s 2; 2s 4; 3s 1; 59s 1; 60s 1; 61s 1; 59s 1; 62s 3; 200s 2; 200s 1 b") {
				if got, want := l.answer(t, client, a), specification.answer(a); got != want {
					t.Errorf("%s: asked %+v: %q, want %q", name, a, got, want)
				}
			}
		}
	})
}

func race(t *testing.T, m *meeting, l limiter.Limiter) (admitted int, refused []error) {
	t.Helper()
	type outcome struct {
		d   limiter.Decision
		err error
	}
	outcomes := make(chan outcome)
	for range m.size {
		go func() {
			d, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: t0})
			outcomes <- outcome{d, err}
		}()
	}
	for range m.size {
		<-m.come
	}
	close(m.all)
	for range m.size {
		switch o := <-outcomes; {
		case o.err != nil:
			refused = append(refused, o.err)
		case o.d.Allowed:
			admitted++
		}
	}
	return admitted, refused
}
