package identity

import (
	"net/netip"
	"strings"
)

// tokenChars are the characters of a token: RFC 9110, section 5.6.2.
const tokenChars = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// lastElement cuts off the last element of a Forwarded line. It reads from the
// right, because the element there is a proxy's and is well formed; what
// clients wrote to the left of it, such as a quote that is never closed, cannot
// change where it begins.
//
// Read from the right, a quote is one of a string's ends unless an odd number of
// backslashes is before it. An opening quote has "=" before it.
func lastElement(line string) (rest, entry string, more bool) {
	quoted := false
	for i := len(line) - 1; i >= 0; i-- {
		switch {
		case line[i] == '"' && !(quoted && escaped(line[:i])):
			quoted = !quoted
		case line[i] == ',' && !quoted:
			return line[:i], line[i+1:], true
		}
	}
	return "", line, false
}

// escaped reports whether what follows before is escaped.
func escaped(before string) bool {
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}

// parseElement is the address in the "for" of an element: RFC 7239, section 4.
// Every pair has to be well formed, and "for" has to be there once.
func parseElement(element string) (addr netip.Addr, ok bool) {
	found := false
	for rest := strings.Trim(element, " \t"); ; rest = rest[1:] {
		var name, value string
		if name, value, rest, ok = cutPair(rest); !ok {
			return netip.Addr{}, false
		}
		if strings.EqualFold(name, "for") {
			if addr, ok = forwardedNode(value); !ok || found {
				return netip.Addr{}, false
			}
			found = true
		}
		if rest == "" {
			return addr, found
		}
		if rest[0] != ';' {
			return netip.Addr{}, false
		}
	}
}

// cutPair reads token "=" ( token / quoted-string ).
func cutPair(s string) (name, value, rest string, ok bool) {
	name, s, ok = strings.Cut(s, "=")
	if !ok || name == "" || strings.Trim(name, tokenChars) != "" {
		return "", "", "", false
	}
	if !strings.HasPrefix(s, `"`) {
		rest = strings.TrimLeft(s, tokenChars)
		value = s[:len(s)-len(rest)]
		return name, value, rest, value != ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return name, b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", "", false
}

// forwardedNode reads a node, with or without a port that may be hidden. IPv6
// has brackets. Unknown and hidden nodes are no address.
func forwardedNode(s string) (netip.Addr, bool) {
	if inner, bracketed := strings.CutPrefix(s, "["); bracketed {
		host, port, closed := strings.Cut(inner, "]")
		addr, ok := parseAddr(host)
		return addr, ok && closed && strings.Contains(host, ":") && validPort(port)
	}
	host, _, _ := strings.Cut(s, ":")
	addr, ok := parseAddr(host)
	return addr, ok && validPort(s[len(host):])
}

// validPort accepts nothing, ":80" and the hidden ":_name".
func validPort(s string) bool {
	if s == "" {
		return true
	}
	port, ok := strings.CutPrefix(s, ":")
	if name, hidden := strings.CutPrefix(port, "_"); hidden {
		return ok && name != "" && strings.Trim(name, tokenChars) == ""
	}
	return ok && port != "" && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
}
