package faulty

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// t0 is a multiple of all windows: of a minute it is number 29462400 since 1970.
var t0 = time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC)

// ask is one question: "90s 2 b peek" is a peek of cost 2 by b, 90 s after t0.
// The identity is a if none is named. "persist" takes all times to live away,
// "halve" lets them be 30 s.
type ask struct {
	at       time.Duration
	cost     int64
	identity string
	peek     bool
	persist  bool
	halve    bool
}

// asks reads questions: "0s 1; 3*1s 1" is one at 0 s and three at 1 s.
func asks(t *testing.T, text string) (all []ask) {
	t.Helper()
	for _, part := range strings.Split(text, ";") {
		words := strings.Fields(part)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "persist", words[0] == "halve":
			all = append(all, ask{persist: words[0] == "persist", halve: words[0] == "halve"})
			continue
		}
		times := 1
		if n, rest, ok := strings.Cut(words[0], "*"); ok {
			times, _ = strconv.Atoi(n)
			words[0] = rest
		}
		at, err := time.ParseDuration(words[0])
		if err != nil || len(words) < 2 {
			t.Fatalf("question %q: want an instant and a cost: %v", part, err)
		}
		a := ask{at: at, identity: "a"}
		if a.cost, err = strconv.ParseInt(words[1], 10, 64); err != nil {
			t.Fatalf("question %q: %v", part, err)
		}
		if len(words) > 2 {
			a.identity = words[2]
		}
		a.peek = len(words) > 3
		for range times {
			all = append(all, a)
		}
	}
	return all
}

func (a ask) request() limiter.Request {
	return limiter.Request{Key: a.identity, At: t0.Add(a.at), Cost: a.cost}
}

type peeker interface {
	Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error)
}

// answer is what a limiter says: "allowed 2 0s 1m" are remaining, wait and reset.
func (l opened) answer(t *testing.T, client *redis.Client, a ask) string {
	t.Helper()
	if a.persist || a.halve {
		for _, key := range l.keys("a") {
			err := client.Persist(t.Context(), key).Err()
			if a.halve {
				err = client.PExpire(t.Context(), key, 30*time.Second).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return ""
	}
	allow := l.Allow
	if a.peek {
		allow = l.Limiter.(peeker).Peek
	}
	d, err := allow(t.Context(), a.request())
	if err != nil {
		return "refused"
	}
	if !d.At.Equal(t0.Add(a.at)) {
		t.Errorf("asked for %s after t0, decided %s", a.at, d.At.Sub(t0))
	}
	return describe(d)
}

// verdict is an answer without its waits.
func verdict(answer string) string {
	words := strings.Fields(answer)
	return strings.Join(words[:min(len(words), 2)], " ")
}

func describe(d limiter.Decision) string {
	verb := "denied"
	if d.Allowed {
		verb = "allowed"
	}
	wait := func(d time.Duration) string {
		if d == limiter.Never {
			return "never"
		}
		return limiter.FormatDuration(d)
	}
	return fmt.Sprintf("%s %d %s %s", verb, d.Remaining, wait(d.RetryAfter), wait(d.ResetAfter))
}

// model answers as the algorithm's specification does.
type model struct {
	algorithm limiter.Algorithm
	limit     limiter.Limit
	states    map[string]any
}

func newModel(a limiter.Algorithm, l limiter.Limit) model {
	return model{a, l, map[string]any{}}
}

func (m model) answer(a ask) string {
	r := a.request()
	if a.persist || a.halve {
		return ""
	}
	if r.Validate() != nil {
		return "refused"
	}
	state, used := m.states[a.identity]
	if !used {
		state = m.algorithm.Model.Init()
	}
	next, d := m.algorithm.Model.Step(m.limit, state, r)
	if !a.peek {
		m.states[a.identity] = next
	}
	return describe(d)
}

func limitOf(t *testing.T, text string) limiter.Limit {
	t.Helper()
	if text == "" {
		text = "3/1m"
	}
	l, err := limiter.ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// opened is a limiter with the names of its keys.
type opened struct {
	limiter.Limiter
	keys func(string) []string
}

// openSpecimen opens a specimen under a prefix that only this call uses.
func openSpecimen(t *testing.T, client Client, s Specimen, l limiter.Limit, prefix string) opened {
	t.Helper()
	o := Options{Limit: l, Prefix: prefix, Policy: "test"}
	lim, err := s.Open(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return opened{lim, func(id string) []string { return s.Keys(o, id, t0) }}
}

// openSound opens what the specimen would be without its bug.
func openSound(t *testing.T, client Client, s Specimen, l limiter.Limit, prefix string) opened {
	t.Helper()
	lim, err := limiter.New(client, limiter.Config{
		Algorithm: s.base, Limit: l, Prefix: prefix, Policy: "test", OnFailure: limiter.FailError,
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened{lim, lim.Keys}
}
