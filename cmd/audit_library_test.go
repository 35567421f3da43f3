package cmd

import (
	"context"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// What every built-in scenario leaves in a Redis, under every algorithm, is clean:
// it expires, and tells no address, although the clients' are known. Scenarios that
// break Redis, stand in front of a service or take real time are left out; a
// service's keys are audited in TestServiceScenario.
func TestAuditAfterTheLibrary(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "live")
	args := []string{"run"}
	var known []netip.Addr
	for _, b := range scenarios.Scripted() {
		s, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Faults) > 0 || s.Service != "" || s.Clock != scenarios.Virtual {
			continue
		}
		args = append(args, b.Name)
		known = append(known, senders(s)...)
	}
	if len(args) < 50 || len(known) < 100 {
		t.Fatalf("%d scenarios, %d addresses", len(args)-1, len(known))
	}
	c := exec.Command(plainProgram(t), append(args, "-a", "all", "--redis", redis, "--keep-keys", "--key-prefix", "lib", "--limit", "10/1m",
		"--progress", "none", "--timeout", "30s", "-q")...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	server, err := backend.Open(t.Context(), redis, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	r, err := audit.Run(context.Background(), server.Client(), audit.Options{
		Prefix: "lib", Addresses: known, Now: time.Now(), MaxTTL: 62*24*time.Hour + time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys < 1000 {
		t.Errorf("only %d keys were looked at", r.Keys)
	}
	for _, f := range r.Findings {
		if f.Kind.Severity == audit.Fail {
			t.Errorf("%s: %s %+v", f.Kind.Code, f.Message, f.Examples)
		}
	}
}

// senders are the addresses of a scenario's clients, as far as it says.
func senders(s *scenarios.Scenario) []netip.Addr {
	a := s.Keys.Addresses
	if !a.Network.IsValid() {
		return nil
	}
	var all []netip.Addr
	for addr := a.Network.Addr(); len(all) < s.Keys.Count; {
		all = append(all, addr)
		next := addr.Next()
		if a.Step < addr.BitLen() { // the next network of that length
			b := addr.As16()
			for i := a.Step/8 - 1; i >= 0; i-- {
				if b[i]++; b[i] != 0 {
					break
				}
			}
			next = netip.AddrFrom16(b)
		}
		addr = next
	}
	return all
}
