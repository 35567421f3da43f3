package audit

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// given are addresses that are known, each once. The zero value has none.
type given struct {
	all   map[netip.Addr]bool
	order []netip.Addr
	// firsts are the first groups of those of IPv6, which spare trying most texts.
	firsts map[uint16]bool
}

func newGiven(addresses []netip.Addr) given {
	g := given{all: map[netip.Addr]bool{}, firsts: map[uint16]bool{}}
	for _, a := range addresses {
		if a = a.Unmap().WithZone(""); !a.IsValid() || g.all[a] {
			continue
		}
		g.all[a] = true
		g.order = append(g.order, a)
		if a.Is6() {
			g.firsts[binary.BigEndian.Uint16(a.AsSlice())] = true
		}
	}
	slices.SortFunc(g.order, netip.Addr.Compare)
	return g
}

// begins reports whether a run of hexadecimal groups begins like one of them.
func (g given) begins(run []byte) bool {
	if len(g.firsts) == 0 {
		return false
	}
	first := uint16(0)
	for i := 0; i < len(run) && run[i] != ':'; i++ {
		if i == 4 {
			return false
		}
		first = first<<4 | uint16(unhex(run[i]))
	}
	return g.firsts[first]
}
