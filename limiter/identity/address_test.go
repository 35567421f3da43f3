package identity_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter/identity"
)

func TestCanonical(t *testing.T) {
	for _, row := range []struct {
		why, addr string
		mask      identity.Mask
		want      string
	}{
		{"IPv4 is itself", "1.2.3.4", identity.Mask{}, "1.2.3.4/32"},
		{"IPv4 mapped into IPv6", "::ffff:1.2.3.4", identity.Mask{}, "1.2.3.4/32"},
		{"the same in hex", "::ffff:102:304", identity.Mask{}, "1.2.3.4/32"},
		{"IPv4 behind a translator", "64:ff9b::1.2.3.4", identity.Mask{}, "1.2.3.4/32"},
		{"translated ones stay apart", "64:ff9b::a", identity.Mask{}, "0.0.0.10/32"},
		{"in their last bit", "64:ff9b::b", identity.Mask{}, "0.0.0.11/32"},
		{"next to the translator's prefix", "64:ff9b::1:0:1", identity.Mask{}, "64:ff9b::/64"},
		{"a translator of one's own", "64:ff9b:1::a", identity.Mask{}, "64:ff9b:1::/64"},
		{"IPv4 masked", "1.2.3.255", identity.Mask{IPv4: 24}, "1.2.3.0/24"},
		{"translated and masked", "64:ff9b::1.2.3.255", identity.Mask{IPv4: 24}, "1.2.3.0/24"},
		{"IPv6 is a /64", "2001:db8:1:2:3:4:5:6", identity.Mask{}, "2001:db8:1:2::/64"},
		{"spelling does not matter", "2001:0DB8:0001:0002::", identity.Mask{}, "2001:db8:1:2::/64"},
		{"a household", "2001:db8:1:2ff:3::", identity.Mask{IPv6: 56}, "2001:db8:1:200::/56"},
		{"one address", "2001:db8::1", identity.Mask{IPv6: 128}, "2001:db8::1/128"},
		{"the widest", "2001:db8:ffff::1", identity.Mask{IPv6: 32}, "2001:db8::/32"},
		{"no zone", "fe80::1%eth0", identity.Mask{}, "fe80::/64"},
		{"no zone in mapped ones either", "::ffff:1.2.3.4%eth0", identity.Mask{}, "1.2.3.4/32"},
	} {
		got, err := identity.Canonical(netip.MustParseAddr(row.addr), row.mask)
		if err != nil || got != netip.MustParsePrefix(row.want) {
			t.Errorf("%s: Canonical(%s, %+v) = %v, %v, want %s", row.why, row.addr, row.mask, got, err, row.want)
		}
	}
	if _, err := identity.Canonical(netip.Addr{}, identity.Mask{}); !errors.Is(err, identity.ErrNoClient) {
		t.Errorf("no address: got error %v, want ErrNoClient", err)
	}
	for _, m := range []identity.Mask{{IPv4: 7}, {IPv4: 33}, {IPv6: 31}, {IPv6: 129}, {IPv4: -1}} {
		if _, err := identity.Canonical(netip.MustParseAddr("1.2.3.4"), m); err == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
}

// TestCanonicalIsStable: what was canonical stays so, holds its address, and
// is the same for all addresses in it.
func TestCanonicalIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raw [16]byte
		copy(raw[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address"))
		addr := netip.AddrFrom16(raw)
		if rapid.Bool().Draw(t, "IPv4") {
			addr = netip.AddrFrom4([4]byte(raw[:4]))
		}
		m := identity.Mask{IPv4: rapid.IntRange(8, 32).Draw(t, "v4"), IPv6: rapid.IntRange(32, 128).Draw(t, "v6")}
		p, err := identity.Canonical(addr, m)
		if err != nil {
			t.Fatal(err)
		}
		if p != p.Masked() {
			t.Fatalf("%s is not masked", p)
		}
		again, err := identity.Canonical(p.Addr(), m)
		if err != nil || again != p {
			t.Fatalf("%s becomes %s, %v", p, again, err)
		}
		mapped, err := identity.Canonical(netip.AddrFrom16(addr.As16()), m)
		if err != nil || mapped != p {
			t.Fatalf("%s is %s, and mapped it is %s, %v", addr, p, mapped, err)
		}
	})
}

// TestTiers: two budgets for one address.
func TestTiers(t *testing.T) {
	n := open(t, usual)
	tiers := identity.Tiers{Network: identity.Mask{IPv6: 48}}
	names := func(addr string) (client, network string) {
		c, w, err := tiers.Clients(netip.MustParseAddr(addr))
		if err != nil {
			t.Fatal(err)
		}
		name, err := n.Name("s", c, noon)
		if err != nil {
			t.Fatal(err)
		}
		if w.IsZero() {
			return name.Key, ""
		}
		wide, err := n.Name("s", w, noon)
		if err != nil {
			t.Fatal(err)
		}
		return name.Key, wide.Key
	}
	c1, w1 := names("2001:db8:7:1::1")
	c2, w2 := names("2001:db8:7:2::1")
	_, w3 := names("2001:db8:8:1::1")
	if c1 == c2 || w1 != w2 || w1 == w3 || c1 == w1 {
		t.Errorf("two /64 of a /48 and one of another: clients %s, %s; networks %s, %s, %s", c1, c2, w1, w2, w3)
	}
	if alone := named(t, n, "s", "2001:db8:7:1::1", noon).Key; alone != c1 {
		t.Errorf("a second tier changed the client from %s to %s", alone, c1)
	}
	if _, w := names("1.2.3.4"); w != "" {
		t.Errorf("IPv4 has the network %s, and no tier for it", w)
	}
}

func TestTiersRefuse(t *testing.T) {
	for _, row := range []struct {
		why    string
		tiers  identity.Tiers
		faults []string
	}{
		{"nothing to choose", identity.Tiers{}, nil},
		{"both", identity.Tiers{Client: identity.Mask{IPv6: 56}, Network: identity.Mask{IPv4: 24, IPv6: 48}}, nil},
		{"as wide as the client", identity.Tiers{Network: identity.Mask{IPv6: 64}}, []string{"second tier /64 of IPv6 is not wider"}},
		{"everything at once", identity.Tiers{Client: identity.Mask{IPv4: 1}, Network: identity.Mask{IPv4: 2, IPv6: 200}}, []string{"/1", "/2 ", "/200"}},
	} {
		err := row.tiers.Validate()
		if (err == nil) != (row.faults == nil) {
			t.Errorf("%s: got error %v, want %q", row.why, err, row.faults)
		}
		for _, fault := range row.faults {
			if err != nil && !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: got error %v, want one with %q", row.why, err, fault)
			}
		}
		if _, _, other := row.tiers.Clients(netip.MustParseAddr("1.2.3.4")); (other == nil) != (err == nil) {
			t.Errorf("%s: Validate says %v, Clients %v", row.why, err, other)
		}
	}
}
