package identity_test

import (
	"crypto/sha256"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

// Named instants: T is a rotation, and the keys of the tests begin a day before
// it.
var (
	T     = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	birth = T.Add(-day)
	noon  = T.Add(-12 * time.Hour)
)

// usual rotates daily for limits of up to a minute under the counter.
var usual = identity.Config{Overlap: 2 * time.Minute, Skew: time.Second}

// testSecret looks random and is the same in every run.
func testSecret() []byte {
	s := sha256.Sum256([]byte("rlbench"))
	return s[:]
}

func testKey(t testing.TB) identity.Key {
	t.Helper()
	key, err := identity.NewKey(testSecret())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func open(t testing.TB, c identity.Config) *identity.Namer {
	t.Helper()
	n, err := identity.New(testKey(t), birth, c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// client is the client of an address with the default tiers.
func client(t testing.TB, addr string) identity.Client {
	t.Helper()
	c, _, err := identity.Tiers{}.Clients(netip.MustParseAddr(addr))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// named is a name that has to exist.
func named(t testing.TB, n *identity.Namer, scope, addr string, at time.Time) identity.Name {
	t.Helper()
	name, err := n.Name(scope, client(t, addr), at)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
