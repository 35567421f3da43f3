package trace

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"hash/maphash"
	"net/netip"
	"slices"

	"github.com/rlbench/rlbench/limiter/identity"
)

// Directory numbers the clients and routes of a log in the order in which they come. It
// keeps no address: of a client it knows a pseudonym, under a key that is drawn for the
// run, kept nowhere, and so of no use to anybody afterwards.
//
// It is safe for one goroutine.
type Directory struct {
	mask     identity.Mask
	seed     maphash.Seed
	mac      hash.Hash
	seen     map[uint64]uint32 // hash of what a log says → client
	known    map[[pseudonym]byte]uint32
	names    [][pseudonym]byte // of clients
	routes   routes
	networks []uint32 // of clients
	blocks   map[[pseudonym]byte]uint32
}

// pseudonym is how many bytes of a MAC name a client. What a log says is looked up by a
// hash of 64 bits, which decides how often two clients are taken for one: of a million
// spellings, any two with a chance of one in 37 million (n²/2 in 2⁶⁴).
const pseudonym = 12

// newDirectory has a mask for what is one client, as a limiter in front has it.
func newDirectory(mask identity.Mask) *Directory {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return &Directory{
		mask: mask, seed: maphash.MakeSeed(), mac: hmac.New(sha256.New, key), seen: map[uint64]uint32{},
		known: map[[pseudonym]byte]uint32{}, blocks: map[[pseudonym]byte]uint32{}, routes: newRoutes(),
	}
}

// Clients is how many there are.
func (d *Directory) Clients() int { return len(d.names) }

// Client is the pseudonym of one: the same throughout a run, and never again.
func (d *Directory) Client(n uint32) string { return hex.EncodeToString(d.names[n][:]) }

// Network numbers the network that a client is in: a /24, or a /48 of IPv6. Who has no
// address is a network alone.
func (d *Directory) Network(n uint32) uint32 { return d.networks[n] }

// Networks is how many there are.
func (d *Directory) Networks() int { return len(d.blocks) }

// Routes are methods and paths, without what may name a person. They are final, and worth
// their price, when the log has been read.
func (d *Directory) Routes() []string {
	d.routes.settle()
	return slices.Clone(d.routes.names)
}

// Route is the place in Routes of what a request calls its route. Many of those may be one:
// what is a route, and what a name in it, shows at the end of a log.
func (d *Directory) Route(n uint32) uint32 {
	d.routes.settle()
	return d.routes.final[n]
}

// client numbers who is named in a log: an address, or anything else.
func (d *Directory) client(b []byte) uint32 {
	h := maphash.Bytes(d.seed, b)
	if n, ok := d.seen[h]; ok {
		return n
	}
	who, where := d.canonical(b)
	name := d.sum(who)
	n, ok := d.known[name]
	if !ok {
		n = uint32(len(d.names))
		d.known[name] = n
		d.names = append(d.names, name)
		block := d.sum(where)
		if _, ok := d.blocks[block]; !ok {
			d.blocks[block] = uint32(len(d.blocks))
		}
		d.networks = append(d.networks, d.blocks[block])
	}
	d.seen[h] = n
	return n
}

// canonical is one form of whom b names, and of the network around.
func (d *Directory) canonical(b []byte) (who, where []byte) {
	addr, err := netip.ParseAddr(string(b))
	if err != nil {
		name := append([]byte("name "), bytes.ToLower(b)...)
		return name, name
	}
	own, err := identity.Canonical(addr, d.mask)
	around, err2 := identity.Canonical(addr, identity.Mask{IPv4: 24, IPv6: 48})
	if err != nil || err2 != nil {
		return b, b // the mask was checked
	}
	return []byte("client " + own.String()), []byte("network " + around.String())
}

func (d *Directory) sum(text []byte) (name [pseudonym]byte) {
	d.mac.Reset()
	d.mac.Write(text)
	var sum [sha256.Size]byte
	copy(name[:], d.mac.Sum(sum[:0]))
	return name
}
