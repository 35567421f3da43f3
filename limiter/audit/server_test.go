package audit

import (
	"strings"
	"testing"
)

// What is said about settings, and what is not, also when some are not told.
func TestJudgements(t *testing.T) {
	for _, row := range []struct {
		name string
		f    facts
		want []Code
	}{
		{"nothing known", facts{}, nil},
		{"a limiter's own Redis", facts{"maxmemory": "104857600", "maxmemory-policy": "noeviction", "appendonly": "no", "save": "", "slowlog-log-slower-than": "-1", "notify-keyspace-events": "", "connected_slaves": "0", "role": "master"}, nil},
		{"no bound on memory", facts{"maxmemory": "0", "maxmemory-policy": "allkeys-lru"}, nil},
		{"evicts keys with a TTL first", facts{"maxmemory": "1", "maxmemory-policy": "volatile-ttl"}, []Code{Eviction}},
		{"evicts any", facts{"maxmemory": "1", "maxmemory-policy": "allkeys-lfu"}, []Code{Eviction}},
		{"a policy without its bound", facts{"maxmemory-policy": "allkeys-lfu"}, nil},
		{"AOF by INFO", facts{"appendonly": "1"}, []Code{AppendOnly}},
		{"Redis as it is installed", facts{"maxmemory": "0", "save": "3600 1 300 100", "slowlog-log-slower-than": "10000", "slowlog-max-len": "128"}, []Code{Snapshots, SlowlogOn}},
		{"a slow log of no length", facts{"slowlog-log-slower-than": "0", "slowlog-max-len": "0"}, nil},
		{"published", facts{"notify-keyspace-events": "Kx"}, []Code{Notifications}},
		{"copied", facts{"connected_slaves": "2"}, []Code{Replicas}},
		{"a copy", facts{"role": "slave"}, []Code{IsReplica}},
	} {
		var got []Code
		for _, j := range judgements {
			if text := j.say(row.f); text != "" {
				got = append(got, j.code)
			}
		}
		if len(got) != len(row.want) || len(got) > 0 && got[0] != row.want[0] {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

func TestPrimaries(t *testing.T) {
	if n := primaries("cluster_state:ok\r\ncluster_known_nodes:6\r\ncluster_size:3\r\n"); n != 3 {
		t.Errorf("%d primaries, want 3", n)
	}
	if n := primaries(""); n != 0 {
		t.Errorf("%d primaries of nothing", n)
	}
}

// Refusals are explained without the words of the server, which can quote keys.
func TestRefusals(t *testing.T) {
	for _, row := range []struct{ reply, code, reason string }{
		{"WRONGTYPE Operation against a key holding the wrong kind of value", "", ""},
		{"MOVED 3999 10.0.0.9:6381", "cluster-node", "does not serve"},
		{"NOPERM this user has no permissions to run the 'config|get' command", "command-refused", "may not run it"},
		{"NOPERM No permissions to access a key", "command-refused", "may not read some keys"},
		{"ERR unknown command 'GETRANGE', with args beginning with: 'rl:203.0.113.7' ", "command-refused", "does not offer it"},
		{"BUSY Redis is busy running a script.", "command-refused", "answers with BUSY"},
		{"203.0.113.7 is odd", "command-refused", "answers with an error"},
	} {
		code, reason, hint := refusal("GETRANGE", row.reply)
		if code != row.code || !strings.Contains(reason, row.reason) || (code != "") != (hint != "") {
			t.Errorf("%q: %q, %q, %q", row.reply, code, reason, hint)
		}
		if _, leaks := Text(reason + hint); leaks {
			t.Errorf("%q: repeated in %q, %q", row.reply, reason, hint)
		}
	}
}

func TestWindowOf(t *testing.T) {
	for key, want := range map[string]string{
		"rl:fixed:default:60000000:{ab}":               "1m0s",
		"a:b:counter-strict:api.v1:2678400000000:{}:x": "744h0m0s",
		"rl:fixed:default:1000:{ab}":                   "1ms",
		"rl:fixed:default:9999999999999:{ab}":          "", // longer than any window
		"rl:fixed:default:60000000:ab":                 "",
		"rl:fixed:60000000:{ab}":                       "",
		"session:{ab}":                                 "",
	} {
		window, ok := windowOf(key)
		if got := window.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v, want %q", key, got, ok, want)
		}
	}
}

// Every kind is complete, once, and failures come before warnings.
func TestKinds(t *testing.T) {
	known, warned := map[Code]bool{}, false
	for _, k := range Kinds {
		if known[k.Code] || k.Doc == "" || k.Hint == "" || strings.HasSuffix(k.Doc, ".") {
			t.Errorf("kind %+v", k)
		}
		if known[k.Code] = true; k.Severity == Warn {
			warned = true
		} else if warned || k.Severity != Fail {
			t.Errorf("%s comes behind warnings", k.Code)
		}
	}
}
