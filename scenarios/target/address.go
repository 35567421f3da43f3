package target

import (
	"net/netip"
	"regexp"
	"strings"
)

var (
	// Four numbers, and not five.
	ipv4 = regexp.MustCompile(`[^0-9.]((?:[0-9]{1,3}\.){3}[0-9]{1,3})`)
	// Of IPv6 what is in use: global unicast as far as it is handed out (no year of
	// this century but the first three), unique local, link local, and IPv4 in
	// IPv6. Anything shorter is more likely a key with colons in it.
	ipv6 = regexp.MustCompile(`(?i)[^0-9a-z]((?:200[1-3]|2[4-9a-f][0-9a-f]{2}|3fff|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|(?:0{1,4}:){5}ffff|::ffff:[0-9a-f]{1,4}):[0-9a-f:]{1,34})`)
)

// address is an IP address that a text holds, or "".
func address(text string) string {
	if a := firstAddress(ipv4, text, fourNumbers); a != "" {
		return a
	}
	return firstAddress(ipv6, text, hexGroups)
}

// firstAddress reads what a form matches. A form begins with the character before
// an address, and matches may overlap.
func firstAddress(form *regexp.Regexp, text string, read func(match, rest string) (netip.Addr, bool)) string {
	text = " " + text
	for {
		m := form.FindStringSubmatchIndex(text)
		if m == nil {
			return ""
		}
		if a, ok := read(text[m[2]:m[3]], text[m[3]:]); ok {
			return a.String()
		}
		text = text[m[2]:]
	}
}

// fourNumbers wants the text around a match to be something else.
func fourNumbers(match, rest string) (netip.Addr, bool) {
	if rest != "" && (rest[0] == '.' || isDigit(rest[0])) {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(match)
	return a, err == nil
}

// hexGroups leaves out what follows after another colon, as the number of a window
// does in a key.
func hexGroups(match, rest string) (netip.Addr, bool) {
	if rest != "" && isWord(rest[0]) {
		match = match[:strings.LastIndexByte(match, ':')]
	}
	for match != "" {
		if a, err := netip.ParseAddr(match); err == nil {
			return a, true
		}
		match = match[:max(strings.LastIndexByte(match, ':'), 0)]
	}
	return netip.Addr{}, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
