package scenarios

import (
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestClientsOfAddresses(t *testing.T) {
	for _, row := range []struct {
		network      string
		step, client int // 0: the default
		keys         int
		want         []int32
		why          string
	}{
		{"198.51.100.0/24", 0, 0, 4, []int32{0, 1, 2, 3}, "an address of IPv4 is a client"},
		{"198.51.100.0/24", 0, 31, 4, []int32{0, 0, 1, 1}, "two addresses are one"},
		{"198.51.100.0/24", 0, 8, 3, []int32{0, 0, 0}, "the network is part of a client"},
		{"0.0.0.0/0", 8, 16, 3, []int32{0, 1, 2}, "steps from 0.0.0.0 to 1.0.0.0"},
		{"255.255.255.255/32", 0, 0, 1, []int32{0}, "the last address there is"},
		{"2001:db8:0:1::/64", 0, 0, 3, []int32{0, 0, 0}, "whoever has a /64 is one client"},
		{"2001:db8:0:1::/64", 0, 128, 3, []int32{0, 1, 2}, "unless addresses are told apart"},
		{"2001:db8::/56", 64, 0, 3, []int32{0, 1, 2}, "each /64 of a /56"},
		{"2001:db8::/56", 65, 0, 5, []int32{0, 0, 1, 1, 2}, "half of each"},
		{"2001:db8::/56", 64, 56, 256, make([]int32, 256), "all of them are one"},
	} {
		a := Addresses{Network: netip.MustParsePrefix(row.network), Step: row.step, Client: row.client}.withDefaults()
		if err := a.validate(row.keys); err != nil {
			t.Errorf("%s: %v", row.network, err)
		}
		got, err := a.clients(row.keys)
		if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
			t.Errorf("%s in steps of /%d, clients of /%d: %v\n%s (%s)", row.network, a.Step, a.Client, err, diff, row.why)
		}
	}
}

// What fits keeps to its network, and two keys are one client if and only if their
// addresses share the client's prefix; what does not fit says so.
func TestClientsAreThoseOfAReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, least := 128, 32
		if rapid.Bool().Draw(t, "IPv4") {
			size, least = 32, 8
		}
		raw := rapid.SliceOfN(rapid.Byte(), size/8, size/8).Draw(t, "address")
		addr, _ := netip.AddrFromSlice(raw)
		network := netip.PrefixFrom(addr, rapid.IntRange(0, size).Draw(t, "bits")).Masked()
		a := Addresses{
			Network: network, Step: rapid.IntRange(network.Bits(), size).Draw(t, "step"), Client: rapid.IntRange(least, size).Draw(t, "client"),
		}
		keys := rapid.IntRange(1, 300).Draw(t, "keys")
		room := new(big.Int).Lsh(big.NewInt(1), uint(a.Step-network.Bits()))
		err := a.validate(keys)
		if fits := big.NewInt(int64(keys)).Cmp(room) <= 0; fits != (err == nil) {
			t.Fatalf("%+v with %d keys: %v", a, keys, err)
		}
		if err != nil {
			return
		}
		got, err := a.clients(keys)
		if err != nil {
			t.Fatal(err)
		}
		numbers, next := map[string]int32{}, int32(0)
		for k := range keys {
			at := stepped(network.Addr(), a.Step, k)
			if own, err := a.address(k); err != nil || own != at || !network.Contains(own) {
				t.Fatalf("key %d has %s (%v), want %s of %s", k, own, err, at, network)
			}
			who := digitsOf(at)[:a.Client]
			if _, ok := numbers[who]; !ok {
				numbers[who] = next
				next++
			}
			if got[k] != numbers[who] {
				t.Fatalf("key %d at %s is client %d, want %d", k, at, got[k], numbers[who])
			}
		}
	})
}

// digitsOf is an address in zeros and ones.
func digitsOf(a netip.Addr) string {
	var b strings.Builder
	for _, octet := range a.AsSlice() {
		fmt.Fprintf(&b, "%08b", octet)
	}
	return b.String()
}

// stepped adds one at the end of a prefix, so often, with carry by hand.
func stepped(a netip.Addr, step, times int) netip.Addr {
	digits := []byte(digitsOf(a))
	for range times {
		for i := step - 1; i >= 0; i-- {
			if digits[i] ^= 1; digits[i] == '1' {
				break
			}
		}
	}
	raw := make([]byte, len(digits)/8)
	for i, d := range digits {
		raw[i/8] = raw[i/8]<<1 | (d - '0')
	}
	out, _ := netip.AddrFromSlice(raw)
	return out
}

// A network that ends with the addresses has no next one.
func TestAddressesEnd(t *testing.T) {
	a := Addresses{Network: netip.MustParsePrefix("255.255.255.254/31")}.withDefaults()
	if _, err := a.clients(3); err == nil || err.Error() != "addresses: there are not so many" {
		t.Errorf("%v", err)
	}
}
