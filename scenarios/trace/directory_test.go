package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter/identity"
)

// One client is one number, however it is written; a network is around it.
func TestDirectoryOfClients(t *testing.T) {
	d := newDirectory(identity.Mask{})
	for _, row := range []struct {
		who             string
		client, network uint32
	}{
		{"192.0.2.7", 0, 0},
		{"192.0.2.8", 1, 0},
		{"::ffff:192.0.2.7", 0, 0},
		{"192.0.3.7", 2, 1},
		{"2001:db8:0:1::1", 3, 2},
		{"2001:db8:0:1:ffff::2", 3, 2},
		{"2001:db8:0:2::1", 4, 2},
		{"2001:db8:1::1", 5, 3},
		{"host.example", 6, 4},
		{"HOST.example", 6, 4},
		{"unknown", 7, 5},
	} {
		if c := d.client([]byte(row.who)); c != row.client || d.Network(c) != row.network {
			t.Errorf("%s: client %d of network %d, want %d of %d", row.who, c, d.Network(c), row.client, row.network)
		}
	}
	if d.Clients() != 8 || d.Networks() != 6 {
		t.Errorf("%d clients, %d networks", d.Clients(), d.Networks())
	}
	if again := newDirectory(identity.Mask{}); again.Client(again.client([]byte("192.0.2.7"))) == d.Client(0) {
		t.Error("another run knows a client by the same pseudonym")
	}
	if wide := newDirectory(identity.Mask{IPv4: 24}); wide.client([]byte("192.0.2.7")) != wide.client([]byte("192.0.2.8")) {
		t.Error("two addresses of one /24 are two clients")
	}
}

// A directory, printed in whatever way, has no address of anybody in it, and no part of a
// path that few asked for.
func TestDirectoryForgetsAddresses(t *testing.T) {
	d := newDirectory(identity.Mask{})
	c := d.client([]byte("203.0.113.77"))
	d.client([]byte("alice.example"))
	d.routes.number([]byte("GET"), []byte("/users/alice%40example.com/x"), c, 200)
	d.routes.number([]byte("GET"), []byte("/alice"), c, 200)
	text := fmt.Sprintf("%v %+v %s %q", d.names, d, d.Client(0), d.Routes())
	for _, secret := range []string{"203.0.113", "113.77", "203 0 113 77", "alice"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
}
