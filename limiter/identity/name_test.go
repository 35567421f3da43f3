package identity_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/identity"
)

// The reference: doc.go in as few words as possible, and none of the package's
// code.

func hash(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write([]byte{byte(len(p) >> 8), byte(len(p))})
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

// reference is the pseudonym in the given period after the key's first.
func reference(period int, label, scope, client string) string {
	key := hash(testSecret(), "rlbench/identity/v1 root")
	for range period {
		key = hash(key, "rlbench/identity/v1 next")
	}
	digest := hash(hash(key, "rlbench/identity/v1 name"), "rlbench/identity/v1 "+label, scope, client)
	return base64.RawURLEncoding.EncodeToString(digest[:12])
}

// inFull is a client of the default tiers as it is put into the MAC.
func inFull(addr string) string {
	a := netip.MustParseAddr(addr)
	if a.Is4() {
		return string(a.AsSlice()) + "\x20"
	}
	return string(a.AsSlice()[:8]) + "\x00\x00\x00\x00\x00\x00\x00\x00\x40"
}

// TestVectors holds names against constants that were computed by another
// program in another language, and against the reference.
func TestVectors(t *testing.T) {
	for _, row := range []struct {
		why         string
		period      int
		scope, addr string
		want        string
	}{
		{"the first period", 0, "search", "203.0.113.7", "ggojpd1fXpWseItc"},
		{"one step of the ratchet", 1, "search", "203.0.113.7", "1lDg6U62sO0mkf5E"},
		{"two steps", 2, "search", "203.0.113.7", "uNvFchFoHDXYE40X"},
		{"a year of steps", 365, "search", "203.0.113.7", "wZn5nsidfuhGXn-6"},
		{"the scope that spans all", 0, "", "203.0.113.7", "n3FH-dfFsEfz8_iU"},
		{"IPv6 is a /64", 0, "search", "2001:db8:1:2:3:4:5:6", "9kvYt1-QW03J4HxV"},
	} {
		at := noon.Add(time.Duration(row.period) * day)
		if got := named(t, open(t, usual), row.scope, row.addr, at).Key; got != row.want {
			t.Errorf("%s: got %s, want %s", row.why, got, row.want)
		}
		if got := reference(row.period, "address", row.scope, inFull(row.addr)); got != row.want {
			t.Errorf("%s: the reference says %s, want %s", row.why, got, row.want)
		}
	}
	account, err := open(t, usual).Name("search", identity.Account("user-1"), noon)
	if want := "9mgWbla2_TO2l5jE"; err != nil || account.Key != want || want != reference(0, "account", "search", "user-1") {
		t.Errorf("an account: got %q, %v, want %s", account.Key, err, want)
	}
}

// TestSlotVectors: the label is the first bits of a digest that does not
// rotate.
func TestSlotVectors(t *testing.T) {
	root := hash(testSecret(), "rlbench/identity/v1 root")
	slot := hash(root, "rlbench/identity/v1 slot")
	for _, row := range []struct {
		addr string
		bits int
		want string
	}{
		{"203.0.113.7", 1, "0"},
		{"203.0.113.7", 4, "1"},
		{"203.0.113.7", 14, "1565"},
		{"2001:db8:1:2::", 1, "1"},
		{"2001:db8:1:2::", 4, "15"},
		{"2001:db8:1:2::", 14, "15970"},
		{"2001:db8:1:2::", 0, ""},
	} {
		c := usual
		c.SlotBits = row.bits
		n := open(t, c)
		if got := named(t, n, "search", row.addr, noon).Slot; got != row.want {
			t.Errorf("%s, %d bits: got %q, want %q", row.addr, row.bits, got, row.want)
		}
		if row.bits == 0 {
			continue
		}
		d := hash(slot, "rlbench/identity/v1 shard", inFull(row.addr))
		if got := strconv.Itoa((int(d[0])<<8 | int(d[1])) >> (16 - row.bits)); got != row.want {
			t.Errorf("%s, %d bits: the reference says %q, want %q", row.addr, row.bits, got, row.want)
		}
	}
}

// TestOneSlotForAllNames: scopes, tiers and both sides of a rotation.
func TestOneSlotForAllNames(t *testing.T) {
	c := usual
	c.SlotBits = 14
	n := open(t, c)
	tiers := identity.Tiers{Network: identity.Mask{IPv6: 48}}
	slots := map[string]bool{}
	for _, addr := range []string{"2001:db8:7:1::1", "2001:db8:7:2::2"} {
		client, network, err := tiers.Clients(netip.MustParseAddr(addr))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{noon, T.Add(-1), T, T.Add(40 * day)} {
			for _, who := range []identity.Client{client, network} {
				for _, scope := range []string{"", "search"} {
					name, err := n.Name(scope, who, at)
					if err != nil {
						t.Fatal(err)
					}
					slots[name.Slot] = true
				}
			}
		}
	}
	if len(slots) != 1 {
		t.Errorf("one network and its clients have slots %v, want one", slots)
	}
}

// TestSlotsSpread: labels reach all shards of a cluster about evenly with a
// few bits more than the logarithm of the shards.
func TestSlotsSpread(t *testing.T) {
	const bits, shards = 8, 6
	var clients [shards]int
	for label := range 1 << bits {
		clients[int(limiter.Slot(strconv.Itoa(label)))*shards/16384]++
	}
	for shard, n := range clients {
		if mean := (1 << bits) / shards; n < mean*7/10 || n > mean*13/10 {
			t.Errorf("shard %d has %d of %d labels, want within 30%% of the mean: %v", shard, n, 1<<bits, clients)
		}
	}
}

// TestUnlinkable: whatever differs, the whole name does.
func TestUnlinkable(t *testing.T) {
	n := open(t, usual)
	otherSecret := hash(testSecret(), "another deployment")
	otherKey, err := identity.NewKey(otherSecret)
	if err != nil {
		t.Fatal(err)
	}
	other, err := identity.New(otherKey, birth, usual)
	if err != nil {
		t.Fatal(err)
	}
	longKey := strings.Repeat("k", 100)
	name := func(n *identity.Namer, scope string, c identity.Client, at time.Time) string {
		name, err := n.Name(scope, c, at)
		if err != nil {
			t.Fatal(err)
		}
		return name.Key
	}
	me := client(t, "203.0.113.7")
	_, wide, err := identity.Tiers{Network: identity.Mask{IPv6: 48}}.Clients(netip.MustParseAddr("2001:db8::1"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, row := range []struct{ why, name string }{
		{"the name itself", name(n, "a", me, noon)},
		{"another scope", name(n, "b", me, noon)},
		{"no scope", name(n, "", me, noon)},
		{"another period", name(n, "a", me, noon.Add(day))},
		{"another deployment", name(other, "a", me, noon)},
		{"another client", name(n, "a", client(t, "203.0.113.8"), noon)},
		{"the same bits, wider", name(n, "a", wide, noon)},
		{"the same bits", name(n, "a", client(t, "2001:db8::1"), noon)},
		{"an account that looks like an address", name(n, "a", identity.Account("203.0.113.7"), noon)},
		{"an account that is encoded like one", name(n, "a", identity.Account("\xcb\x00\x71\x07\x20"), noon)},
		{"a long API key", name(n, "a", identity.Account(longKey+"1"), noon)},
		{"one with the same first 100 characters", name(n, "a", identity.Account(longKey+"2"), noon)},
		{"a border between scope and client", name(n, "a", identity.Account("bc"), noon)},
		{"that border moved", name(n, "ab", identity.Account("c"), noon)},
		{"a length inside the scope", name(n, "a\x00\x02bc", identity.Account("d"), noon)},
	} {
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{16}$`).MatchString(row.name) {
			t.Errorf("%s: name %q", row.why, row.name)
		}
		if before, ok := seen[row.name]; ok {
			t.Errorf("%s and %s have the same name", before, row.why)
		}
		seen[row.name] = row.why
	}
}

// TestNamesAreTheReference over everything that a name is made of.
func TestNamesAreTheReference(t *testing.T) {
	key := testKey(t)
	rapid.Check(t, func(t *rapid.T) {
		n, err := identity.New(key, birth, usual)
		if err != nil {
			t.Fatal(err)
		}
		scope := rapid.StringN(0, -1, 1000).Draw(t, "scope")
		account := rapid.StringN(1, -1, 1000).Draw(t, "account")
		period := rapid.IntRange(0, 40).Draw(t, "period")
		name, err := n.Name(scope, identity.Account(account), noon.Add(time.Duration(period)*day))
		if err != nil {
			t.Fatal(err)
		}
		if want := reference(period, "account", scope, account); name.Key != want {
			t.Fatalf("got %s, want %s", name.Key, want)
		}
	})
}

func TestNameRefuses(t *testing.T) {
	n := open(t, usual)
	me := client(t, "203.0.113.7")
	for _, row := range []struct {
		why   string
		scope string
		c     identity.Client
		at    time.Time
		fault string
		is    error
	}{
		{"nobody", "a", identity.Client{}, noon, "nobody to name", nil},
		{"an empty account", "a", identity.Account(""), noon, "nobody to name", nil},
		{"a network that was not parsed", "a", identity.Network(netip.Prefix{}), noon, "nobody to name", nil},
		{"a scope that is too long", strings.Repeat("a", identity.MaxScope+1), me, noon, "scope of 1025 bytes", nil},
		{"an account that is too long", "a", identity.Account(strings.Repeat("a", identity.MaxAccount+1)), noon, "account of 4097 bytes", nil},
		{"no instant", "a", me, time.Time{}, "before 1970", nil},
		{"an instant beyond all calendars", "a", me, time.Unix(1<<62, 0), "beyond reason", nil},
		{"before the first key", "a", me, birth.Add(-1), "was the clock set back?", identity.ErrPast},
		{"farther than can be derived", "a", me, birth.Add(time.Hour).AddDate(0, 0, identity.MaxAhead+1), "is the clock right?", identity.ErrFuture},
	} {
		_, err := n.Name(row.scope, row.c, row.at)
		if err == nil || !strings.Contains(err.Error(), row.fault) || row.is != nil && !errors.Is(err, row.is) {
			t.Errorf("%s: got error %v, want one with %q", row.why, err, row.fault)
			continue
		}
		if strings.Contains(err.Error(), "203.0.113.7") {
			t.Errorf("%s: the error shows the client: %v", row.why, err)
		}
	}
	if _, err := n.Name(strings.Repeat("a", identity.MaxScope), identity.Account(strings.Repeat("a", identity.MaxAccount)), noon); err != nil {
		t.Errorf("the longest that is allowed: %v", err)
	}
	if _, err := n.Name("a", me, birth.Add(time.Hour).AddDate(0, 0, identity.MaxAhead)); err != nil {
		t.Errorf("the farthest that is derived: %v", err)
	}
}

// TestSecretsDoNotPrint with any verb that people use for debugging.
func TestSecretsDoNotPrint(t *testing.T) {
	secret := fmt.Sprintf("%x", testSecret())
	for _, v := range []any{
		testKey(t), open(t, usual), client(t, "203.0.113.7"),
		struct{ C identity.Client }{client(t, "203.0.113.7")},
		struct{ K identity.Key }{testKey(t)},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
			got := fmt.Sprintf(verb, v)
			if !strings.Contains(got, "secret") && !strings.Contains(got, "private") ||
				strings.Contains(got, secret) || strings.Contains(got, "113") {
				t.Errorf("%s of a %T is %s", verb, v, got)
			}
		}
	}
}
