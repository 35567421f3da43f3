package audit_test

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
)

var (
	now   = time.Date(2026, 7, 31, 12, 0, 0, 0, time.UTC)
	given = []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::cafe:1")}
)

func run(t *testing.T, s *backend.Server, o audit.Options) *audit.Result {
	t.Helper()
	o.Now = now
	r, err := audit.Run(t.Context(), s.Client(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// plant is something that should not be in a Redis, and how it has to be told.
type plant struct {
	name     string
	commands [][]any
	code     audit.Code
	place    audit.Place
	form     string
}

type cmds = [][]any

func plants() []plant {
	const ms = 60_000
	expiring := func(key string, command ...any) cmds {
		return cmds{append([]any{command[0], key}, command[1:]...), {"PEXPIRE", key, ms}}
	}
	sha, md := bare, md5.Sum([]byte("203.0.113.7|2026-07-31"))
	mac := hmac.New(sha256.New, []byte("fallback-not-for-prod"))
	mac.Write([]byte("203.0.113.7|2026-07-31"))
	fallback := hex.EncodeToString(mac.Sum(nil))[:24]
	return []plant{
		{"no TTL on a string", cmds{{"SET", "rl:a", 1}}, audit.KeyWithoutTTL, audit.InKey, ""},
		{"no TTL on a sorted set", cmds{{"ZADD", "rl:a", 1, "m"}}, audit.KeyWithoutTTL, audit.InKey, ""},
		{"TTL beyond two windows", cmds{{"SET", "rl:fixed:default:60000000:{ab}", 1, "PX", 121_500}}, audit.TTLTooLong, audit.InKey, ""},
		{"IPv4 in a key", expiring("rl:{203.0.113.7}", "SET", 1), audit.AddressText, audit.InKey, "ipv4"},
		{"IPv4 that nobody gave", expiring("rl:198.51.100.23:1", "SET", 1), audit.AddressText, audit.InKey, "ipv4"},
		{"IPv6 in a key", expiring("rl:2001:db8::cafe:1:29453760", "SET", 1), audit.AddressText, audit.InKey, "ipv6"},
		{"IPv6 in capitals", expiring("rl:{2001:DB8::CAFE:1}", "SET", 1), audit.AddressText, audit.InKey, "ipv6"},
		{"IPv6 with a port", expiring("rl:[2001:db8::cafe:1]:443", "SET", 1), audit.AddressText, audit.InKey, "ipv6"},
		{"IPv6 with a zone", expiring("rl:fe80::17%eth0", "SET", 1), audit.AddressText, audit.InKey, "ipv6"},
		{"IPv4 in IPv6", expiring("rl:::ffff:203.0.113.7", "SET", 1), audit.AddressText, audit.InKey, "ipv4"},
		{"IPv6 escaped", expiring("rl:2001%3Adb8%3A%3Acafe%3A1", "SET", 1), audit.AddressText, audit.InKey, "ipv6, percent-encoded"},
		{"a member of a set", expiring("rl:a", "SADD", "203.0.113.7"), audit.AddressText, audit.InMember, "ipv4"},
		{"a member of a sorted set", expiring("rl:a", "ZADD", 1764590400123, "1764590400123-203.0.113.7"), audit.AddressText, audit.InMember, "ipv4"},
		{"a field of a hash", expiring("rl:a", "HSET", "203.0.113.7", 3), audit.AddressText, audit.InField, "ipv4"},
		{"a value of a hash", expiring("rl:a", "HSET", "last", "2001:db8::cafe:1"), audit.AddressText, audit.InValue, "ipv6"},
		{"a string", expiring("rl:a", "SET", `{"ip":"203.0.113.7"}`), audit.AddressText, audit.InValue, "ipv4"},
		{"an element of a list", expiring("rl:a", "RPUSH", "x", "203.0.113.7"), audit.AddressText, audit.InValue, "ipv4"},
		{"an entry of a stream", expiring("rl:a", "XADD", "*", "ip", "203.0.113.7"), audit.AddressText, audit.InValue, "ipv4"},
		{"a reverse name", expiring("rl:7.113.0.203.in-addr.arpa", "SET", 1), audit.AddressText, audit.InKey, "in-addr.arpa"},
		{"hexadecimal", expiring("rl:{cb007107}", "SET", 1), audit.AddressPacked, audit.InKey, "hex"},
		{"a number", expiring("rl:3405803783", "SET", 1), audit.AddressPacked, audit.InKey, "decimal"},
		{"a score", expiring("rl:a", "ZADD", 3405803783, "m"), audit.AddressPacked, audit.InScore, "decimal"},
		{"base64", expiring("rl:a", "HSET", "ywBxBw==", 1), audit.AddressPacked, audit.InField, "base64"},
		{"four bytes", expiring("rl:\xcb\x00\x71\x07", "SET", 1), audit.AddressPacked, audit.InKey, "binary"},
		{"reversed", expiring("rl:7-113-0-203", "SET", 1), audit.AddressPacked, audit.InKey, "reversed"},
		{"a bare SHA-256", expiring("rl:"+hex.EncodeToString(sha[:]), "SET", 1), audit.AddressHashed, audit.InKey, "sha256 in hex"},
		{"cut to 16 digits", expiring("rl:"+hex.EncodeToString(sha[:8]), "SET", 1), audit.AddressHashed, audit.InKey, "sha256 in hex"},
		{"in base64", expiring("rl:a", "SADD", base64.RawURLEncoding.EncodeToString(sha[:])), audit.AddressHashed, audit.InMember, "sha256 in base64"},
		{"MD5 with a date", expiring("rl:"+hex.EncodeToString(md[:]), "SET", 1), audit.AddressHashed, audit.InKey, "md5 with a date in hex"},
		{"HMAC with a fallback", expiring("rl:cnt:"+fallback+":trending", "SET", 1), audit.KnownSecret, audit.InKey, `hmac-sha256 with a date under "fallback-not-for-prod" in hex`},
		{"an evicting policy", cmds{{"CONFIG", "SET", "maxmemory", "100mb"}, {"CONFIG", "SET", "maxmemory-policy", "volatile-lru"}}, audit.Eviction, audit.InServer, ""},
		{"an append-only file", cmds{{"CONFIG", "SET", "appendonly", "yes"}}, audit.AppendOnly, audit.InServer, ""},
		{"snapshots", cmds{{"CONFIG", "SET", "save", "3600 1"}}, audit.Snapshots, audit.InServer, ""},
		{"a slow log", cmds{{"CONFIG", "SET", "slowlog-log-slower-than", "10000"}}, audit.SlowlogOn, audit.InServer, ""},
		{"notifications", cmds{{"CONFIG", "SET", "notify-keyspace-events", "KEA"}}, audit.Notifications, audit.InServer, ""},
		{"an address in the slow log", cmds{
			{"CONFIG", "SET", "slowlog-log-slower-than", "0"}, {"STRLEN", "rl:cnt:203.0.113.7"}, {"CONFIG", "SET", "slowlog-log-slower-than", "-1"},
		}, audit.SlowlogAddress, audit.InServer, "ipv4"},
		{"an identity in the slow log", cmds{
			{"CONFIG", "SET", "slowlog-log-slower-than", "0"}, {"STRLEN", "rl:log:default:60000000:{abc}"}, {"CONFIG", "SET", "slowlog-log-slower-than", "-1"},
		}, audit.SlowlogIdentity, audit.InServer, ""},
		{"another database", cmds{{"SELECT", 1}, {"SET", "x", 1}, {"SELECT", 0}}, audit.OtherDatabases, audit.InServer, ""},
	}
}

// Each plant is found by its code, in its place and form, by nothing else, and is
// not repeated in what is told of it.
func TestPlants(t *testing.T) {
	s := open(t)
	reset := cmds{
		{"FLUSHALL"},
		{"CONFIG", "SET", "slowlog-log-slower-than", -1},
		{"SLOWLOG", "RESET"},
		{"CONFIG", "SET", "maxmemory", 0},
		{"CONFIG", "SET", "maxmemory-policy", "noeviction"},
		{"CONFIG", "SET", "appendonly", "no"},
		{"CONFIG", "SET", "save", ""},
		{"CONFIG", "SET", "notify-keyspace-events", ""},
		{"SET", "rl:log:default:60000000:{e3b0c44298fc1c149afbf4c8}", 1, "PX", 60_000}, // there is something to look at
	}
	for _, p := range plants() {
		t.Run(p.name, func(t *testing.T) {
			do(t, s, reset...)
			// One connection, for those that change its database.
			conn := s.Client().Conn()
			defer conn.Close()
			for _, command := range p.commands {
				if err := conn.Do(t.Context(), command...).Err(); err != nil {
					t.Fatalf("%v: %v", command, err)
				}
			}
			r := run(t, s, audit.Options{Addresses: given})
			if len(r.Findings) != 1 || len(r.Gaps) > 0 {
				t.Fatalf("found %+v, gaps %+v; want one", r.Findings, r.Gaps)
			}
			f := r.Findings[0]
			if f.Kind.Code != p.code || f.Place != p.place || f.Form != p.form {
				t.Errorf("found %s in %q as %q, want %s in %q as %q", f.Kind.Code, f.Place, f.Form, p.code, p.place, p.form)
			}
			if f.Kind.Severity == audit.Fail != r.Failed() {
				t.Errorf("failed is %v for %s", r.Failed(), f.Kind.Severity)
			}
			if f.Message == "" || f.Kind.Hint == "" || f.Count < 1 {
				t.Errorf("says too little: %+v", f)
			}
			told, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range planted {
				if strings.Contains(strings.ToLower(string(told)), secret) {
					t.Errorf("%q is in %s", secret, told)
				}
			}
		})
	}
}

var bare = sha256.Sum256([]byte("203.0.113.7"))

// planted are the parts by which any plant could be turned back into an address.
var planted = []string{
	"203.0.113", "198.51.100", "113.0.203", "203-0-113", "7-113-0", "cafe", "fe80::17", "db8", "cb007107", "3405803783", "ywbxbw",
	hex.EncodeToString(bare[:3]), "\xcb\x00\x71\x07", `\xcb`,
}

// What the bundled algorithms write for pseudonyms is clean, down to the members,
// and known as theirs by its name.
func TestControlIsClean(t *testing.T) {
	s := open(t)
	secret := []byte("0123456789abcdef0123456789abcdef")
	keys := int64(0)
	for _, a := range limiter.Algorithms {
		l, err := limiter.New(s.Client(), limiter.Config{Algorithm: a, Limit: limiter.Limit{Max: 20, Window: time.Minute}, OnFailure: limiter.FailClosed})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			mac := hmac.New(sha256.New, secret)
			fmt.Fprintf(mac, "203.0.113.%d|2026-07-31", i)
			sum := mac.Sum(nil)
			for _, id := range []string{hex.EncodeToString(sum)[:24], base64.RawURLEncoding.EncodeToString(sum)} {
				keys++
				for range 3 {
					if _, err := l.Allow(t.Context(), limiter.Request{Key: id}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	r := run(t, s, audit.Options{Addresses: given, Prefix: "rl"})
	if len(r.Findings) > 0 || len(r.Gaps) > 0 {
		t.Errorf("found %+v, gaps %+v", r.Findings, r.Gaps)
	}
	if r.Keys != keys || r.Total != keys {
		t.Errorf("looked at %d of %d keys, want %d", r.Keys, r.Total, keys)
	}
	// Log keeps three members of each, which are read with their scores. All else is
	// a string.
	if want := int64(80*3) + (keys - 80); r.Elements != want {
		t.Errorf("read %d elements, want %d", r.Elements, want)
	}
	// A bound below theirs shows that times to live are looked at at all.
	r = run(t, s, audit.Options{MaxTTL: time.Second})
	if !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool { return f.Kind.Code == audit.TTLTooLong && f.Keys > keys/2 }) {
		t.Errorf("found %+v, want times to live above a second", r.Findings)
	}
}
