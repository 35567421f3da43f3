package scenarios

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/rlbench/rlbench/limiter/identity"
)

// Addresses are where the senders of a scenario come from; the zero value says
// nothing about it, and then each key is a client.
type Addresses struct {
	// Network is the range in which the first key has the first address.
	Network netip.Prefix
	// Step is the length of the prefix that changes from key to key.
	Step int
	// Client is the length of the prefix that is one client.
	Client int
}

// withDefaults fills in steps of one address, and clients as package identity
// tells them apart.
func (a Addresses) withDefaults() Addresses {
	if a.Step == 0 {
		a.Step = a.Network.Addr().BitLen()
	}
	if a.Client == 0 {
		a.Client = identity.DefaultIPv6
		if a.Network.Addr().Is4() {
			a.Client = identity.DefaultIPv4
		}
	}
	return a
}

// validate reports what does not fit that many keys.
func (a Addresses) validate(keys int) error {
	most := a.Network.Addr().BitLen()
	switch {
	case a.Network != a.Network.Masked():
		return fmt.Errorf("addresses %s: the network is %s", a.Network, a.Network.Masked())
	case a.Step < a.Network.Bits() || a.Step > most:
		return fmt.Errorf("step %d: want %d to %d in %s", a.Step, a.Network.Bits(), most, a.Network)
	case a.Step-a.Network.Bits() < 31 && keys > 1<<(a.Step-a.Network.Bits()):
		return fmt.Errorf("%s has %d networks of /%d; there are %d keys", a.Network, 1<<(a.Step-a.Network.Bits()), a.Step, keys)
	}
	_, err := identity.Canonical(a.Network.Addr(), a.mask())
	return err
}

func (a Addresses) mask() identity.Mask {
	if a.Network.Addr().Is4() {
		return identity.Mask{IPv4: a.Client}
	}
	return identity.Mask{IPv6: a.Client}
}

// clients number the clients that keys are, from 0 in the order of keys.
func (a Addresses) clients(keys int) ([]int32, error) {
	known := map[netip.Prefix]int32{}
	numbers := make([]int32, keys)
	for k := range numbers {
		addr, err := a.address(k)
		if err != nil {
			return nil, err
		}
		client, err := identity.Canonical(addr, a.mask())
		if err != nil {
			return nil, err
		}
		n, ok := known[client]
		if !ok {
			n = int32(len(known))
			known[client] = n
		}
		numbers[k] = n
	}
	return numbers, nil
}

// address is that of a key: the network's first, so many steps on.
func (a Addresses) address(key int) (netip.Addr, error) {
	first := a.Network.Addr()
	n := new(big.Int).SetBytes(first.AsSlice())
	n.Add(n, new(big.Int).Lsh(big.NewInt(int64(key)), uint(first.BitLen()-a.Step)))
	if n.BitLen() > first.BitLen() {
		return netip.Addr{}, errors.New("addresses: there are not so many")
	}
	addr, _ := netip.AddrFromSlice(n.FillBytes(make([]byte, first.BitLen()/8)))
	return addr, nil
}
