package limitertest

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

func client(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(limiter.Tune(&redis.Options{Addr: miniredis.RunT(t).Addr(), ReadTimeout: 10 * time.Second}))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func try(t *testing.T, s specimen) error {
	t.Helper()
	for _, c := range checks {
		if c.Name == s.check {
			suite := Suite{Open: s.open, Client: client(t), Vectors: os.DirFS("../../testdata/vectors"), Seed: 1}
			return c.run(t.Context(), &subject{suite: suite, algorithm: s.algorithm, policies: "kit-" + c.Name})
		}
	}
	t.Fatalf("no check is called %q", s.check)
	return nil
}

// TestSpecimens proves that the checks see what they are for: each specimen has
// one fault, and the same check passes without it.
func TestSpecimens(t *testing.T) {
	unseen := map[string]bool{}
	for _, c := range checks {
		unseen[c.Name] = true
	}
	for _, s := range specimens {
		delete(unseen, s.check)
		t.Run(s.check+"/"+s.fault, func(t *testing.T) {
			var skip Skip
			switch err := try(t, s); {
			case err == nil:
				t.Errorf("the check %s passes a limiter that %s", s.check, s.fault)
			case errors.As(err, &skip):
				t.Errorf("the check was skipped: %v", err)
			default:
				t.Log(err)
			}
		})
	}
	for name := range unseen {
		t.Errorf("no specimen proves the check %s", name)
	}
}

// TestRightLimiter is the control: what most specimens are made of passes. The
// other algorithms are under test in package limiter.
func TestRightLimiter(t *testing.T) {
	Run(t, Suite{
		Open:       Redis,
		Client:     client(t),
		Algorithms: []limiter.Algorithm{limiter.Fixed},
		Vectors:    os.DirFS("../../testdata/vectors"),
		Seed:       1,
	})
}

// TestSkips: what a limiter lacks is skipped with a reason, not passed.
func TestSkips(t *testing.T) {
	for _, check := range []string{"peek", "reset", "keys"} {
		bare := wrapped(check, "", func(_ Setup, l limiter.Limiter) limiter.Limiter { return allow(l.Allow) })
		var skip Skip
		if err := try(t, bare); !errors.As(err, &skip) || skip == "" {
			t.Errorf("%s of a limiter that has only Allow: got %v, want a Skip with a reason", check, err)
		}
	}
}

func TestSuiteIsValidated(t *testing.T) {
	good := Suite{Open: Redis, Client: redis.NewClient(&redis.Options{})}
	defer good.Client.Close()
	for _, row := range []struct {
		why    string
		change func(*Suite)
		wrong  bool
	}{
		{"complete", func(*Suite) {}, false},
		{"a check is left out by name", func(s *Suite) { s.Skip = map[string]string{"keys": "has none"} }, false},
		{"no limiter", func(s *Suite) { s.Open = nil }, true},
		{"no server", func(s *Suite) { s.Client = nil }, true},
		{"a client whose keys cannot be seen", func(s *Suite) { s.Client = struct{ redis.UniversalClient }{s.Client} }, true},
		{"a misspelt check would be run in silence", func(s *Suite) { s.Skip = map[string]string{"key": "typo"} }, true},
	} {
		s := good
		row.change(&s)
		if err := s.validate(); (err != nil) != row.wrong {
			t.Errorf("%s: got error %v, want one: %t", row.why, err, row.wrong)
		}
	}
}
