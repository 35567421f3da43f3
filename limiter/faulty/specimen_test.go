package faulty

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// checks are those that must each have a specimen of its own.
var checks = []string{
	"evidence", "promise", "conformance", "retry", "remaining", "denied-is-free", "recovers", "fresh", "peek",
	"costs", "ttl", "heal", "members", "keys", "identity", "denies", "policy", "checks",
}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Specimens {
		switch {
		case seen[s.Name]:
			t.Errorf("two specimens are called %s", s.Name)
		case !kebab.MatchString(s.Name):
			t.Errorf("%s: want a name in kebab case", s.Name)
		case s.Doc == "" || strings.HasSuffix(s.Doc, "."):
			t.Errorf("%s: want a line without a full stop, got %q", s.Name, s.Doc)
		case s.Seen != "" && !strings.HasPrefix(s.Seen, "https://github.com/"):
			t.Errorf("%s: was seen at %q, want a report", s.Name, s.Seen)
		case !kebab.MatchString(s.Scenario):
			t.Errorf("%s: want a scenario, got %q", s.Name, s.Scenario)
		case !slices.Contains(checks, s.Check):
			t.Errorf("%s: no check is called %s", s.Name, s.Check)
		case s.Claims.Name != "" && s.Claims.Name != s.base.Name:
			t.Errorf("%s: claims to be %s and is a copy of %s", s.Name, s.Claims.Name, s.base.Name)
		case s.Check == "promise" && s.Claims.Worst == nil, s.Check == "conformance" && s.Claims.Name == "":
			t.Errorf("%s: %s asks nothing of what claims nothing", s.Name, s.Check)
		}
		seen[s.Name] = true
		if got, ok := Named(s.Name); !ok || got.Doc != s.Doc {
			t.Errorf("Named(%q) does not find it", s.Name)
		}
	}
	if len(Specimens) < 44 || len(Names()) != len(Specimens) || Names()[0] != "get-then-set" {
		t.Errorf("%d specimens with %d names", len(Specimens), len(Names()))
	}
	if _, ok := Named("none"); ok {
		t.Error("a specimen is called none")
	}
}

// TestEachCheckIsAlone: for every check there is a bug that no other would see.
func TestEachCheckIsAlone(t *testing.T) {
	for _, check := range checks {
		if !slices.ContainsFunc(Specimens, func(s Specimen) bool { return s.Only && s.Check == check }) {
			t.Errorf("no specimen is for %s alone", check)
		}
	}
}

// TestEachIsShown: every specimen has a row that shows its bug.
func TestEachIsShown(t *testing.T) {
	shownBy := map[string]bool{
		"get-then-set": true, "count-then-add": true, "conflict-is-an-admission": true, "conflict-is-an-error": true, // TestRaces
		"false-promise":  true,                                                                                                          // TestFalsePromise
		"client-retries": true, "noscript-unhandled": true, "policy-ignored": true, "cause-withheld": true, "forgets-on-rotation": true, // TestTroubles
	}
	for _, row := range differences {
		if row.got == row.sound {
			t.Errorf("%s: its row shows no difference", row.name)
		}
		shownBy[row.name] = true
	}
	for _, row := range traces {
		if row.got == row.sound {
			t.Errorf("%s: its row shows no difference", row.name)
		}
		shownBy[row.name] = true
	}
	for _, s := range Specimens {
		if !shownBy[s.Name] {
			t.Errorf("nothing shows the bug of %s", s.Name)
		}
	}
}

// TestBelowTheLimit: away from its bug a specimen admits what is far below the
// limit, and touches no key that is not its own.
func TestBelowTheLimit(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		for _, s := range Specimens {
			if s.Name == "bucket-starts-empty" {
				continue // the first is denied: that is the bug
			}
			l := openSpecimen(t, client, s, limitOf(t, "10/1m"), "below:"+s.Name)
			for _, a := range asks(t, "0s 1; 1s 1; 30s 1; 60s 1; 61s 1; 200s 1") {
				if got := l.answer(t, client, a); !strings.HasPrefix(got, "allowed") {
					t.Errorf("%s: asked %+v: %q, want it allowed", s.Name, a, got)
				}
			}
			n, err := client.Exists(t.Context(), l.keys("a")...).Result()
			if err != nil || n != int64(len(l.keys("a"))) {
				t.Errorf("%s: %d of its keys %q exist, error %v", s.Name, n, l.keys("a"), err)
			}
		}
	})
}

// TestServerClock: without an instant the server's clock decides.
func TestServerClock(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		for _, s := range Specimens {
			l := openSpecimen(t, client, s, limitOf(t, "10/24h"), "clock:"+s.Name)
			before := client.Time(t.Context()).Val()
			d, err := l.Allow(t.Context(), limiter.Request{Key: "a"})
			after := client.Time(t.Context()).Val()
			if err != nil || d.At.Before(before) || d.At.After(after) || d.Source != limiter.SourceRedis {
				t.Errorf("%s: decided at %s by %q, error %v, want %s to %s", s.Name, d.At, d.Source, err, before, after)
			}
		}
	})
}

// TestEditsFit: an edit whose place is gone, or not the only one, is an error.
func TestEditsFit(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for _, row := range []struct{ from, want string }{
		{"no such place", "0 times"},
		{"local", "times"},
	} {
		s := Specimen{Name: "mine", base: limiter.Fixed, edits: []edit{{row.from, ""}}}
		_, err := s.Open(client, Options{Limit: limitOf(t, "")})
		if err == nil || !strings.Contains(err.Error(), "open specimen mine: edit the script of fixed") || !strings.Contains(err.Error(), row.want) {
			t.Errorf("edit of %q: error %v, want one about %s", row.from, err, row.want)
		}
	}
	for _, s := range Specimens {
		if _, err := s.algorithm(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// TestInvalid: options are checked as by limiter.New, and requests by all.
func TestInvalid(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for _, s := range Specimens {
		if _, err := s.Open(client, Options{}); err == nil {
			t.Errorf("%s: opened with a limit of %s", s.Name, limiter.Limit{})
		}
		if keys := s.Keys(Options{}, "a", t0); keys != nil {
			t.Errorf("%s: has keys %q without a limit", s.Name, keys)
		}
		l := openSpecimen(t, client, s, limitOf(t, ""), "invalid")
		for _, r := range []limiter.Request{{At: t0}, {Key: "a", At: t0, Cost: limiter.MaxMax + 1}} {
			if _, err := l.Allow(t.Context(), r); err == nil || !strings.HasPrefix(err.Error(), "request {") {
				t.Errorf("%s: %+v: error %v, want one about the request", s.Name, r, err)
			}
		}
	}
}

// TestValidate: a limit is refused that the algorithm cannot compute.
func TestValidate(t *testing.T) {
	huge := limitOf(t, "1000000000/1h") // 10⁹ × 3.6 × 10⁹ µs is above 2^53
	for _, row := range []struct {
		name string
		ok   bool
	}{{"float-weight", false}, {"bucket-starts-empty", false}, {"get-then-set", true}} {
		s, _ := Named(row.name)
		if err := s.Validate(huge); (err == nil) != row.ok {
			t.Errorf("%s: limit %s: error %v, want one: %t", row.name, huge, err, !row.ok)
		}
	}
}

// TestKeysAreApart: no two specimens share a budget.
func TestKeysAreApart(t *testing.T) {
	owner := map[string]string{}
	for _, s := range Specimens {
		for _, key := range s.Keys(Options{Limit: limitOf(t, ""), Prefix: "p", Policy: "q"}, "a", t0) {
			if !strings.HasPrefix(key, fmt.Sprintf("p:%s:q:60000000:", s.Name)) || owner[key] != "" {
				t.Errorf("%s: key %s, also of %q", s.Name, key, owner[key])
			}
			owner[key] = s.Name
		}
	}
}
