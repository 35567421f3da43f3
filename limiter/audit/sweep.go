package audit

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

const (
	scanPage = 256 // keys that the server walks for one SCAN
	chunk    = 64  // keys that are read in one pipeline, within one timeout
)

// sweep is one audit under way.
type sweep struct {
	client  *redis.Client
	options Options
	matcher *Matcher
	tally   *tally
	result  *Result
	seed    maphash.Seed
	seen    map[uint64]struct{} // hashes of the names of keys: SCAN repeats itself
}

// keys sweeps the database. It walks all keys, but looks only at those that begin
// with the prefix.
func (s *sweep) keys(ctx context.Context) error {
	s.seed = maphash.MakeSeed()
	pattern := globEscape.Replace(s.options.Prefix) + "*"
	for cursor := uint64(0); ; {
		page, next, err := s.client.Scan(ctx, cursor, pattern, scanPage).Result()
		if err != nil {
			return s.refused("SCAN", "the keys of the database", 0, err)
		}
		page = s.fresh(page)
		left := s.options.MaxKeys - s.result.Keys
		if int64(len(page)) > left {
			page = page[:left]
			s.tally.gap(Gap{Code: "max-keys", Message: fmt.Sprintf("the sweep stopped after %d keys", s.options.MaxKeys), Hint: "raise --max-keys, or narrow the sweep with --key-prefix"})
			next = 0
		}
		for some := range slices.Chunk(page, chunk) {
			if err := s.look(ctx, some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)

func (s *sweep) pause(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.options.Pause == nil {
		return nil
	}
	return s.options.Pause(ctx)
}

// fresh leaves out keys that were seen before.
func (s *sweep) fresh(page []string) []string {
	return slices.DeleteFunc(page, func(key string) bool {
		sum := maphash.String(s.seed, key)
		_, known := s.seen[sum]
		s.seen[sum] = struct{}{}
		return known
	})
}

// look reads types and times to live of keys, then what is in them.
func (s *sweep) look(ctx context.Context, keys []string) error {
	types, ttls := make([]*redis.StatusCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			types[i], ttls[i] = p.Type(ctx, key), p.PTTL(ctx, key)
		}
		return nil
	})
	var named []keyOf
	for i, key := range keys {
		kind, err := types[i].Result()
		if err = s.refused("TYPE", "what kind of key it is", 1, err); err != nil {
			return err
		}
		ttl, err := ttls[i].Result()
		ttlKnown := err == nil
		if err = s.refused("PTTL", "times to live", 1, err); err != nil {
			return err
		}
		const gone = -2 // as PTTL says it
		if kind == "none" || ttlKnown && ttl == gone {
			continue
		}
		s.result.Keys++
		s.result.Bytes += int64(len(key))
		if ttlKnown {
			s.judgeTTL(key, ttl)
		}
		s.tally.matches(InKey, key, []byte(key))
		if kind != "" {
			named = append(named, keyOf{key, kind})
		}
	}
	return s.contents(ctx, named)
}

// keyOf is a key and its type.
type keyOf struct{ name, kind string }

// judgeTTL holds a time to live against its bound.
func (s *sweep) judgeTTL(key string, ttl time.Duration) {
	if ttl < 0 {
		s.tally.add(KeyWithoutTTL, InKey, "", key, Example{TTL: -1})
		return
	}
	bound := s.options.MaxTTL
	if bound == 0 {
		window, ok := windowOf(key)
		if !ok {
			return
		}
		// Redis rounds up to its millisecond.
		bound = 2*window + time.Second + time.Millisecond
	}
	if ttl > bound {
		s.tally.add(TTLTooLong, InKey, "", key, Example{TTL: ttl, MaxTTL: bound})
	}
}

// ours is the form of keys of package limiter: prefix:algorithm:policy:window_us:{identity}.
var ours = regexp.MustCompile(`^[A-Za-z0-9._:-]+:[a-z][a-z0-9-]*:[A-Za-z0-9._-]+:([0-9]{4,13}):\{`)

// windowOf is the window that the name of a key of package limiter tells.
func windowOf(key string) (time.Duration, bool) {
	m := ours.FindStringSubmatch(key)
	if m == nil {
		return 0, false
	}
	us, err := strconv.ParseInt(m[1], 10, 64)
	window := time.Duration(us) * time.Microsecond
	return window, err == nil && limiter.MinWindow <= window && window <= limiter.MaxWindow
}

// refused takes note of a command that the server refuses and goes on. What is
// no answer of the server is returned: it is lost.
func (s *sweep) refused(command, what string, keys int64, err error) error {
	reply, isReply := errors.AsType[redis.Error](err)
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return nil
	case !isReply:
		return err
	}
	code, reason, hint := refusal(command, reply.Error())
	if code == "" {
		return nil
	}
	s.tally.gap(Gap{Code: code, Command: command, Keys: keys, Message: fmt.Sprintf("%s: %s; not checked: %s", command, reason, what), Hint: hint})
	return nil
}

// refusal explains an error reply without its words, which may quote keys. Code
// "" means that a key was changed between two looks.
func refusal(command, reply string) (code, reason, hint string) {
	first, _, _ := strings.Cut(reply, " ")
	lower := strings.ToLower(reply)
	allow := "allow the user to: acl setuser USER +" + strings.ToLower(strings.ReplaceAll(command, " ", "|"))
	switch {
	case first == "WRONGTYPE":
		return "", "", ""
	case first == "MOVED" || first == "ASK" || first == "CLUSTERDOWN":
		return "cluster-node", "this node of a cluster does not serve the key", "audit the primaries, one by one"
	case first == "NOPERM" && strings.Contains(lower, " key"):
		return "command-refused", "this user may not read some keys", "allow the user to read them: acl setuser USER %R~*, or ~* before Redis 7"
	case first == "NOPERM":
		return "command-refused", "this user may not run it", allow
	case strings.Contains(lower, "unknown command"), strings.Contains(lower, "unknown subcommand"):
		return "command-refused", "the server does not offer it", "ask whoever runs the server"
	}
	if strings.Trim(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		first = "an error"
	}
	return "command-refused", "the server answers with " + first, "try it by hand with redis-cli"
}
