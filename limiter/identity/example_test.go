package identity_test

import (
	"crypto/rand"
	"fmt"
	"log"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/identity"
)

// Example goes from an HTTP request to a request of a limiter.
func Example() {
	dir, err := os.MkdirTemp("", "identity")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "identity.key")
	window := time.Minute
	config := identity.Config{Overlap: window}
	now := time.Date(2026, 3, 2, 0, 0, 20, 0, time.UTC)

	// Once, by the operator:
	if err := identity.Create(path, config, now.AddDate(0, 0, -1)); err != nil {
		log.Fatal(err)
	}

	// At every start of the service:
	names, err := identity.Open(path, config)
	if err != nil {
		log.Fatal(err)
	}
	proxies := identity.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	tiers := identity.Tiers{Network: identity.Mask{IPv6: 48}}

	// With every request:
	r := httptest.NewRequest("GET", "/search", nil)
	r.RemoteAddr = "10.0.0.1:4711"
	r.Header.Add("X-Forwarded-For", "192.0.2.99, 2001:db8:7:1::1") // the first one is invented
	addr, err := proxies.Client(r)
	if err != nil {
		log.Fatal(err) // a service decides here on purpose
	}
	client, network, err := tiers.Clients(addr)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range []identity.Client{client, network} {
		name, err := names.Name("search", c, now)
		if err != nil {
			log.Fatal(err)
		}
		request := limiter.Request{Key: name.Key, Also: name.Also, Slot: name.Slot, At: now}
		fmt.Println(len(request.Key), "characters; 20 seconds after midnight the former name counts too:", request.Also != "")
	}
	// Output:
	// 16 characters; 20 seconds after midnight the former name counts too: true
	// 16 characters; 20 seconds after midnight the former name counts too: true
}

// A key from a secrets manager: all servers take the same key and the same day.
func ExampleNew() {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // stands in for the secrets manager
	key, err := identity.NewKey(secret)
	if err != nil {
		log.Fatal(err)
	}
	since := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	names, err := identity.New(key, since, identity.Config{Overlap: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	me := identity.Account("customer 4711")
	day1, _ := names.Name("search", me, since.Add(time.Hour))
	same, _ := names.Name("search", me, since.Add(2*time.Hour))
	other, _ := names.Name("upload", me, since.Add(time.Hour))
	day2, _ := names.Name("search", me, since.Add(25*time.Hour))
	fmt.Println(day1.Key == same.Key, day1.Key == other.Key, day1.Key == day2.Key)
	fmt.Println(key)
	// Output:
	// true false false
	// identity.Key(secret)
}

func ExampleParseKey() {
	for _, text := range []string{
		"fallback-not-for-prod",
		"correcthorsebatterystaplecorrecthorsebatteryst",
		"0000000000000000000000000000000000000000000000000000000000000000",
	} {
		_, err := identity.ParseKey(text)
		fmt.Println(err)
	}
	// Output:
	// parse key: base64 of one case only: it looks like a passphrase; make a key with: openssl rand -hex 32
	// parse key: base64 of one case only: it looks like a passphrase; make a key with: openssl rand -hex 32
	// parse key: it repeats a shorter pattern, want random bytes
}

func ExampleCanonical() {
	for _, s := range []string{"::ffff:192.0.2.1", "64:ff9b::192.0.2.1", "192.0.2.1", "2001:db8:1:2:3:4:5:6"} {
		p, err := identity.Canonical(netip.MustParseAddr(s), identity.Mask{})
		fmt.Println(p, err)
	}
	// Output:
	// 192.0.2.1/32 <nil>
	// 192.0.2.1/32 <nil>
	// 192.0.2.1/32 <nil>
	// 2001:db8:1:2::/64 <nil>
}
