package identity

import (
	"errors"
	"fmt"
	"net/netip"
)

// Bounds of what is named, in bytes.
const (
	MaxScope   = 1024
	MaxAccount = 4096
)

// Client is who is named: a range of addresses or an account. Make one with
// Tiers.Clients, Network or Account; the zero value is nobody and has no name.
// Clients are comparable values.
type Client struct {
	network, shard netip.Prefix
	account        string
}

// Network is the client that a range of addresses is.
func Network(p netip.Prefix) Client { return Client{network: p.Masked()} }

// Account is a client that is known by a text, such as a user's number or the
// digest of an API key. All of the text counts, up to MaxAccount bytes.
func Account(name string) Client { return Client{account: name} }

// IsZero reports whether c is nobody.
func (c Client) IsZero() bool { return c == Client{} }

func (c Client) validate() error {
	switch {
	case !c.network.IsValid() && c.account == "":
		return errors.New("nobody to name")
	case len(c.account) > MaxAccount:
		return fmt.Errorf("account of %d bytes, want at most %d", len(c.account), MaxAccount)
	}
	return nil
}

func (c Client) label() string {
	if c.account != "" {
		return labelAccount
	}
	return labelAddress
}

// shardOf is the client whose slot c shares: the widest tier, or itself.
func (c Client) shardOf() Client {
	if c.shard.IsValid() {
		return Client{network: c.shard}
	}
	return c
}

// appendTo appends the client in the one form that is documented in doc.go.
func (c Client) appendTo(dst []byte) []byte {
	if c.account != "" {
		return field(dst, c.account)
	}
	var b [17]byte
	n := 16
	if c.network.Addr().Is4() {
		a := c.network.Addr().As4()
		n = copy(b[:], a[:])
	} else {
		a := c.network.Addr().As16()
		copy(b[:], a[:])
	}
	b[n] = byte(c.network.Bits())
	return field(dst, b[:n+1])
}

// Format prints a placeholder for every verb: a client is an identity, and what
// is printed ends up in logs.
func (c Client) Format(f fmt.State, _ rune) {
	_, _ = f.Write([]byte("identity.Client(private)"))
}
