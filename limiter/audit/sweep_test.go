package audit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
)

// recorder keeps the commands that a client sends.
type recorder struct {
	mu   sync.Mutex
	sent [][]any
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		r.add(c)
		return next(ctx, c)
	}
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		r.add(all...)
		return next(ctx, all)
	}
}

func (r *recorder) add(all ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range all {
		r.sent = append(r.sent, c.Args())
	}
}

// name is that of a command in audit.Commands.
func name(args []any) string {
	text := strings.ToLower(fmt.Sprint(args[0]))
	switch text {
	case "config", "slowlog", "client", "cluster":
		text += "|" + strings.ToLower(fmt.Sprint(args[1]))
	}
	return text
}

func (r *recorder) count(verb string) (n int) {
	for _, args := range r.sent {
		if name(args) == verb {
			n++
		}
	}
	return n
}

// An audit sends only what it says it sends, and leaves everything as it was.
func TestOnlyReads(t *testing.T) {
	s := open(t)
	fill(t, s)
	before, stats := dump(t, s), calls(t, s)
	seen := &recorder{}
	s.Client().AddHook(seen)
	run(t, s, audit.Options{Addresses: given})
	for _, args := range seen.sent {
		if !slices.Contains(audit.Commands, name(args)) {
			t.Errorf("sent %v", args)
		}
	}
	seen.sent = nil
	for command, n := range calls(t, s) {
		if n > stats[command] && !slices.Contains(append(audit.Commands, "hello", "client|setinfo", "select", "ping"), command) {
			t.Errorf("the server counts %d calls of %s, %d before", n, command, stats[command])
		}
	}
	if diff := cmp.Diff(before, dump(t, s)); diff != "" {
		t.Errorf("keys changed:\n%s", diff)
	}
}

// fill writes keys of every type, small and large.
func fill(t *testing.T, s *backend.Server) {
	t.Helper()
	do(
		t, s,
		[]any{"SET", "a:string", strings.Repeat("x", 300_000)},
		[]any{"SET", "a:expiring", "1", "PX", 3_600_000},
		[]any{"XADD", "a:stream", "1-1", "field", "value"},
	)
	p := s.Client().Pipeline()
	for i := range 3000 {
		p.HSet(t.Context(), "a:hash", fmt.Sprint("f", i), i)
		p.SAdd(t.Context(), "a:set", fmt.Sprint("m", i))
		p.ZAdd(t.Context(), "a:zset", redis.Z{Score: float64(i), Member: fmt.Sprint("m", i)})
		p.RPush(t.Context(), "a:list", fmt.Sprint("e", i))
		p.XAdd(t.Context(), &redis.XAddArgs{Stream: "a:stream", ID: fmt.Sprintf("2-%d", i), Values: []any{"field", "value"}})
	}
	exec(t, p)
}

func exec(t *testing.T, p redis.Pipeliner) {
	t.Helper()
	if _, err := p.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// many writes keys whose values are an address.
func many(t *testing.T, s *backend.Server, n int) {
	t.Helper()
	p := s.Client().Pipeline()
	for i := range n {
		p.Set(t.Context(), fmt.Sprint("k", i), "203.0.113.7", 0)
	}
	exec(t, p)
}

func dump(t *testing.T, s *backend.Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range s.Client().Keys(t.Context(), "*").Val() {
		all[key] = s.Client().Dump(t.Context(), key).Val() + s.Client().PExpireTime(t.Context(), key).String()
	}
	return all
}

func calls(t *testing.T, s *backend.Server) map[string]int64 {
	t.Helper()
	stats, err := s.CommandStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int64{}
	for command, stat := range stats {
		// What the test itself uses.
		if command != "keys" && command != "dump" && command != "pexpiretime" {
			n[command] = stat.Calls
		}
	}
	return n
}

// Large keys are read in pages, to the end if they may be.
func TestEverythingIsReadInPages(t *testing.T) {
	s := open(t)
	fill(t, s)
	seen := &recorder{}
	s.Client().AddHook(seen)
	r := run(t, s, audit.Options{})
	if len(r.Gaps) > 0 {
		t.Errorf("gaps %+v", r.Gaps)
	}
	// Strings count as their pages, and scans may repeat elements.
	if r.Elements < 5*3000 || r.Elements > 5*3000+100 {
		t.Errorf("read %d elements, want %d", r.Elements, 5*3000)
	}
	for _, verb := range []string{"hscan", "sscan", "zscan", "lrange", "xrange"} {
		if n := seen.count(verb); n < 3000/400 || n > 3000/100 {
			t.Errorf("%s was sent %d times for 3000 elements", verb, n)
		}
	}
	if n := seen.count("getrange"); n != 6 { // the other string is one
		t.Errorf("getrange was sent %d times for 300,000 bytes", n)
	}
}

// What is at the very end of a large key is found, also across a seam.
func TestTheEndIsSeen(t *testing.T) {
	s := open(t)
	pad := strings.Repeat(".", 64<<10-4)
	do(
		t, s,
		[]any{"SET", "a:string", pad + "203.0.113.7" + pad + " 198.51.100.1", "PX", 60_000},
		[]any{"RPUSH", "a:list", "x"},
		[]any{"PEXPIRE", "a:list", 60_000},
	)
	for range 1000 {
		do(t, s, []any{"RPUSHX", "a:list", "x"})
	}
	do(t, s, []any{"RPUSHX", "a:list", "198.51.100.1"})
	r := run(t, s, audit.Options{})
	if len(r.Findings) != 1 || r.Findings[0].Keys != 2 || r.Findings[0].Count != 3 {
		t.Errorf("found %+v, want three addresses in two keys", r.Findings)
	}
}

// The bounds of a sweep hold, and are told when they do.
func TestBounds(t *testing.T) {
	s := open(t)
	fill(t, s)
	p := s.Client().Pipeline()
	for i := range 5000 {
		p.Set(t.Context(), fmt.Sprint("b:", i), "1", time.Hour)
	}
	exec(t, p)
	seen := &recorder{}
	s.Client().AddHook(seen)
	pauses := 0
	r := run(t, s, audit.Options{
		MaxKeys: 1000, MaxElements: 500, MaxBytes: 10_000,
		Pause: func(context.Context) error { pauses++; return nil },
	})
	if r.Keys != 1000 || r.Total != 5007 {
		t.Errorf("looked at %d of %d keys", r.Keys, r.Total)
	}
	if len(r.Gaps) == 0 || r.Gaps[0].Code != "max-keys" && r.Gaps[len(r.Gaps)-1].Code != "max-keys" {
		t.Errorf("gaps %+v", r.Gaps)
	}
	// A page of keys is 256, and every key is asked for its type and its time.
	if n := seen.count("scan"); n > 8 || pauses < 3 || pauses > n {
		t.Errorf("scan was sent %d times, with %d pauses", n, pauses)
	}
	if types, ttls := seen.count("type"), seen.count("pttl"); types != 1000 || ttls != 1000 {
		t.Errorf("type was sent %d times, pttl %d times", types, ttls)
	}
	for _, verb := range []string{"keys", "get", "hgetall", "smembers", "dump"} {
		if n := seen.count(verb); n > 0 {
			t.Errorf("%s was sent %d times", verb, n)
		}
	}

	r = run(t, s, audit.Options{MaxElements: 500, MaxBytes: 10_000, Prefix: "a:"})
	if r.Keys != 7 || len(r.Gaps) != 1 || r.Gaps[0].Code != "key-too-big" || r.Gaps[0].Keys != 6 {
		t.Errorf("looked at %d keys, gaps %+v", r.Keys, r.Gaps)
	}
	if r.Elements > 5*700 || r.Bytes > 80_000 {
		t.Errorf("read %d elements, %d bytes", r.Elements, r.Bytes)
	}
}

// A prefix is meant literally.
func TestPrefix(t *testing.T) {
	s := open(t)
	do(t, s, []any{"SET", "a*b:1", 1}, []any{"SET", "aXb:1", 1}, []any{"SET", "[a]:1", 1}, []any{"SET", `\:1`, 1})
	for prefix, want := range map[string]int64{"a*b": 1, "a": 2, "[a]": 1, `\`: 1, "": 4, "?": 0} {
		if r := run(t, s, audit.Options{Prefix: prefix}); r.Keys != want {
			t.Errorf("prefix %q: looked at %d keys, want %d", prefix, r.Keys, want)
		}
	}
	if r := run(t, s, audit.Options{Prefix: "nothing"}); len(r.Gaps) != 1 || r.Gaps[0].Code != "no-keys" {
		t.Errorf("gaps %+v", r.Gaps)
	}
}

// as opens a client for a user with some rules.
func as(t *testing.T, s *backend.Server, rules ...any) *redis.Client {
	t.Helper()
	do(t, s, append([]any{"ACL", "SETUSER", "auditor", "reset", "on", ">pw", "~*", "resetchannels"}, rules...))
	o := *s.Client().Options()
	o.Username, o.Password = "auditor", "pw"
	c := redis.NewClient(limiter.Tune(&o))
	t.Cleanup(func() { c.Close() })
	return c
}

// What a user may not ask is told with the command, and everything else is still
// looked at.
func TestUserWithoutRights(t *testing.T) {
	s := open(t)
	do(t, s, []any{"SET", "rl:{203.0.113.7}", 1, "PX", 60_000}, []any{"HSET", "h", "203.0.113.7", 1}, []any{"PEXPIRE", "h", 60_000})
	all := make([]any, len(audit.Commands))
	for i, command := range audit.Commands {
		all[i] = "+" + command
	}
	for _, row := range []struct {
		name    string
		rules   []any
		refused []string
		found   int
	}{
		{"only what is documented", all, nil, 2},
		{"no settings", append(slices.Clone(all), "-config|get", "-slowlog|get"), []string{"CONFIG GET", "SLOWLOG GET"}, 2},
		{"no admin at all", append(slices.Clone(all), "-@admin", "-@dangerous"), []string{"INFO", "CONFIG GET", "CLIENT LIST", "SLOWLOG GET"}, 2},
		{"no hashes", append(slices.Clone(all), "-hscan"), []string{"HSCAN"}, 1},
		{"no types", append(slices.Clone(all), "-type"), []string{"TYPE"}, 1},
		{"no times to live", append(slices.Clone(all), "-pttl"), []string{"PTTL"}, 2},
		{"no size", append(slices.Clone(all), "-dbsize"), []string{"DBSIZE"}, 2},
		{"no sweep", append(slices.Clone(all), "-scan"), []string{"SCAN"}, 0},
		{"no keys", append(slices.Clone(all), "resetkeys"), []string{"TYPE", "PTTL"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, err := audit.Run(t.Context(), as(t, s, row.rules...), audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var refused []string
			for _, g := range r.Gaps {
				if g.Code != "command-refused" || g.Hint == "" || strings.Contains(g.Message, "203.0") {
					t.Errorf("gap %+v", g)
				}
				refused = append(refused, g.Command)
			}
			slices.Sort(refused)
			want := slices.Sorted(slices.Values(row.refused))
			if diff := cmp.Diff(want, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s\n%+v", diff, r.Gaps)
			}
			if len(r.Findings) != row.found {
				t.Errorf("found %+v, want %d", r.Findings, row.found)
			}
		})
	}
}

// Somebody with MONITOR is seen.
func TestMonitorIsSeen(t *testing.T) {
	s := open(t)
	do(t, s, []any{"SET", "a", 1, "PX", 60_000})
	conn, err := net.Dial("unix", s.Client().Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 5)); err != nil { // +OK
		t.Fatal(err)
	}
	r := run(t, s, audit.Options{})
	if len(r.Findings) != 1 || r.Findings[0].Kind.Code != audit.Monitor || r.Failed() {
		t.Errorf("found %+v", r.Findings)
	}
}

// An interrupt between two batches ends the sweep with what was seen.
func TestInterrupted(t *testing.T) {
	s := open(t)
	many(t, s, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := audit.Run(ctx, s.Client(), audit.Options{Pause: func(context.Context) error { cancel(); return ctx.Err() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if r == nil || r.Keys < 100 || r.Keys > 1000 || !r.Failed() || r.Gaps[0].Code != "interrupted" {
		t.Errorf("result %+v", r)
	}
}

// A server that is lost on the way leaves what was seen, and an error.
func TestLost(t *testing.T) {
	s := open(t)
	many(t, s, 1000)
	r, err := audit.Run(t.Context(), s.Client(), audit.Options{Pause: func(context.Context) error { return s.Close() }})
	if err == nil {
		t.Error("no error")
	}
	if r == nil || r.Keys < 100 || !r.Failed() || r.Gaps[0].Code != "target-lost" {
		t.Errorf("result %+v", r)
	}
}

// Types of modules cannot be read, which is told; the embedded server stands in
// for a server of another make.
func TestOtherMakes(t *testing.T) {
	s, err := backend.Open(t.Context(), "embedded", backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	do(t, s, []any{"SET", "rl:203.0.113.7", 1})
	r := run(t, s, audit.Options{})
	if len(r.Findings) != 2 || len(r.Gaps) == 0 {
		t.Errorf("found %+v, gaps %+v", r.Findings, r.Gaps)
	}
	for _, g := range r.Gaps {
		if g.Command == "" || g.Hint == "" {
			t.Errorf("gap %+v", g)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []audit.Options{{MaxKeys: -1}, {MaxElements: -1}, {MaxBytes: -1}, {MaxTTL: -1}} {
		if _, err := audit.Run(t.Context(), nil, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
