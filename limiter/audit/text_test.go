package audit

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, row := range []struct{ text, want, why string }{
		{"10.0.0.1", "10.0.0.1", "nothing else"},
		{"rl:{203.0.113.9}:29453760", "203.0.113.9", "in a key"},
		{"rl:203.0.113.9:29453760", "203.0.113.9", "between colons"},
		{"203.0.113.9:51234", "203.0.113.9", "with a port"},
		{`"17 203.0.113.9"`, "203.0.113.9", "in a value"},
		{"999.1.1.1 10.0.0.1", "10.0.0.1", "behind one that is none"},
		{"1.2.3.4.5 10.0.0.1", "10.0.0.1", "behind five numbers"},
		{"2001:db8::1", "2001:db8::1", "IPv6"},
		{"rl:{2001:DB8::1}", "2001:db8::1", "in capitals"},
		{"rl:2001:db8::1", "2001:db8::1", "behind a colon"},
		{"rl:2001:db8::1:29453760", "2001:db8::1", "before the number of a window"},
		{"rl:2001:db8::1:k", "2001:db8::1", "before a name"},
		{"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1", "in full"},
		{"[2a00:1450:4001:80b::200e]:443", "2a00:1450:4001:80b::200e", "with a port"},
		{"fd00::17", "fd00::17", "unique local"},
		{"fe80::1%eth0", "fe80::1", "link local, with a zone"},
		{"::ffff:192.0.2.1", "192.0.2.1", "IPv4 in IPv6"},
		{"rl:::ffff:192.0.2.1", "192.0.2.1", "behind a colon"},
		{"::ffff:c000:201", "::ffff:192.0.2.1", "the same in hexadecimal digits"},
		{"0:0:0:0:0:ffff:c000:201", "::ffff:192.0.2.1", "and in full"},
		{"64:ff9b::192.0.2.1", "192.0.2.1", "as NAT64 writes it"},
		{"64:ff9b::c000:201", "64:ff9b::c000:201", "and in hexadecimal digits"},
		{"from 203.0.113.9.", "203.0.113.9", "at the end of a sentence"},
		{"host.203.0.113.9.example", "203.0.113.9", "in a name with dots"},
		{"9.113.0.203.in-addr.arpa", "9.113.0.203", "in a reverse name, as it stands there"},
		{"203.000.113.009", "203.0.113.9", "padded to three digits"},
		{"203.0.113.0/24", "203.0.113.0", "with the size of its network"},
		{"rl:ip203.0.113.9x", "203.0.113.9", "glued to words"},
		{"[::1]:80", "::1", "in brackets anything"},
		{"[5f00::1%eth0]:80", "5f00::1", "also with a zone"},
		{"::1", "::1", "the shortest, by itself"},
		{"5F00:0000:0000:0000:0000:0000:0000:0001", "5f00::1", "of any kind, in full"},
		{"::FFFF:C000:0201", "::ffff:192.0.2.1", "mapped in capitals"},

		{"", "", "nothing"},
		{"v1.2.3.4", "", "a version of four"},
		{"rl:v2.10.0.1:x", "", "a version in a key"},
		{"Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36", "", "what browsers call themselves"},
		{"0.1.2.3", "", "no network"},
		{"1.02.3.4", "", "a zero in front"},
		{"1764590400.123456.1.2.3.4.5", "", "a longer row of numbers"},
		{"[1:2]", "", "brackets around something else"},
		{"[::]", "", "no address"},
		{"rl:::1", "", "too short inside a key"},
		{"1.2.3", "", "a version"},
		{"1.2.3.4.5", "", "five numbers"},
		{"256.1.1.1", "", "too large a number"},
		{"99910.0.0.1", "", "too long a number"},
		{"10.0.0.1000", "", "at its end too"},
		{"rl::abc", "", "an empty part of a key"},
		{"rl::ffff:1:2", "", "with hexadecimal digits"},
		{"a:feed::123", "", "a word that is hexadecimal"},
		{"report:2026::5", "", "a year"},
		{"::ffff:55", "", "too short for IPv4"},
		{"1767225600000000 29453760", "", "numbers"},
		{"1767225600.250000", "", "a decimal"},
		{"12:30:59", "", "a time of day"},
		{"2026-12-01T12:30:59.123456Z", "", "an instant"},
		{"2001:12:30:59", "", "four groups"},
		{"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "", "a digest"},
		{"2a:00:14:50:40:01", "", "an address of hardware"},
		{"rl:fixed:rlbench:60000000:{k0-1}", "", "a key of ours"},
		{"rl:cnt:k0-1:29453760", "", "a key of another"},
		{"x2001:db8::1", "", "the end of a word"},
	} {
		got := ""
		if a, ok := Text(row.text); ok {
			got = a.String()
		}
		if got != row.want {
			t.Errorf("%q holds %q, want %q (%s)", row.text, got, row.want, row.why)
		}
		// A matcher without addresses agrees, and says nothing of it.
		var m Matcher
		if found := m.Find([]byte(row.text)); (len(found) > 0) != (row.want != "") {
			t.Errorf("%q: found %v, want %q (%s)", row.text, found, row.want, row.why)
		}
		if shown := m.Show(row.text); row.want != "" && strings.Contains(shown, row.want) {
			t.Errorf("%q is shown as %q", row.text, shown)
		}
	}
}
