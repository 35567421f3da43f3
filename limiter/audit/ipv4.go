package audit

import (
	"bytes"
	"net/netip"
)

// sighting is called for each address that is found in bytes [start, end).
type sighting func(a netip.Addr, form string, start, end int)

// ipv4s finds addresses as four numbers: not three, not five, no version behind
// a v, and none that no client has, such as 120.0.0.0, which browsers call
// themselves.
func ipv4s(b []byte, seen sighting) {
	for i := 0; i < len(b); {
		if !isDigit(b[i]) {
			i++
			continue
		}
		start := i
		var groups int
		i, groups = dotted(b, i)
		if groups != 4 || isVersion(b, start) {
			continue
		}
		a, ok := fourNumbers(b[start:i])
		if !ok {
			continue
		}
		form, end := "ipv4", i
		if suffix := []byte(".in-addr.arpa"); bytes.HasPrefix(bytes.ToLower(b[i:min(len(b), i+len(suffix))]), suffix) {
			form = "in-addr.arpa"
			end += len(suffix)
		}
		seen(a, form, start, end)
	}
}

// dotted walks over numbers with single dots between them, and counts them.
func dotted(b []byte, i int) (end, groups int) {
	for {
		for i < len(b) && isDigit(b[i]) {
			i++
		}
		groups++
		if i+1 >= len(b) || b[i] != '.' || !isDigit(b[i+1]) {
			return i, groups
		}
		i++
	}
}

// isVersion reports whether a number is that of a version: v1.2.3.4.
func isVersion(b []byte, start int) bool {
	return start > 0 && b[start-1]|0x20 == 'v' && (start == 1 || !isWord(b[start-2]))
}

func fourNumbers(text []byte) (netip.Addr, bool) {
	var octets [4]byte
	groups := bytes.Split(text, []byte("."))
	padded := len(text) == len("000.000.000.000")
	for i, group := range groups {
		n := 0
		for _, c := range group {
			n = n*10 + int(c-'0')
			if n > 255 {
				return netip.Addr{}, false
			}
		}
		// Zeros in front are a way to pad all four, and else no address at all.
		if group[0] == '0' && len(group) > 1 && !padded {
			return netip.Addr{}, false
		}
		octets[i] = byte(n)
	}
	network := octets[1] == 0 && octets[2] == 0 && octets[3] == 0
	return netip.AddrFrom4(octets), octets[0] != 0 && !network
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWord(c byte) bool { return isDigit(c) || isLetter(c) }
