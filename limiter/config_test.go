package limiter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// config is complete and right.
func config(a limiter.Algorithm) limiter.Config {
	return limiter.Config{
		Algorithm: a,
		Limit:     limiter.Limit{Max: 10, Window: time.Minute},
		OnFailure: limiter.FailError,
	}
}

func TestNewRefuses(t *testing.T) {
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for _, row := range []struct {
		why    string
		change func(*limiter.Config)
		faults []string // parts of the error; none: accepted
	}{
		{"complete", func(*limiter.Config) {}, nil},
		{
			"a failure policy has no default", func(c *limiter.Config) { c.OnFailure = "" },
			[]string{"failure policy is not chosen: set OnFailure"},
		},
		{
			"an unknown failure policy", func(c *limiter.Config) { c.OnFailure = "opne" },
			[]string{`failure policy "opne": want one of ["open" "closed" "local" "error"]`},
		},
		{"no algorithm", func(c *limiter.Config) { c.Algorithm = limiter.Algorithm{} }, []string{"no algorithm"}},
		{"no limit", func(c *limiter.Config) { c.Limit = limiter.Limit{} }, []string{"limit 0/0s: window 0s is outside"}},
		{"a limit that the algorithm cannot compute", func(c *limiter.Config) {
			c.Algorithm, c.Limit = limiter.Counter, limiter.Limit{Max: limiter.MaxMax, Window: time.Hour}
		}, []string{"limit 2147483648/1h: ", "cannot be computed exactly"}},
		{"a policy that would break the key apart", func(c *limiter.Config) { c.Policy = "a:b" }, []string{`policy "a:b"`}},
		{"a policy that would move the hash tag", func(c *limiter.Config) { c.Policy = "a{b}" }, []string{`policy "a{b}"`}},
		{"a prefix that would move the hash tag", func(c *limiter.Config) { c.Prefix = "{rl}" }, []string{`key prefix "{rl}"`}},
		{"a prefix may have parts", func(c *limiter.Config) { c.Prefix = "shop:rl" }, nil},
		{"a negative floor", func(c *limiter.Config) { c.TTLFloor = -time.Second }, []string{"TTL floor -1s is negative"}},
		{"everything at once", func(c *limiter.Config) {
			*c = limiter.Config{Algorithm: limiter.Log, Policy: "?", Prefix: "!"}
		}, []string{"limit 0/0s", `policy "?"`, `key prefix "!"`, "failure policy is not chosen"}},
	} {
		c := config(limiter.Fixed)
		row.change(&c)
		l, err := limiter.New(client, c)
		if (err == nil) != (row.faults == nil) || (err == nil) != (l != nil) {
			t.Errorf("%s: got %v, %v, want faults %q", row.why, l, err, row.faults)
			continue
		}
		for _, fault := range row.faults {
			if !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: got error %v, want one with %q", row.why, err, fault)
			}
		}
	}
	if _, err := limiter.New(nil, config(limiter.Log)); err == nil || !strings.Contains(err.Error(), "no Redis client") {
		t.Errorf("without a client: got error %v", err)
	}
}

// TestAlgorithms holds the table to what lists and lookups need.
func TestAlgorithms(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range limiter.Algorithms {
		found, ok := limiter.Named(a.Name)
		if !ok || found.Script != a.Script || seen[a.Name] {
			t.Errorf("%q is not found by its name alone", a.Name)
		}
		seen[a.Name] = true
		if a.Doc == "" || strings.Contains(a.Doc, "\n") || strings.HasSuffix(a.Doc, ".") {
			t.Errorf("%s: Doc %q is not one line for a list", a.Name, a.Doc)
		}
		for _, l := range []limiter.Limit{{Max: 1, Window: time.Millisecond}, {Max: 100, Window: 31 * day}} {
			if a.Worst(l) < l.Max || a.TTL(l) < l.Window || a.TTL(l) > 2*l.Window+time.Second {
				t.Errorf("%s: Worst %d and TTL %s of limit %s are out of bounds", a.Name, a.Worst(l), a.TTL(l), l)
			}
		}
	}
	if a, ok := limiter.Named("leaky"); ok {
		t.Errorf("found %q, which does not exist", a.Name)
	}
}

func TestDial(t *testing.T) {
	for _, bad := range []string{"", "localhost:6379", "http://localhost"} {
		if _, err := limiter.Dial(bad); err == nil || !strings.HasPrefix(err.Error(), "parse Redis URL: ") {
			t.Errorf("Dial(%q): got error %v", bad, err)
		}
	}
	client, err := limiter.Dial("redis://localhost:1/?read_timeout=3s&max_retries=5")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// go-redis turns -1 into 0 when it takes the options.
	if o := client.Options(); o.MaxRetries != 0 || o.ReadTimeout != 3*time.Second || o.DialTimeout != limiter.DefaultTimeout {
		t.Errorf("retries %d, want 0; read timeout %s, want the URL's 3s; dial timeout %s, want the default",
			o.MaxRetries, o.ReadTimeout, o.DialTimeout)
	}
}

func TestRequestErrorsKeepTheKeyOut(t *testing.T) {
	const key = "203.0.113.7"
	for _, r := range []limiter.Request{{Key: key, Cost: -1}, {Key: key, At: time.Unix(-1, 0)}} {
		err := r.Validate()
		if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "cost "+map[bool]string{true: "-1", false: "0"}[r.Cost < 0]) {
			t.Errorf("want an error that shows the request without its key, got %v", err)
		}
	}
}
