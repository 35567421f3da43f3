package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"strings"
)

// ErrNoClient marks requests whose client has no address that can be believed.
// Decide on purpose what becomes of them. One budget for all of them, under a
// name such as "unknown", lets each of them use up that of the others.
var ErrNoClient = errors.New("no client address")

// The headers with a list of addresses, one added by each proxy.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded" // RFC 7239
)

// Bounds of Proxies.MaxHops.
const (
	DefaultMaxHops = 16
	MaxMaxHops     = 100
)

// Proxies says whose word is taken for the address of a client. The zero value
// trusts nobody: the client is the peer of the connection, and headers are ignored.
// It is safe for concurrent use as long as nobody changes it.
type Proxies struct {
	// Trusted are the addresses of proxies that say truthfully who connected to
	// them. A proxy that passes on what clients send in Header, without adding
	// to it or replacing it, must not be here.
	Trusted []netip.Prefix
	// Header is the one header that is read. Default XForwardedFor. A name other
	// than XForwardedFor and Forwarded is a header with a single address,
	// such as CF-Connecting-IP.
	Header string
	// MaxHops is how many entries of a list are read, the client's among them.
	// Default DefaultMaxHops.
	MaxHops int
}

// Validate reports everything that is wrong with the proxies. Call it once.
func (p Proxies) Validate() error {
	var errs []error
	for _, t := range p.Trusted {
		switch {
		case !t.IsValid():
			errs = append(errs, errors.New("trusted range is empty"))
		case t.Bits() == 0:
			errs = append(errs, fmt.Errorf("trusted range %s is everybody", t))
		case t.Addr().Is4In6():
			errs = append(errs, fmt.Errorf("trusted range %s: write it as IPv4", t))
		case t != t.Masked():
			errs = append(errs, fmt.Errorf("trusted range %s has bits beyond its mask: write %s, or /%d for one address",
				t, t.Masked(), t.Addr().BitLen()))
		}
	}
	if p.Header != "" && len(p.Trusted) == 0 {
		errs = append(errs, fmt.Errorf("header %s is never believed: nobody is trusted", p.Header))
	}
	if strings.Trim(p.Header, tokenChars) != "" {
		errs = append(errs, fmt.Errorf("header %q is no name of a header", p.Header))
	}
	if p.MaxHops < 0 || p.MaxHops > MaxMaxHops {
		errs = append(errs, fmt.Errorf("hops %d: want 1 to %d", p.MaxHops, MaxMaxHops))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("proxies: %w", err)
	}
	return nil
}

// Client is the address of who sent a request: the peer of the connection, if
// it is not trusted. Else it is what the trusted proxies say:
//
//   - A list is read from its right end, over all lines of the header. Each
//     entry was written by the proxy before it, so the first address that is not
//     trusted is the client, and what is left of it is anybody's invention. If
//     all are trusted it is the leftmost; without the header it is the peer, who
//     speaks for itself.
//   - A header with a single address has to be there, once.
//
// Errors wrap ErrNoClient: a peer without an address, such as a Unix
// socket's; an entry that is no address, be it empty, hidden (unknown, _name)
// or damaged; a single address that is missing; too many hops. They never
// show an address.
//
// The address has no zone, and IPv4 in IPv6 is IPv4.
func (p Proxies) Client(r *http.Request) (netip.Addr, error) {
	peer, ok := parsePeer(r.RemoteAddr)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%w: the peer of the connection has none", ErrNoClient)
	}
	if !p.trusts(peer) {
		return peer, nil
	}
	switch header := textproto.CanonicalMIMEHeaderKey(p.Header); header {
	case "", XForwardedFor:
		return p.walk(peer, XForwardedFor, r.Header[XForwardedFor], list{lastAddress, parseNode})
	case Forwarded:
		return p.walk(peer, Forwarded, r.Header[Forwarded], list{lastElement, parseElement})
	default:
		return single(header, r.Header[header])
	}
}

func (p Proxies) trusts(addr netip.Addr) bool {
	for _, t := range p.Trusted {
		if t.Contains(addr) {
			return true
		}
	}
	return false
}

// list is how a header with a list is read.
type list struct {
	// last cuts off the last entry; more says that there are others.
	last func(line string) (rest, entry string, more bool)
	// address is what an entry says.
	address func(entry string) (netip.Addr, bool)
}

// walk goes from the peer towards the client as long as it is told by those who
// are trusted.
func (p Proxies) walk(addr netip.Addr, header string, lines []string, l list) (netip.Addr, error) {
	hops, limit := 0, p.MaxHops
	if limit == 0 {
		limit = DefaultMaxHops
	}
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			if hops++; hops > limit {
				return netip.Addr{}, fmt.Errorf("%w: %s has more than %d hops", ErrNoClient, header, limit)
			}
			var entry string
			var ok bool
			rest, entry, more = l.last(rest)
			if addr, ok = l.address(entry); !ok {
				return netip.Addr{}, fmt.Errorf("%w: entry %d from the right of %s is none", ErrNoClient, hops, header)
			}
			if !p.trusts(addr) {
				return addr, nil
			}
		}
	}
	return addr, nil
}

func single(header string, lines []string) (netip.Addr, error) {
	if len(lines) != 1 {
		return netip.Addr{}, fmt.Errorf("%w: a proxy sent %d lines of %s, want 1", ErrNoClient, len(lines), header)
	}
	addr, ok := parseNode(lines[0])
	if !ok {
		return netip.Addr{}, fmt.Errorf("%w: %s is none", ErrNoClient, header)
	}
	return addr, nil
}

func parsePeer(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return usable(ap.Addr())
	}
	return parseAddr(s)
}

func parseAddr(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, false
	}
	return usable(addr)
}

// usable refuses 0.0.0.0 and ::, which are nobody's address.
func usable(addr netip.Addr) (netip.Addr, bool) {
	addr = plain(addr)
	return addr, addr.IsValid() && !addr.IsUnspecified()
}

// lastAddress cuts at the last comma.
func lastAddress(line string) (rest, entry string, more bool) {
	i := strings.LastIndexByte(line, ',')
	if i < 0 {
		return "", line, false
	}
	return line[:i], line[i+1:], true
}

// parseNode reads an address with or without a port, as proxies write them:
// 1.2.3.4, 1.2.3.4:80, 2001:db8::1, [2001:db8::1], [2001:db8::1]:80.
func parseNode(s string) (netip.Addr, bool) {
	s = strings.Trim(s, " \t")
	inner, bracketed := strings.CutPrefix(s, "[")
	if inner, closed := strings.CutSuffix(inner, "]"); bracketed && closed {
		addr, ok := parseAddr(inner)
		return addr, ok && strings.Contains(inner, ":")
	}
	if addr, ok := parseAddr(s); ok { // the usual form, without the cost of an error
		return addr, true
	}
	return parsePeer(s)
}
