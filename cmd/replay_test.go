package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// Neither the names nor the values of keys tell anything of a log.
func TestReplayLeavesNoAddressInRedis(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "live")
	log := filepath.Join("..", "testdata", "logs", "access.log")
	c := exec.Command(plainProgram(t), "run", "replay", "--trace", log, "-a", "all", "--redis", redis, "--keep-keys", "--key-prefix", "rp", "--timeout", "30s", "-q")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := backend.Open(t.Context(), redis, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	keys, err := server.Client().Keys(t.Context(), "rp*").Result()
	if err != nil || len(keys) < 4 {
		t.Fatalf("%d keys and %v, want some of each of four clients", len(keys), err)
	}
	for _, key := range keys {
		dump, err := server.Client().Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{"203.0.113", "198.51.100", "2001:db8", "/feed", "curl"} {
			if strings.Contains(key+dump, raw) {
				t.Errorf("key %q has %q of the log in it", key, raw)
			}
		}
	}
}

// Lines that could not be read are told, and not what is in them.
func TestReplayTellsOfBadLines(t *testing.T) {
	t.Parallel()
	const line = `203.0.113.7 - - [10/Oct/2025:13:55:00 +0000] "GET /users/alice HTTP/1.1" 200 1 "-" "x"` + "\n"
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, []byte(strings.Repeat(line, 150)+"rubbish of 203.0.113.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := Main([]string{"plan", "replay", "--trace", name}, still(&out, &errs)); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if !strings.Contains(errs.String(), "note: left out 1 of 151 lines, which are not of the format combined; the first: ") ||
		!strings.Contains(errs.String(), "note: stamps are of whole seconds") {
		t.Errorf("nothing is told: %s", errs.String())
	}
	for _, raw := range []string{"203.0", "rubbish", "alice", "13:55:00 "} {
		if strings.Contains(out.String()+errs.String(), raw) {
			t.Errorf("%q of the log is told: %s%s", raw, out.String(), errs.String())
		}
	}
}

// Scenarios may be spread as logs can be.
func TestSpreadsAreThoseOfLogs(t *testing.T) {
	var known []string
	for _, s := range trace.Spreads {
		known = append(known, string(s))
	}
	slices.Sort(known)
	if got := slices.Sorted(slices.Values(scenarios.Spreads)); !slices.Equal(got, known) {
		t.Errorf("scenarios know %q, logs %q", got, known)
	}
}

// The part above the most that a plan has is counted and not kept; a bound that the user
// has set ends reading.
func TestPartsOfALogAreBounded(t *testing.T) {
	p := part{most: 3}
	for i := range int64(2000) {
		if p.add(trace.Request{At: i * 1000}) {
			break
		}
	}
	if len(p.requests) != 1002 {
		t.Errorf("%d requests are kept, want 3 and those that may be placed before, of a second", len(p.requests))
	}
	p = part{most: scenarios.MaxArrivals, n: scenarios.MaxArrivals + 5, requests: make([]trace.Request, scenarios.MaxArrivals), begun: true, until: 1 << 62}
	if p.add(trace.Request{At: 1}) || len(p.requests) != scenarios.MaxArrivals {
		t.Errorf("%d requests are kept", len(p.requests))
	}
	err := p.refused(trace.Summary{Requests: p.n})
	if codeOf(err) != exitUsage || !strings.Contains(err.Error(), "10000006 requests, and a plan has 10000000 at most") {
		t.Errorf("too many requests: %v", err)
	}
}
