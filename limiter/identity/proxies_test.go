package identity_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter/identity"
)

func ranges(s ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, r := range s {
		all = append(all, netip.MustParsePrefix(r))
	}
	return all
}

// inner is the network of our proxies in these tests.
var inner = ranges("10.0.0.0/8", "fd00::/8")

// request comes from a peer with some lines of one header.
func request(peer, header string, lines ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = peer
	for _, l := range lines {
		r.Header.Add(header, l)
	}
	return r
}

func TestForwardedFor(t *testing.T) {
	nobody, ours := identity.Proxies{}, identity.Proxies{Trusted: inner}
	for _, row := range []struct {
		why   string
		p     identity.Proxies
		peer  string
		lines []string
		want  string // empty: ErrNoClient
	}{
		{"nobody is trusted", nobody, "10.0.0.1:80", []string{"1.1.1.1"}, "10.0.0.1"},
		{"an untrusted peer's header is ignored", ours, "203.0.113.7:80", []string{"1.1.1.1"}, "203.0.113.7"},
		{"so is a header that ends in a proxy of ours", ours, "203.0.113.7:80", []string{"1.1.1.1, 10.0.0.1"}, "203.0.113.7"},
		{"one proxy", ours, "10.0.0.1:80", []string{"203.0.113.7"}, "203.0.113.7"},
		{"what is left of the client is invention", ours, "10.0.0.1:80", []string{"1.1.1.1, 203.0.113.7"}, "203.0.113.7"},
		{"be it one of ours", ours, "10.0.0.1:80", []string{"10.0.0.9, 203.0.113.7"}, "203.0.113.7"},
		{"be it no address at all", ours, "10.0.0.1:80", []string{`",;[%, ,203.0.113.7`}, "203.0.113.7"},
		{"two proxies", ours, "10.0.0.1:80", []string{"1.1.1.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		{"several lines are one list", ours, "10.0.0.1:80", []string{"1.1.1.1", "203.0.113.7", "10.0.0.2"}, "203.0.113.7"},
		{"all are ours: the farthest", ours, "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"a proxy on its own behalf", ours, "10.0.0.1:80", nil, "10.0.0.1"},
		{"a peer in IPv6 clothes", ours, "[::ffff:10.0.0.1]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		{"an entry in IPv6 clothes", ours, "10.0.0.1:80", []string{"203.0.113.7, ::ffff:10.0.0.2"}, "203.0.113.7"},
		{"IPv6", ours, "[fd00::1]:80", []string{"2001:db8::7"}, "2001:db8::7"},
		{"with brackets", ours, "[fd00::1]:80", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"with a port", ours, "[fd00::1]:80", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"IPv4 with a port", ours, "10.0.0.1:80", []string{"203.0.113.7:4711"}, "203.0.113.7"},
		{"zones are dropped", ours, "10.0.0.1:80", []string{"fe80::1%eth0"}, "fe80::1"},
		{"a zone of the peer", nobody, "[fe80::1%eth0]:80", nil, "fe80::1"},
		{"a peer without a port", nobody, "203.0.113.7", nil, "203.0.113.7"},

		{"a proxy adds nothing readable", ours, "10.0.0.1:80", []string{"203.0.113.7, unix:"}, ""},
		{"an empty entry hides who is next", ours, "10.0.0.1:80", []string{"1.1.1.1, "}, ""},
		{"an empty line", ours, "10.0.0.1:80", []string{"1.1.1.1", ""}, ""},
		{"leading zeros are octal to some", ours, "10.0.0.1:80", []string{"203.0.113.07"}, ""},
		{"IPv4 in brackets", ours, "10.0.0.1:80", []string{"[203.0.113.7]"}, ""},
		{"no address of anybody", ours, "10.0.0.1:80", []string{"0.0.0.0"}, ""},
		{"a Unix socket", ours, "@", []string{"1.1.1.1"}, ""},
		{"a Unix socket without a name", ours, "", []string{"1.1.1.1"}, ""},
		{"a name", ours, "localhost:80", nil, ""},
		{"sixteen hops", ours, "10.0.0.1:80", []string{"203.0.113.7" + strings.Repeat(", 10.0.0.2", 15)}, "203.0.113.7"},
		{"one too many", ours, "10.0.0.1:80", []string{"203.0.113.7" + strings.Repeat(", 10.0.0.2", 16)}, ""},
		{"fewer by choice", identity.Proxies{Trusted: inner, MaxHops: 1}, "10.0.0.1:80", []string{"203.0.113.7, 10.0.0.2"}, ""},
	} {
		check(t, row.why, row.p, request(row.peer, "X-Forwarded-For", row.lines...), row.want)
	}
}

func check(t *testing.T, why string, p identity.Proxies, r *http.Request, want string) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Errorf("%s: %v", why, err)
	}
	got, err := p.Client(r)
	switch {
	case want == "" && (!errors.Is(err, identity.ErrNoClient) || got.IsValid()):
		t.Errorf("%s: got %v, %v, want ErrNoClient", why, got, err)
	case want != "" && (err != nil || got != netip.MustParseAddr(want)):
		t.Errorf("%s: got %v, %v, want %s", why, got, err, want)
	case err != nil && strings.Contains(err.Error(), "203.0"):
		t.Errorf("%s: the error shows an address: %v", why, err)
	}
}

func TestForwarded(t *testing.T) {
	p := identity.Proxies{Trusted: inner, Header: identity.Forwarded}
	for _, row := range []struct {
		why, line, want string
	}{
		{"the shortest", "for=203.0.113.7", "203.0.113.7"},
		{"case does not matter", "FOR=203.0.113.7", "203.0.113.7"},
		{"other parameters", `by=10.0.0.1;For=203.0.113.7;proto=https;host="a.example:80"`, "203.0.113.7"},
		{"quoted", `for="203.0.113.7"`, "203.0.113.7"},
		{"IPv4 with a port", `for="203.0.113.7:4711"`, "203.0.113.7"},
		{"with a hidden port", `for="203.0.113.7:_p1"`, "203.0.113.7"},
		{"IPv6", `for="[2001:db8::7]"`, "2001:db8::7"},
		{"IPv6 with a port", `for="[2001:db8::7]:4711"`, "2001:db8::7"},
		{"an escape that is not needed", `for="203.0.113.\7"`, "203.0.113.7"},
		{"two proxies", "for=203.0.113.7, for=10.0.0.2", "203.0.113.7"},
		{"invention on the left", "for=1.1.1.1, for=203.0.113.7", "203.0.113.7"},
		{"a quote that is never closed", `for="1.1.1.1, for=203.0.113.7`, "203.0.113.7"},
		{"a quote that would swallow the proxy's", `for=1.1.1.1;x=", for="[2001:db8::7]"`, "2001:db8::7"},
		{"a backslash before the comma", `for="1.1.1.1\, for="[2001:db8::7]"`, "2001:db8::7"},
		{"a comma in a string", `for=203.0.113.7;host="a,for=1.1.1.1"`, "203.0.113.7"},
		{"an escaped quote in a string", `for=203.0.113.7;host="a\",for=1.1.1.1"`, "203.0.113.7"},
		{"an escaped backslash at its end", `for=1.1.1.1, for=203.0.113.7;host="a\\"`, "203.0.113.7"},

		{"unknown", "for=1.1.1.1, for=unknown", ""},
		{"hidden", "for=1.1.1.1, for=_abc", ""},
		{"hidden with a port", `for=1.1.1.1, for="_abc:80"`, ""},
		{"no for", "for=1.1.1.1, proto=https", ""},
		{"for twice", "for=1.1.1.1;for=203.0.113.7", ""},
		{"IPv6 without quotes", "for=[2001:db8::7]", ""},
		{"IPv6 without brackets", `for="2001:db8::7"`, ""},
		{"a bracket that is not closed", `for="[2001:db8::7"`, ""},
		{"a bad port", `for="203.0.113.7:123456"`, ""},
		{"an empty port", `for="203.0.113.7:"`, ""},
		{"something after the port", `for="[2001:db8::7]x"`, ""},
		{"a space inside", "for=203.0.113.7; proto=https", ""},
		{"something after a string", `for="203.0.113.7"x`, ""},
		{"a semicolon at the end", "for=203.0.113.7;", ""},
		{"no value", "for=", ""},
		{"no name", "=203.0.113.7", ""},
		{"an empty element", "for=1.1.1.1,", ""},
		{"not this header's form", "203.0.113.7", ""},
	} {
		check(t, row.why, p, request("10.0.0.1:80", "Forwarded", row.line), row.want)
	}
}

func TestSingleHeader(t *testing.T) {
	p := identity.Proxies{Trusted: ranges("173.245.48.0/20"), Header: "CF-Connecting-IP"}
	const edge, name = "173.245.48.1:443", "CF-Connecting-IP"
	for _, row := range []struct {
		why  string
		r    *http.Request
		want string
	}{
		{"from the edge", request(edge, name, "203.0.113.7"), "203.0.113.7"},
		{"IPv6", request(edge, name, "2001:db8::7"), "2001:db8::7"},
		{"from anybody else it is ignored", request("198.51.100.1:443", name, "203.0.113.7"), "198.51.100.1"},
		{"missing", request(edge, name), ""},
		{"twice", request(edge, name, "203.0.113.7", "203.0.113.8"), ""},
		{"a list", request(edge, name, "203.0.113.7, 203.0.113.8"), ""},
		{"another header is not read", request(edge, "X-Forwarded-For", "203.0.113.7"), ""},
	} {
		check(t, row.why, p, row.r, row.want)
	}
}

// TestNeverTwoHeaders: the one that is not chosen does not exist.
func TestNeverTwoHeaders(t *testing.T) {
	r := request("10.0.0.1:80", "X-Forwarded-For", "203.0.113.1")
	r.Header.Set("Forwarded", "for=203.0.113.2")
	r.Header.Set("X-Real-Ip", "203.0.113.3")
	for header, want := range map[string]string{
		"": "203.0.113.1", "x-forwarded-for": "203.0.113.1", "forwarded": "203.0.113.2", "x-real-ip": "203.0.113.3",
	} {
		check(t, header, identity.Proxies{Trusted: inner, Header: header}, r, want)
	}
}

// TestThousandInventions: random addresses in the header of one client are one
// client.
func TestThousandInventions(t *testing.T) {
	seen := map[netip.Addr]bool{}
	ours := identity.Proxies{Trusted: inner}
	for i := range 1000 {
		invented := fmt.Sprintf("%d.%d.%d.%d", 1+i%200, i%256, i/4, 1)
		for _, r := range []*http.Request{
			request("203.0.113.7:80", "X-Forwarded-For", invented),
			request("10.0.0.1:80", "X-Forwarded-For", invented+", 203.0.113.7"),
		} {
			addr, err := ours.Client(r)
			if err != nil {
				t.Fatal(err)
			}
			seen[addr] = true
		}
	}
	if len(seen) != 1 {
		t.Errorf("one client has %d addresses", len(seen))
	}
}

func TestProxiesRefuse(t *testing.T) {
	for _, row := range []struct {
		why    string
		p      identity.Proxies
		faults []string
	}{
		{"nobody", identity.Proxies{}, nil},
		{"everybody", identity.Proxies{Trusted: ranges("0.0.0.0/0", "::/0")}, []string{"0.0.0.0/0 is everybody", "::/0 is everybody"}},
		{"a host where a network is meant", identity.Proxies{Trusted: ranges("10.1.2.3/8")}, []string{"write 10.0.0.0/8, or /32"}},
		{"a range that matches nothing", identity.Proxies{Trusted: ranges("::ffff:10.0.0.0/104")}, []string{"write it as IPv4"}},
		{"an empty range", identity.Proxies{Trusted: []netip.Prefix{{}}}, []string{"trusted range is empty"}},
		{"a header that nobody is believed in", identity.Proxies{Header: "X-Real-IP"}, []string{"X-Real-IP is never believed"}},
		{"no name of a header", identity.Proxies{Trusted: inner, Header: "X Real"}, []string{`"X Real" is no name`}},
		{"too many hops", identity.Proxies{MaxHops: 101}, []string{"hops 101: want 1 to 100"}},
		{"negative hops, and more", identity.Proxies{MaxHops: -1, Header: "a:b"}, []string{"hops -1", "is no name", "never believed"}},
	} {
		err := row.p.Validate()
		if (err == nil) != (row.faults == nil) {
			t.Errorf("%s: got error %v, want %q", row.why, err, row.faults)
			continue
		}
		for _, fault := range row.faults {
			if !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: got error %v, want one with %q", row.why, err, fault)
			}
		}
	}
}

// chain is what a header looks like when a client at addr sent invented, and the
// proxies on the way did what they do: append, in the same line or in one of
// their own.
func chain(invented []string, ownLine bool, written ...string) []string {
	lines := invented
	for _, w := range written {
		if ownLine || len(lines) == 0 {
			lines = append(lines, w)
			continue
		}
		lines[len(lines)-1] += ", " + w
	}
	return lines
}

// FuzzForwardedFor: whatever a client invents, it is known by the address that
// our proxy saw.
func FuzzForwardedFor(f *testing.F) {
	f.Add("1.1.1.1", "10.0.0.1", false, uint8(1))
	f.Add(`"`, ",", true, uint8(0))
	f.Add("", "unknown, [::", false, uint8(3))
	f.Fuzz(func(t *testing.T, a, b string, ownLine bool, proxies uint8) {
		written := []string{"203.0.113.7"}
		for range proxies % 8 {
			written = append(written, "10.0.0.2")
		}
		p := identity.Proxies{Trusted: inner}
		got, err := p.Client(request("10.0.0.1:80", "X-Forwarded-For", chain([]string{a, b}, ownLine, written...)...))
		if err != nil || got != netip.MustParseAddr("203.0.113.7") {
			t.Errorf("got %v, %v", got, err)
		}
		// Sent directly, none of it counts.
		got, err = p.Client(request("203.0.113.7:80", "X-Forwarded-For", a, b))
		if err != nil || got != netip.MustParseAddr("203.0.113.7") {
			t.Errorf("directly: got %v, %v", got, err)
		}
		// Damage by a proxy of ours: an address that it wrote, or none.
		got, err = p.Client(request("10.0.0.1:80", "X-Forwarded-For", a))
		if (err == nil) != got.IsValid() || err != nil && !errors.Is(err, identity.ErrNoClient) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// FuzzForwarded is the same for RFC 7239, where quotes and escapes of the
// client's are in the way.
func FuzzForwarded(f *testing.F) {
	f.Add(`for=1.1.1.1;x="`, `a"`, false)
	f.Add(`for="1.1.1.1\`, `\\`, true)
	f.Add(",,;=", "a,for=1.1.1.1", false)
	f.Fuzz(func(t *testing.T, invented, host string, ownLine bool) {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(host)
		p := identity.Proxies{Trusted: inner, Header: identity.Forwarded}
		for _, written := range []string{
			"for=203.0.113.7",
			`for="203.0.113.7:80";host="` + quoted + `"`,
			`host="` + quoted + `";for=203.0.113.7`,
		} {
			lines := chain([]string{invented}, ownLine, written, `for="[fd00::2]:443"`)
			got, err := p.Client(request("10.0.0.1:80", "Forwarded", lines...))
			if err != nil || got != netip.MustParseAddr("203.0.113.7") {
				t.Errorf("%q: got %v, %v", lines, got, err)
			}
		}
	})
}

// TestWalk: for any chain of addresses the client is the rightmost one that is
// not ours, or the leftmost if all are.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addrs := rapid.SliceOfN(rapid.SampledFrom([]string{
			"10.0.0.1", "10.0.0.2", "fd00::3", "203.0.113.7", "198.51.100.1", "2001:db8::7",
		}), 1, 12).Draw(t, "addresses, the peer last")
		want := addrs[0]
		for i := len(addrs) - 1; i >= 0; i-- {
			a := netip.MustParseAddr(addrs[i])
			if !inner[0].Contains(a) && !inner[1].Contains(a) {
				want = addrs[i]
				break
			}
		}
		peer := addrs[len(addrs)-1]
		listed := addrs[:len(addrs)-1]
		cut := rapid.IntRange(0, len(listed)).Draw(t, "cut")
		var lines []string
		for _, part := range [][]string{listed[:cut], listed[cut:]} {
			if len(part) > 0 {
				lines = append(lines, strings.Join(part, ","))
			}
		}
		r := request("", "X-Forwarded-For", lines...)
		r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(peer), 80).String()
		got, err := identity.Proxies{Trusted: inner}.Client(r)
		if err != nil || got != netip.MustParseAddr(want) {
			t.Fatalf("got %v, %v, want %s", got, err, want)
		}
	})
}
