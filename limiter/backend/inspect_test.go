package backend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// sum is the digest of a type and its content, as KeyState defines it.
func sum(kind, content string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(kind+"\n"+content)))
}

// do sends commands that must not fail.
func do(t *testing.T, s *Server, commands ...[]any) {
	t.Helper()
	for _, command := range commands {
		if err := s.Client().Do(t.Context(), command...).Err(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
}

// One key of each type: content is the same whatever the server, and whatever
// the order in which it was written.
func testInspect(t *testing.T, s *Server) {
	long := strings.Repeat("x", contentMax)
	do(
		t, s,
		[]any{"SET", "i:string", "10.0.0.1 \"\x00\xff\n"},
		[]any{"SET", "i:empty", "", "PX", 3_600_000},
		[]any{"SET", "i:long", long},
		[]any{"SET", "i:longer", strings.Repeat("é", contentMax)},
		[]any{"RPUSH", "i:list", "b", "a b", "a"},
		[]any{"SADD", "i:set", "c", "a b", "a"},
		[]any{"HSET", "i:hash", "tokens", "7", "at", "1700000000000000"},
		// A double holds 2^53; 0.1 is what servers print with 17 or with 1 digits.
		[]any{"ZADD", "i:zset", "9007199254740992", "late", "0.1", "early", "-1", "m n", "-1", "m"},
		[]any{"XADD", "i:stream", "1-1", "ip", "10.0.0.1"},
	)
	names := []string{"i:string", "i:empty", "i:absent", "i:long", "i:longer", "i:list", "i:set", "i:hash", "i:zset", "i:stream"}
	got, err := s.Inspect(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	want := []KeyState{
		{Name: "i:string", Type: "string", TTL: NoTTL, Elements: 1, Content: `"10.0.0.1 \"\x00\xff\n"`},
		{Name: "i:empty", Type: "string", Elements: 1, Content: `""`},
		{Name: "i:long", Type: "string", TTL: NoTTL, Elements: 1, Content: `"` + long},
		{Name: "i:longer", Type: "string", TTL: NoTTL, Elements: 1, Content: `"` + strings.Repeat("é", contentMax)},
		{Name: "i:list", Type: "list", TTL: NoTTL, Elements: 3, Collection: true, Content: "\"b\"\n\"a b\"\n\"a\""},
		{Name: "i:set", Type: "set", TTL: NoTTL, Elements: 3, Collection: true, Content: "\"a b\"\n\"a\"\n\"c\""},
		{Name: "i:hash", Type: "hash", TTL: NoTTL, Elements: 2, Collection: true, Content: "\"at\" \"1700000000000000\"\n\"tokens\" \"7\""},
		{
			Name: "i:zset", Type: "zset", TTL: NoTTL, Elements: 4, Collection: true,
			Content: "\"m\" -1\n\"m n\" -1\n\"early\" 0.1\n\"late\" 9007199254740992",
		},
		{Name: "i:stream", Type: "stream", TTL: NoTTL, Elements: 1, Collection: true, Content: `"1-1" "ip" "10.0.0.1"`},
	}
	for i := range want {
		whole := want[i].Content
		if len(whole) > contentMax {
			whole += `"`
		}
		want[i].Digest = sum(want[i].Type, whole)
	}
	want[2].Content = `"` + long[1:]
	want[3].Content = `"` + strings.Repeat("é", contentMax/2-1) // a quote, and then not half of the last one
	if len(got) == len(want) {
		if ttl := got[1].TTL; ttl > time.Hour || ttl < time.Hour-time.Minute {
			t.Errorf("time to live %s", ttl)
		}
		got[1].TTL = 0
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := s.Delete(t.Context(), names); err != nil {
		t.Error(err)
	}
}

// More keys than a chunk; those that do not exist are left out, in any chunk.
func testInspectMany(t *testing.T, s *Server) {
	var keys, want []string
	for i := range 2*chunk + 1 {
		key := fmt.Sprintf("many:%d", i)
		keys = append(keys, key)
		if i%3 != 0 {
			want = append(want, key)
			do(t, s, []any{"RPUSH", key, strings.Repeat("v", 500), i})
		}
	}
	states, err := s.Inspect(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, state := range states {
		got = append(got, state.Name)
		if number := strings.TrimPrefix(state.Name, "many:"); !strings.HasSuffix(state.Content, "\n\""+number+`"`) {
			t.Fatalf("%s has the content of another key: %s", state.Name, state.Content)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d keys, want %d", len(got), len(want))
	}
	if err := s.Delete(t.Context(), keys); err != nil {
		t.Error(err)
	}
	if states, err := s.Inspect(t.Context(), nil); len(states) > 0 || err != nil {
		t.Errorf("of no keys: %v, %v", states, err)
	}
}

// More keys than SCAN returns at once; the embedded server, where each command
// walks all keys, returns any number.
func testScan(t *testing.T, s *Server) {
	n := 2*scanPage + 500
	if s.Flavour() == Embedded {
		n = 300
	}
	var keys []string
	_, err := s.Client().Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			keys = append(keys, fmt.Sprintf("scan:%04d", i))
			p.Set(t.Context(), keys[i], 1, 0)
		}
		p.Set(t.Context(), "scam:0", 1, 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, match string
		most        int
		want        []string
		all         bool
	}{
		{"more room than keys", "scan:*", n + 1, keys, true},
		{"just room", "scan:*", n, keys, true},
		{"one too many", "scan:*", n - 1, keys[:n-1], false},
		{"the first few", "scan:*", 3, keys[:3], false},
		{"none wanted", "scan:*", 0, nil, false},
		{"less than none wanted", "scan:*", -1, nil, false},
		{"a class and a mark", "scan:00[12]?", 100, keys[10:30], true},
		{"nothing matches", "absent:*", 0, nil, true},
	} {
		got, all, err := s.Scan(t.Context(), row.match, row.most)
		if err != nil || all != row.all || !slices.Equal(got, row.want) {
			t.Errorf("%s: %d keys, all %t, %v; want %d, %t", row.name, len(got), all, err, len(row.want), row.all)
		}
	}
	if got, all, err := s.Scan(t.Context(), "", 1); all || len(got) != 1 || err != nil {
		t.Errorf("an empty glob: %v, %t, %v", got, all, err)
	}
	if err := s.Delete(t.Context(), append(keys, "scam:0")); err != nil {
		t.Error(err)
	}
}

// A big live server is not swept; one of our own is, and one key less is.
func TestScanRefusesSweep(t *testing.T) {
	requireRedis(t)
	managed := open(t, "managed", Options{})
	live := open(t, managed.URL(), Options{})
	fill := `for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'k' .. i, 1) end`
	if err := managed.Client().Eval(t.Context(), fill, nil, scanMost).Err(); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if keys, all, err := live.Scan(t.Context(), "k99999", 5); !slices.Equal(keys, []string{"k99999"}) || !all || err != nil {
		t.Errorf("100,000 keys: %v, %t, %v", keys, all, err)
	}
	do(t, managed, []any{"SET", "one more", 1})
	if keys, _, err := live.Scan(t.Context(), "k99999", 5); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "100001 keys") {
		t.Errorf("live: %v, %v", keys, err)
	}
	if keys, all, err := managed.Scan(t.Context(), "k99999", 5); !slices.Equal(keys, []string{"k99999"}) || !all || err != nil {
		t.Errorf("managed: %v, %t, %v", keys, all, err)
	}
}

func testPersist(t *testing.T, s *Server) {
	do(t, s, []any{"SET", "p:brief", 1, "PX", 3_600_000}, []any{"SET", "p:lasting", 1})
	keys := []string{"p:brief", "p:absent", "p:lasting"}
	if err := s.Persist(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	states, err := s.Inspect(t.Context(), keys)
	if err != nil || len(states) != 2 || states[0].TTL != NoTTL || states[1].TTL != NoTTL {
		t.Errorf("got %+v, %v", states, err)
	}
	if err := s.Delete(t.Context(), keys); err != nil {
		t.Error(err)
	}
}

// Keys go from all databases, scripts stay; and from a live server nothing goes.
func testClear(t *testing.T, s *Server) {
	ctx := t.Context()
	hash, err := s.Client().ScriptLoad(ctx, "return 'kept'").Result()
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, []any{"SET", "c:a", 1}, []any{"EVAL", "redis.call('SELECT', 3) return redis.call('SET', KEYS[1], 1)", 1, "c:b"})
	err = s.Clear(ctx)
	kept, failure := s.Client().Exists(ctx, "c:a").Result()
	if failure != nil {
		t.Fatal(failure)
	}
	if s.Flavour() == Live {
		if !errors.Is(err, errors.ErrUnsupported) || kept != 1 {
			t.Errorf("live: %d keys kept, %v", kept, err)
		}
		return
	}
	left, failure := s.Client().Eval(ctx, "redis.call('SELECT', 3) return redis.call('EXISTS', KEYS[1])", []string{"c:b"}).Int()
	if err != nil || kept != 0 || left != 0 || failure != nil {
		t.Errorf("%d and %d keys kept, %v, %v", kept, left, err, failure)
	}
	if text, err := s.Client().EvalSha(ctx, hash, nil).Text(); text != "kept" || err != nil {
		t.Errorf("the script is gone: %q, %v", text, err)
	}
}
