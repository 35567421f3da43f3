package identity

import (
	"errors"
	"fmt"
	"net/netip"
)

// Default lengths of the prefix that is one client. RIPE-690: a single network
// has a /64, a household often a /56, a business a /48.
const (
	DefaultIPv4 = 32
	DefaultIPv6 = 64
)

// Mask is how many leading bits of an address make a client.
type Mask struct {
	IPv4 int // 8 to 32
	IPv6 int // 32 to 128
}

// nat64 is the well-known prefix under which IPv4 hosts reach IPv6 servers
// through a translator: RFC 6052, section 2.1.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Canonical brings an address into the one form in which it is named. Zero
// fields of m are DefaultIPv4 and DefaultIPv6.
//
// IPv4 in IPv6 clothes is IPv4: 1.2.3.4, ::ffff:1.2.3.4 and 64:ff9b::1.2.3.4
// are one client, and two IPv4 hosts behind a translator are two. Zones are
// dropped. Of other addresses the bits beyond the mask are.
//
// Not told apart are hosts behind a translator with a prefix of its own, whose
// layout cannot be known, and hosts that share a network: all of fe80::/64 is one
// client.
func Canonical(addr netip.Addr, m Mask) (netip.Prefix, error) {
	m = m.or(Mask{DefaultIPv4, DefaultIPv6})
	if err := m.validate(); err != nil {
		return netip.Prefix{}, err
	}
	if !addr.IsValid() {
		return netip.Prefix{}, fmt.Errorf("%w: the address is empty", ErrNoClient)
	}
	addr = plain(addr)
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr.Prefix(m.bits(addr))
}

// plain is an address without IPv6 clothes and without a zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

func (m Mask) bits(addr netip.Addr) int {
	if addr.Is4() {
		return m.IPv4
	}
	return m.IPv6
}

// or fills zero fields.
func (m Mask) or(d Mask) Mask {
	if m.IPv4 == 0 {
		m.IPv4 = d.IPv4
	}
	if m.IPv6 == 0 {
		m.IPv6 = d.IPv6
	}
	return m
}

func (m Mask) validate() error {
	var errs []error
	if m.IPv4 < 8 || m.IPv4 > 32 {
		errs = append(errs, fmt.Errorf("IPv4 mask /%d, want /8 to /32", m.IPv4))
	}
	if m.IPv6 < 32 || m.IPv6 > 128 {
		errs = append(errs, fmt.Errorf("IPv6 mask /%d, want /32 to /128", m.IPv6))
	}
	return errors.Join(errs...)
}

// Tiers are the sizes of network that have budgets. The zero value names single
// IPv4 addresses and IPv6 networks of /64, and nothing wider.
type Tiers struct {
	// Client is who has the usual budget. Zero fields are the defaults.
	Client Mask
	// Network is who has a second, looser budget: IPv6: 48 keeps one customer
	// from using 65536 budgets of /64. A zero field is no second tier.
	Network Mask
}

// Validate reports everything that is wrong with the tiers.
func (t Tiers) Validate() error {
	client := t.Client.or(Mask{DefaultIPv4, DefaultIPv6})
	var errs []error
	for _, m := range []Mask{client, t.Network.or(Mask{32, 128})} {
		if err := m.validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if n := t.Network.IPv4; n != 0 && n >= client.IPv4 {
		errs = append(errs, fmt.Errorf("second tier /%d of IPv4 is not wider than the client's /%d", n, client.IPv4))
	}
	if n := t.Network.IPv6; n != 0 && n >= client.IPv6 {
		errs = append(errs, fmt.Errorf("second tier /%d of IPv6 is not wider than the client's /%d", n, client.IPv6))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tiers: %w", err)
	}
	return nil
}

// Clients are the two clients that an address belongs to. The network is nobody
// (IsZero) if there is no second tier for its kind of address.
//
// Both have the same Name.Slot, that of the wider one, so that one joint
// request can charge both on Redis Cluster.
func (t Tiers) Clients(addr netip.Addr) (client, network Client, err error) {
	if err := t.Validate(); err != nil {
		return Client{}, Client{}, err
	}
	p, err := Canonical(addr, t.Client)
	if err != nil {
		return Client{}, Client{}, err
	}
	client = Network(p)
	bits := t.Network.bits(p.Addr())
	if bits == 0 {
		return client, Client{}, nil
	}
	wide, err := p.Addr().Prefix(bits)
	if err != nil {
		return Client{}, Client{}, err
	}
	client.shard = wide
	return client, Network(wide), nil
}
