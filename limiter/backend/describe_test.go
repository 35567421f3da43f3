package backend

import "testing"

// Most servers claim to be some Redis, too.
func TestProduct(t *testing.T) {
	for _, row := range []struct{ info, name, version string }{
		{"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n", "redis", "7.0.15"},
		{"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nserver_mode:standalone\r\n", "valkey", "8.1.1"},
		{"# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.40.1\r\n", "dragonfly", "df-v1.40.1"},
		{"# Server\r\nredis_version:6.3.4\r\nexecutable:/usr/bin/keydb-server\r\n", "keydb", "6.3.4"},
		{"# Server\r\nversion:2.0.5\r\nkvrocks_version:2.0.5\r\nredis_version:4.0.0\r\n", "kvrocks", "2.0.5"},
		{"# Server\r\nredis_version:7.2.4\r\nserver_name:Other\r\n", "other", "7.2.4"},
		{"", "", ""},
	} {
		if name, version := product(parseInfo(row.info)); name != row.name || version != row.version {
			t.Errorf("%q is %s %s, want %s %s", row.info, name, version, row.name, row.version)
		}
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("calls=12,usec=34,usec_per_call=2.83,rejected_calls=0,failed_calls=3")
	if want := (CommandStat{Calls: 12, Micros: 34, Failed: 3}); got != want || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parseStat("calls=many"); err == nil {
		t.Error("read a number of calls that is none")
	}
}
