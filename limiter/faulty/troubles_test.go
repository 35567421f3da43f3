package faulty

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// A lost reply is counted twice by a client that retries, and once by one that does
// not; both hear of it in the decision after.
func TestTroublesOfRetries(t *testing.T) {
	s, err := backend.Open(t.Context(), "embedded", backend.Options{Timeout: 10 * time.Second, Injectable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	specimen, _ := Named("client-retries")
	for _, row := range []struct {
		hits   int // replies in a row that are lost
		answer string
		failed bool
	}{
		{0, "allowed 9 0s 1m", false},
		{1, "allowed 8 0s 1m", false},
		{3, "allowed 6 0s 1m", false},
		{4, "", true}, // the first and three retries
	} {
		l := openSpecimen(t, s.Client(), specimen, limitOf(t, "10/1m"), "retries:"+strings.Repeat("i", row.hits))
		var i *backend.Injection
		if row.hits > 0 {
			if i, err = s.Inject(t.Context(), backend.Fault{Kind: "lost-reply", Hits: row.hits}); err != nil {
				t.Fatal(err)
			}
		}
		// The script is there, so that it is no operation of its own.
		if err := redis.NewScript(limiter.Fixed.Script).Load(t.Context(), s.Client()).Err(); err != nil {
			t.Fatal(err)
		}
		d, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: t0})
		if (err != nil) != row.failed || row.failed && !errors.Is(err, limiter.ErrUnknown) || !row.failed && describe(d) != row.answer {
			t.Errorf("%d replies lost: %s, %v; want %s", row.hits, describe(d), err, row.answer)
		}
		if i != nil {
			if hits := len(i.Hits()); hits != row.hits {
				t.Errorf("%d replies were to be lost, %d were", row.hits, hits)
			}
			if err := i.End(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A script that the server has forgotten is not sent again.
func TestTroublesOfScripts(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		specimen, _ := Named("noscript-unhandled")
		l := openSpecimen(t, client, specimen, limitOf(t, ""), "scripts")
		sound := openSound(t, client, specimen, limitOf(t, ""), "scripts")
		r := limiter.Request{Key: "a", At: t0}
		if _, err := l.Allow(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Allow(t.Context(), r); err == nil || !strings.Contains(err.Error(), "NOSCRIPT") || errors.Is(err, limiter.ErrUnknown) {
			t.Errorf("the specimen: %v", err)
		}
		if d, err := sound.Allow(t.Context(), r); err != nil || !d.Allowed {
			t.Errorf("the algorithm: %+v, %v", d, err)
		}
	})
}

// With nobody to ask, they do otherwise than they were told, or do not say why.
func TestTroublesOfPolicies(t *testing.T) {
	client := redis.NewClient(limiter.Tune(&redis.Options{Addr: "127.0.0.1:1"}))
	defer client.Close()
	r := limiter.Request{Key: "a", At: t0}
	for _, row := range []struct {
		name    string
		chosen  limiter.Failure
		allowed bool
		source  limiter.Source // "" if the error is returned
		cause   bool
	}{
		{"policy-ignored", limiter.FailClosed, true, limiter.SourceFailOpen, true},
		{"policy-ignored", limiter.FailOpen, true, limiter.SourceFailOpen, true},
		{"cause-withheld", limiter.FailClosed, false, limiter.SourceFailClosed, false},
		{"cause-withheld", limiter.FailOpen, true, limiter.SourceFailOpen, false},
		{"cause-withheld", limiter.FailError, false, "", false},
		{"client-retries", limiter.FailClosed, false, "", false},
	} {
		specimen, _ := Named(row.name)
		l, err := specimen.Open(client, Options{Limit: limitOf(t, ""), Prefix: "p", Policy: "q", OnFailure: row.chosen})
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.Allow(t.Context(), r)
		if (err != nil) != (row.source == "") || d.Allowed != row.allowed || d.Source != row.source || (d.Cause != nil) != row.cause {
			t.Errorf("%s, told %s: %+v, %v", row.name, row.chosen, d, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d, err := l.Allow(ctx, r); err == nil {
			t.Errorf("%s, nobody waits: %+v", row.name, d)
		}
	}
}

// What was used under the old name counts, if both are told; not for the specimen.
func TestTroublesOfNames(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		specimen, _ := Named("forgets-on-rotation")
		l := openSpecimen(t, client, specimen, limitOf(t, ""), "names")
		sound := openSound(t, client, specimen, limitOf(t, ""), "names")
		for _, asked := range []limiter.Limiter{l, sound} {
			if _, err := asked.Allow(t.Context(), limiter.Request{Key: "old", At: t0, Cost: 3}); err != nil {
				t.Fatal(err)
			}
		}
		r := limiter.Request{Key: "new", Also: "old", At: t0}
		got, err := l.Allow(t.Context(), r)
		want, soundErr := sound.Allow(t.Context(), r)
		if err != nil || soundErr != nil || !got.Allowed || want.Allowed {
			t.Errorf("the specimen says %+v, %v, the algorithm %+v, %v", got, err, want, soundErr)
		}
	})
}

// Who can be told more than a limit says so.
func TestTakes(t *testing.T) {
	for _, s := range Specimens {
		policy, names := s.Name == "policy-ignored" || s.Name == "cause-withheld", s.Name == "forgets-on-rotation"
		if s.TakesPolicy() != policy || s.TakesSecondNames() != names {
			t.Errorf("%s: takes a policy %t, second names %t", s.Name, s.TakesPolicy(), s.TakesSecondNames())
		}
	}
}
