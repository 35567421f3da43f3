package identity_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/identity"
)

// BenchmarkName is the cost of a name, which every request pays.
func BenchmarkName(b *testing.B) {
	for _, row := range []struct {
		name string
		bits int
		at   time.Time
	}{
		{"noon", 0, noon},
		{"rotation", 0, T},
		{"rotation-slot", 8, T},
	} {
		b.Run(row.name, func(b *testing.B) {
			c := usual
			c.SlotBits = row.bits
			n, who := open(b, c), client(b, "203.0.113.7")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.Name("search", who, row.at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		n, who := open(b, usual), client(b, "203.0.113.7")
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := n.Name("search", who, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkClient is the way from a request to a client.
func BenchmarkClient(b *testing.B) {
	p := identity.Proxies{Trusted: inner}
	tiers := identity.Tiers{Network: identity.Mask{IPv6: 48}}
	r := request("10.0.0.1:80", "X-Forwarded-For", "1.1.1.1, 2001:db8:7:1::1, 10.0.0.2")
	b.ReportAllocs()
	for b.Loop() {
		addr, err := p.Client(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := tiers.Clients(addr); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDigest is what whoever has the key needs for each address that he tries:
// the figure of docs/privacy.md.
func BenchmarkDigest(b *testing.B) {
	mac := hmac.New(sha256.New, make([]byte, 32))
	message, sum := make([]byte, 40), make([]byte, 0, sha256.Size)
	for b.Loop() {
		message[0]++
		mac.Reset()
		mac.Write(message)
		sum = mac.Sum(sum[:0])
	}
}
