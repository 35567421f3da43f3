package backend

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every row of the table says all that it must.
func TestFaultKinds(t *testing.T) {
	parameters := []string{TakesDelay, TakesJitter, TakesSeed, TakesEvery, TakesHits, TakesVictims, TakesPolicy}
	seen := map[string]bool{}
	for _, k := range FaultKinds {
		if k.Name == "" || k.Doc == "" || seen[k.Name] || len(k.Flavours) == 0 {
			t.Errorf("%q: %q, %v", k.Name, k.Doc, k.Flavours)
		}
		seen[k.Name] = true
		if k.OnConnection != (k.strike != nil) || k.OnConnection == (k.impose != nil) || k.OnConnection != (k.done != "") {
			t.Errorf("%s: is it done to connections, or to the server?", k.Name)
		}
		if k.OnConnection && len(k.Flavours) != len(Flavours) || slices.Contains(k.Flavours, Live) && !k.OnConnection {
			t.Errorf("%s: flavours %v", k.Name, k.Flavours)
		}
		for _, name := range k.Takes {
			if !slices.Contains(parameters, name) {
				t.Errorf("%s takes %q", k.Name, name)
			}
		}
		for _, name := range k.Needs {
			if !slices.Contains(k.Takes, name) {
				t.Errorf("%s needs %q but does not take it", k.Name, name)
			}
		}
	}
}

// A live server is left alone, and the embedded one does what it can do as
// Redis does it.
func TestFaultsByFlavour(t *testing.T) {
	onConnections := []string{"latency", "reset", "lost-reply", "partial", "loading"}
	for _, row := range []struct {
		flavour Flavour
		can     []string
	}{
		{Live, onConnections},
		{Embedded, append(slices.Clone(onConnections), "script-flush")},
		{Managed, append(slices.Clone(onConnections), "script-flush", "restart", "outage", "failover",
			"stall", "pause", "readonly", "oom", "eviction", "acl", "password")},
		{"other", nil},
	} {
		var can []string
		for _, k := range FaultKinds {
			f := Fault{Kind: k.Name}
			if k.Name == "latency" {
				f.Delay = 1
			}
			if k.Name == "eviction" {
				f.Victims = []string{"a"}
			}
			err := CheckFault(f, row.flavour)
			if err == nil {
				can = append(can, k.Name)
			} else if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s on %s: %v", k.Name, row.flavour, err)
			}
		}
		if !slices.Equal(can, row.can) {
			t.Errorf("%s can %v, want %v", row.flavour, can, row.can)
		}
	}
}

func TestCheckFaultRefuses(t *testing.T) {
	for _, row := range []struct {
		name    string
		fault   Fault
		flavour Flavour
		want    []string
	}{
		{"no kind", Fault{}, Managed, []string{`fault "": unknown kind: want one of latency, reset,`}},
		{"no such kind", Fault{Kind: "fire"}, Managed, []string{`fault "fire": unknown kind`}},
		{"latency of nothing", Fault{Kind: "latency"}, Managed, []string{"delay and jitter are both zero"}},
		{"seed without jitter", Fault{Kind: "latency", Delay: 1, Seed: 1}, Managed, []string{"seed has no use without jitter"}},
		{"negative numbers", Fault{Kind: "latency", Delay: -1, Jitter: -time.Second, Every: -2, Hits: -3}, Embedded, []string{
			"delay is negative: -1ns", "jitter is negative: -1s", "every is negative: -2", "hits is negative: -3",
		}},
		{"parameters of others", Fault{Kind: "reset", Delay: 1, Policy: "x"}, Live, []string{
			"parameter delay does not belong to it; it takes: every, hits", "parameter policy does not belong",
		}},
		{"parameters where there are none", Fault{Kind: "stall", Hits: 1}, Managed, []string{"parameter hits does not belong to it; it takes: none"}},
		{"no victims", Fault{Kind: "eviction"}, Managed, []string{"parameter victims is missing"}},
		{"no such policy", Fault{Kind: "eviction", Victims: []string{"a"}, Policy: "noeviction"}, Managed, []string{`policy "noeviction": want one of volatile-lru,`}},
		{"all at once", Fault{Kind: "oom", Every: 1}, Live, []string{"parameter every does not belong", "it is not ours"}},
		{"no Redis", Fault{Kind: "oom"}, Embedded, []string{"it is no Redis"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := CheckFault(row.fault, row.flavour)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %q", err, want)
				}
			}
		})
	}
}

// What Inject refuses at once it refuses with the same words.
func TestInjectChecks(t *testing.T) {
	s := injectable(t, Embedded, Options{})
	for _, f := range []Fault{{}, {Kind: "oom"}, {Kind: "latency"}} {
		_, err := s.Inject(t.Context(), f)
		if want := CheckFault(f, Embedded); err == nil || err.Error() != want.Error() {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	i := inject(t, s, Fault{Kind: "script-flush"})
	if i.Fault().Kind != "script-flush" || i.Since().IsZero() || len(i.Hits()) > 0 || i.Evicted().Evicted > 0 {
		t.Errorf("got %+v", i)
	}
}

// Selectors of a user are no part of what it may use without them.
func TestCommandRules(t *testing.T) {
	var rules []any
	for rule := range strings.FieldsSeq("on nopass ~* &* +@all -debug (~a* +get) (~b +@all -set) +debug|object (+x)") {
		rules = append(rules, rule)
	}
	if got := commandRules(rules); !slices.Equal(got, []any{"+@all", "-debug", "+debug|object"}) {
		t.Errorf("got %v", got)
	}
}
