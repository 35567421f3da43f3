package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// small is a service that is asked by nine clients for less than two seconds: some
// stay within their budgets, some do not, and one asks for two things.
const small = `
version: 1
name: small
limit: 5/1s
clock: server
service: demo
keys: {count: 9}
phases:
  - {name: modest, at: edge, for: window, shape: constant, count: 8, senders: 4, path: /api/v1/trending}
  - {name: greedy, at: edge + window/4, shape: herd, count: 7, skip: 6, path: /api/v1/trending}
  - {name: searching, at: edge + window/2, shape: herd, count: 4, senders: 1, pseudonym: 1, limit: 3, path: "/api/v1/search?q=tramway"}
late: window/2
checks:
  - {metric: error_rate, op: "==", value: 0}
  - {phase: modest, metric: denied, op: "==", value: 0}
  - {phase: greedy, metric: admitted, op: "==", value: 15}
  - {phase: searching, metric: admitted, op: "==", value: 3}
`

// smallFile is small on disk, with something of it replaced.
func smallFile(t *testing.T, replace ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(small)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every algorithm is judged behind HTTP as exactly as without it, and what it leaves
// in Redis names nobody. The catalogue is gone with the run.
func TestServiceScenario(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "live")
	tmp, err := os.MkdirTemp("/tmp", "rl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	var out, errs bytes.Buffer
	for range 5 { // a busy machine is late, and says so
		out.Reset()
		errs.Reset()
		c := exec.Command(plainProgram(t), "run", smallFile(t), "-a", "fixed,log-packed,counter", "--redis", redis, "--keep-keys",
			"--key-prefix", "svc", "--timeout", "10s", "--progress", "none", "-o", "json")
		c.Stdout, c.Stderr, c.Env = &out, &errs, append(os.Environ(), "TMPDIR="+tmp)
		seen := watched(t, redis, func() { _ = c.Run() })
		if len(seen) == 0 {
			t.Error("nobody saw a key")
		}
		for _, key := range seen {
			if !pseudonymousKey.MatchString(key) {
				t.Errorf("key %q", key)
			}
		}
		if c.ProcessState.ExitCode() != exitInconclusive {
			break
		}
	}
	pseudonymous(t, redis)
	r, err := report.Decode(out.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if r.Verdict != scenarios.Pass {
		t.Errorf("%s\n%+v\n%s", r.Verdict, r.Findings, errs.String())
	}
	for _, name := range []string{"fixed", "log-packed", "counter"} {
		exact := slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
			return f.Limiter == name && f.Check == "conformance" && f.Verdict == scenarios.Pass && f.Message == "all 33 decisions equal the model's"
		})
		if !exact {
			t.Errorf("%s: not all decisions were compared", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

var pseudonymousKey = regexp.MustCompile(`^svc:[0-9a-f]{8}:\d+:[\w-]+:(trending|search):\d+:\{[\w-]{16}\}`)

// watched are the keys that were there while something ran: they live for a window
// and a second only.
func watched(t *testing.T, redis string, run func()) []string {
	t.Helper()
	server, err := backend.Open(t.Context(), redis, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	seen := map[string]bool{}
	over := make(chan struct{})
	go func() { run(); close(over) }()
	for {
		select {
		case <-over:
			return slices.Collect(maps.Keys(seen))
		case <-time.After(50 * time.Millisecond):
			for _, key := range server.Client().Keys(t.Context(), "svc*").Val() {
				seen[key] = true
			}
		}
	}
}

// pseudonymous wants no address of a sender at rest.
func pseudonymous(t *testing.T, redis string) {
	t.Helper()
	ctx := context.Background()
	server, err := backend.Open(ctx, redis, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var known []netip.Addr
	var s service
	for key := range int32(9) {
		for pseudonym := range int32(2) {
			for attempt := range 3 {
				addr, _, _ := strings.Cut(s.name(scenarios.Identity{Key: key, Pseudonym: pseudonym}, attempt), "/")
				known = append(known, netip.MustParseAddr(addr))
			}
		}
	}
	found, err := audit.Run(ctx, server.Client(), audit.Options{Prefix: "svc", Addresses: known, Now: time.Now(), MaxTTL: 2 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if found.Failed() {
		t.Errorf("%d keys, findings %+v", found.Keys, found.Findings)
	}
}

// What a service cannot do is a mistake of the scenario, and nothing is sent.
func TestServiceRefusals(t *testing.T) {
	t.Parallel()
	path, limit := "path: /api/v1/trending", "limit: 5/1s\n"
	for _, row := range []struct {
		what    string
		replace []string
		args    []string
		code    int
		want    string
	}{
		{"no path", []string{", " + path + "}", "}"}, nil, 2, `small.yaml:9:5: phase modest: it needs a path of service demo`},
		{"a path and no service", []string{"service: demo\n", ""}, nil, 2, `small.yaml:8:82: path: only what has a "service" is asked for one`},
		{"no service of that name", []string{"demo", "prod"}, nil, 2, `small.yaml:6:10: unknown service "prod"; known: demo`},
		{"a relative path", []string{path, "path: api"}, nil, 2, `path "api": want a path that begins with /`},
		{"somebody else's", []string{path, "path: http://example.com/api"}, nil, 2, `want a path that begins with /`},
		{"virtual time", []string{"clock: server", "clock: virtual"}, nil, 2, "service demo: it decides by the server's clock; say clock: server"},
		{"virtual time by a flag", nil, []string{"--clock", "virtual"}, 2, "plan scenario small: service demo: it decides by the server's clock"},
		{"a tier in front", []string{limit, limit + "edge_tier: {limit: 10/10s}\n"}, nil, 2, "service demo: it has no edge_tier in front"},
		{"two limits of a path", []string{"skip: 6", "skip: 6, limit: 4"}, nil, 2, "phases modest and greedy: /api/v1/trending has one limit"},
		{"two paths of a client", []string{"pseudonym: 1, ", ""}, nil, 2, "they ask for two paths as one client; give each a pseudonym"},
		{"costs", []string{"skip: 6", "skip: 6, cost: 2"}, nil, 2, "phase greedy: each request to a service costs 1"},
		{"two names at once", []string{"skip: 6", "skip: 6, pseudonym: 2, also: 3"}, nil, 2, `phase greedy: a service is told one pseudonym and takes no "also"`},
		{"what the API does not have", []string{"/search", "/serch"}, nil, 2, "phase searching: the demo API answers 404 to /api/v1/serch?q=tramway"},
		{"what the API refuses", []string{"?q=tramway", ""}, nil, 2, "phase searching: the demo API answers 400 to /api/v1/search"},
		{"too many senders", nil, []string{"--set", "keys.count=16385"}, 2, "a service has 16384 senders at most, here are 16385"},
		{"too many pseudonyms", []string{"pseudonym: 1", "pseudonym: 64"}, nil, 2, "a service knows pseudonyms below 64, phase searching has 64"},
		{"a script", nil, []string{"-a", "lua:../testdata/lua/fixed-incr.lua"}, 2, "it cannot stand in front of a service; only bundled algorithms can"},
		{"a specimen", nil, []string{"-a", "faulty:counter"}, 2, "hint: "},
	} {
		t.Run(row.what, func(t *testing.T) {
			var out, errs bytes.Buffer
			h := System()
			h.Out, h.Err = &out, &errs
			args := append([]string{"run", smallFile(t, row.replace...), "--redis", "embedded", "--progress", "none"}, row.args...)
			if code := Main(args, h); code != row.code || !strings.Contains(errs.String(), row.want) || !strings.Contains(errs.String(), "hint: ") {
				t.Errorf("exit %d, want %d and %q\n%s%s", code, row.code, row.want, out.String(), errs.String())
			}
			if strings.Contains(errs.String(), "this is a bug") || out.Len() > 0 {
				t.Errorf("printed %q\n%s", out.String(), errs.String())
			}
		})
	}
}

// An interrupt while the catalogue is filled is no bug of ours.
func TestServiceInterruptedEarly(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond} {
		_, errs, code := interrupted(t, []string{"run", "trending-spike", "-a", "fixed", "--redis", "embedded", "--progress", "none"}, os.Interrupt, delay)
		if code == -1 {
			continue // the signal came before the program could listen
		}
		if code != exitInterrupt || strings.Contains(errs, "bug") {
			t.Errorf("after %s: exit %d\n%s", delay, code, errs)
		}
	}
}

// Whatever a decision is, it comes back as it was.
func TestDecisionsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.OneOf(rapid.Int64Range(0, 1<<62), rapid.Just(int64(limiter.Never)))
		d := limiter.Decision{
			Allowed: rapid.Bool().Draw(t, "allowed"), Limit: rapid.Int64().Draw(t, "limit"), Remaining: rapid.Int64().Draw(t, "remaining"),
			RetryAfter: time.Duration(span.Draw(t, "retry")), ResetAfter: time.Duration(span.Draw(t, "reset")),
			At:     time.UnixMicro(rapid.Int64Range(-1<<50, 1<<55).Draw(t, "at")).UTC(),
			Source: rapid.SampledFrom([]limiter.Source{limiter.SourceRedis, limiter.SourceFailOpen, limiter.SourceFailClosed, limiter.SourceLocal}).Draw(t, "source"),
			Cause:  causes[rapid.SampledFrom(slices.Sorted(maps.Keys(causes))).Draw(t, "cause")],
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		tell(w, r.WithContext(context.WithValue(r.Context(), told{}, &d)))
		got, err := parseDecision(w.Header().Get(decisionField))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, got, cmpopts.EquateErrors()); diff != "" {
			t.Error(diff)
		}
	})
}

// What is no decision is an error, and nothing is told when there is none.
func TestDecisionsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "true", "yes 1 1 0 0 0 redis", "true 1 1 0 0 0", "true 1.5 1 0 0 0 redis", "true 1 1 0 0 99999999999999999999 redis", "true 1 1 0 0 0 redis redis", "true 1 1 0 0 0 redis"} {
		if d, err := parseDecision(text); err == nil {
			t.Errorf("%q is %+v", text, d)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	tell(w, r)
	tell(w, r.WithContext(context.WithValue(r.Context(), told{}, new(limiter.Decision))))
	if len(w.Header()) > 0 {
		t.Errorf("told %v", w.Header())
	}
}

// An answer that does not fit its decision is an error: then one of them is a lie.
func TestAnswersAgreeWithDecisions(t *testing.T) {
	const yes, no = "true 5 4 0 1000 7 redis -", "false 5 0 1000 1000 7 redis -"
	for _, row := range []struct {
		decision string
		status   int
		want     string // the source, or "unknown" or "error"
		why      string
	}{
		{yes, 200, "redis", ""},
		{yes, 503, "unknown", "counted, and the work behind the limiter failed"},
		{yes, 429, "error", "refused although it was admitted"},
		{no, 429, "redis", ""},
		{no, 200, "error", "served although it was denied"},
		{no, 503, "error", "Redis knew of a quota, so the answer is 429"},
		{"false 5 0 0 0 7 fail-closed open", 503, "fail-closed", "nobody knew of a quota"},
		{"true 5 5 0 0 7 fail-open unknown", 200, "fail-open", ""},
		{"", 503, "unknown", "nothing is told of a request that was not decided"},
		{"", 200, "unknown", ""},
		{"nonsense", 200, "error", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if from := r.Header.Get("X-Forwarded-For"); from != "10.0.0.7" {
				t.Errorf("asked in the name of %q", from)
			}
			if row.decision != "" {
				w.Header().Set(decisionField, row.decision)
			}
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, "work")
		}))
		a := &asked{server.Client(), server.URL}
		d, err := a.Allow(context.Background(), limiter.Request{Key: "10.0.0.7/trending"})
		server.Close()
		got := string(d.Source)
		if err != nil {
			got = map[bool]string{true: "unknown", false: "error"}[isUnknown(err)]
		}
		if got != row.want {
			t.Errorf("%d with %q: %s (%v), want %s: %s", row.status, row.decision, got, err, row.want, row.why)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := (&asked{http.DefaultClient, "http://" + l.Addr().String()}).Allow(context.Background(), limiter.Request{Key: "k"}); !isUnknown(err) {
		t.Errorf("nobody listens: %v", err)
	}
}

func isUnknown(err error) bool { return strings.Contains(fmt.Sprint(err), limiter.ErrUnknown.Error()) }

// Nobody shares an address with another identity or attempt.
func TestSendersHaveAddressesOfTheirOwn(t *testing.T) {
	s := service{policies: map[int32]string{}}
	seen := map[string]string{}
	for _, key := range []int32{0, 1, 255, 256, 1<<keyBits - 1} {
		for _, pseudonym := range []int32{0, 1, 1<<pseudonymBits - 1} {
			for attempt := range 16 {
				who := fmt.Sprint(key, pseudonym, attempt)
				name := s.name(scenarios.Identity{Key: key, Pseudonym: pseudonym}, attempt)
				addr, _, _ := strings.Cut(name, "/")
				if !netip.MustParsePrefix("10.0.0.0/8").Contains(netip.MustParseAddr(addr)) {
					t.Errorf("%s is %s", who, addr)
				}
				if other, ok := seen[addr]; ok {
					t.Errorf("%s and %s are %s", who, other, addr)
				}
				seen[addr] = who
			}
		}
	}
}
