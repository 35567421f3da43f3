package audit

import (
	"bytes"
	"net/netip"
	"strings"
)

// longest6 is the length of an address with all its zeros.
const longest6 = len("0000:0000:0000:0000:0000:0000:0000:0000")

// ipv6s finds addresses in hexadecimal groups. Colons are also what keys are
// made of, so it takes what is in use, what is written in full or in brackets, and
// else only what is known.
func ipv6s(b []byte, known given, seen sighting) {
	if string(b) == "::1" {
		seen(netip.IPv6Loopback(), "ipv6", 0, len(b))
		return
	}
	for i := 0; i < len(b); i++ {
		if b[i] == '[' {
			if a, n := bracketed(b[i:]); n > 0 {
				seen(a, "ipv6", i+1, i+1+n)
				i += n
			}
			continue
		}
		if !isHex(b[i]) && b[i] != ':' || i > 0 && isWord(b[i-1]) {
			continue
		}
		a, n := groupsAt(b[i:], known)
		if n > 0 {
			seen(a, "ipv6", i, i+n)
			i += n - 1
		}
	}
}

// groupsAt reads the address that b starts with, and how long it is. What
// follows after another colon, as the number of a window does in a key, is left
// out.
func groupsAt(b []byte, known given) (netip.Addr, int) {
	end := 0
	for end < len(b) && end <= longest6 && (isHex(b[end]) || b[end] == ':') {
		end++
	}
	run := b[:end]
	if bytes.IndexByte(run, ':') < 0 {
		return netip.Addr{}, 0
	}
	used := inUse(run)
	if !used && !known.begins(run) {
		return netip.Addr{}, 0
	}
	if end < len(b) && isWord(b[end]) {
		run = run[:bytes.LastIndexByte(run, ':')]
	}
	for len(run) > 0 {
		a, err := netip.ParseAddr(string(run))
		if err == nil && (used || known.all[a]) {
			return a, len(run)
		}
		run = run[:max(bytes.LastIndexByte(run, ':'), 0)]
	}
	return netip.Addr{}, 0
}

// inUse reports whether a run of groups begins as addresses do that are handed
// out: global unicast (no year of this century but the first three), unique
// local, link local, and IPv4 in IPv6; or whether it is written in full. Anything
// shorter is more likely a key with colons in it.
func inUse(run []byte) bool {
	text := strings.ToLower(string(run[:min(len(run), longest6)]))
	head, rest, _ := strings.Cut(text, ":")
	switch {
	case strings.HasPrefix(text, "::ffff:"):
		low, _, more := strings.Cut(text[len("::ffff:"):], ":")
		return more && low != ""
	case strings.HasPrefix(text, "64:ff9b:"):
		return true
	case isFull(text):
		return true
	case head == "0" || head == "0000":
		return mapped(text)
	case len(head) != 4 || rest == "":
		return false
	}
	return "2001" <= head && head <= "2003" || "2400" <= head && head <= "2fff" || head == "3fff" ||
		"fc00" <= head && head <= "fdff" || "fe80" <= head && head <= "febf"
}

// isFull reports whether text is eight groups of four digits.
func isFull(text string) bool {
	if len(text) != longest6 {
		return false
	}
	for i := range len(text) {
		if (i%5 == 4) != (text[i] == ':') {
			return false
		}
	}
	return true
}

// mapped reports whether text is IPv4 in IPv6 with its zeros written: 0:0:0:0:0:ffff:c000:201.
func mapped(text string) bool {
	groups := strings.Split(text, ":")
	if len(groups) < 8 || groups[5] != "ffff" {
		return false
	}
	for _, g := range groups[:5] {
		if strings.Trim(g, "0") != "" || g == "" {
			return false
		}
	}
	return true
}

// bracketed reads the address of "[2001:db8::1]:443", and how long it is without
// brackets and zone. Whoever writes brackets means an address.
func bracketed(b []byte) (netip.Addr, int) {
	const most = 64
	end := bytes.IndexByte(b[:min(len(b), most)], ']')
	if end < 0 {
		return netip.Addr{}, 0
	}
	text, _, _ := strings.Cut(string(b[1:end]), "%")
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() || a.IsUnspecified() {
		return netip.Addr{}, 0
	}
	return a, len(text)
}

// nibbles finds the 32 digits of a reverse name: 1.0.0. … .8.b.d.0.1.0.0.2.ip6.arpa.
func nibbles(b []byte, seen sighting) {
	const digits = 32
	for i := 0; i+2*digits-1 <= len(b); {
		n := 0
		for n < 2*digits-1 && (n%2 == 0 && isHex(b[i+n]) || n%2 == 1 && b[i+n] == '.') {
			n++
		}
		if n < 2*digits-1 || i > 0 && isWord(b[i-1]) {
			i += max(n-n%2, 1)
			continue
		}
		var bits [16]byte
		for d := range digits {
			bits[15-d/2] |= unhex(b[i+2*d]) << (d % 2 * 4)
		}
		seen(netip.AddrFrom16(bits), "ip6.arpa", i, i+n)
		i += n
	}
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// unhex is the value of a hexadecimal digit.
func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
