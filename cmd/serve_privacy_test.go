package cmd

import (
	"context"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
)

// Neither Redis nor the log can be turned back into who asked, also when that is
// known.
func TestServeNamesNobody(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "live")
	s := serve(t, "--redis", redis, "--trust", "127.0.0.1/32", "--window", "10m", "-a", "log")
	var known []netip.Addr
	for _, text := range []string{"198.51.100.7", "198.51.100.8", "2001:db8:1:2:3:4:5:6"} {
		known = append(known, netip.MustParseAddr(text))
		for _, path := range []string{trending, feed, search} {
			s.burst(t, 12, path, text)
		}
	}
	s.stop(t)

	server, err := backend.Open(context.Background(), redis, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	r, err := audit.Run(context.Background(), server.Client(), audit.Options{Addresses: append(known, netip.MustParseAddr("127.0.0.1")), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys != 12 { // three clients, four policies
		t.Errorf("%d keys, want 12", r.Keys)
	}
	for _, f := range r.Findings {
		if f.Kind.Severity == audit.Fail {
			t.Errorf("%s: %s", f.Kind.Code, f.Message)
		}
	}
	keys := server.Client().Keys(context.Background(), "*").Val()
	for _, key := range keys {
		pseudonym := regexp.MustCompile(`\{(.*)\}`).FindStringSubmatch(key)
		if pseudonym == nil || strings.Contains(s.errs.String(), pseudonym[1]) {
			t.Errorf("key %q has no pseudonym, or the log has it", key)
		}
	}
	// The four pseudonyms of a client have nothing in common, or they would tell
	// which endpoints one client asks for.
	seen := map[string]string{}
	for _, key := range keys {
		pseudonym := key[strings.Index(key, "{"):]
		if other, ok := seen[pseudonym]; ok {
			t.Errorf("%s and %s are told to be one client", other, key)
		}
		seen[pseudonym] = key
	}
}
