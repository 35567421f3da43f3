package target_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// What scenarios call a fault is what servers call it, with the same parameters and
// the same consequences.
func TestFaultKindsAgree(t *testing.T) {
	made := map[string]backend.FaultKind{}
	for _, k := range backend.FaultKinds {
		made[k.Name] = k
	}
	for _, k := range scenarios.FaultKinds {
		b, ok := made[k.Name]
		if !ok {
			t.Errorf("no server can do %s", k.Name)
			continue
		}
		// What an eviction has changed to evict is put back at once.
		if b.Instant == (k.Lasts || k.Name == "eviction") || b.OnConnection != k.Connection || b.Loses != (k.Loss != scenarios.LosesNothing) {
			t.Errorf("%s: instant %t, on connections %t, loses %t; scenarios say that it lasts %t, connections %t, loss %d",
				k.Name, b.Instant, b.OnConnection, b.Loses, k.Lasts, k.Connection, k.Loss)
		}
		for _, parameter := range []string{"delay", "jitter", "every", "hits"} {
			takes, needs := slices.Contains(b.Takes, parameter), slices.Contains(b.Needs, parameter)
			needs = needs || k.Name == "latency" && parameter == "delay" // a server does with jitter alone
			if takes != slices.Contains(slices.Concat(k.Takes, k.Needs), parameter) || needs != slices.Contains(k.Needs, parameter) {
				t.Errorf("%s: a server takes %q: %t, needs it: %t; scenarios take %v and need %v", k.Name, parameter, takes, needs, k.Takes, k.Needs)
			}
		}
	}
	for name := range made {
		if _, err := scenarios.FaultKindNamed(name); err != nil {
			t.Errorf("no scenario can have %s", name)
		}
	}
}

// Whatever a scenario may say of a fault, a server of the right kind can do.
func TestEveryPlannedFaultSuits(t *testing.T) {
	for _, k := range scenarios.FaultKinds {
		fields := ""
		for _, field := range slices.Concat(k.Takes, k.Needs) {
			fields += map[string]string{"delay": ", delay: 5ms", "jitter": ", jitter: 1ms", "every": ", every: 2", "hits": ", hits: 3"}[field]
		}
		for _, fields := range []string{fields, map[bool]string{true: ", delay: 5ms"}[len(k.Needs) > 0]} {
			if k.Lasts {
				fields += ", for: 1s"
			}
			file := fmt.Sprintf("version: 1\nname: x\nphases:\n- {name: a, shape: burst, count: 1}\nfaults:\n- {at: edge, kind: %s%s}\n", k.Name, fields)
			s, err := scenarios.Read(strings.NewReader(file), "x.yaml", scenarios.BuiltinDefaults())
			if err != nil {
				t.Fatal(err)
			}
			p, err := scenarios.NewPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			f := target.Fault(p.Faults[0], 7, []string{"some", "keys"})
			if err := backend.CheckFault(f, backend.Managed); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, flavour := range []backend.Flavour{backend.Embedded, backend.Live} {
				can := k.Connection || k.Name == "script-flush" && flavour == backend.Embedded
				if err := backend.CheckFault(f, flavour); (err == nil) != can || err != nil && !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s on %s: %v", k.Name, flavour, err)
				}
			}
			if jitters := p.Faults[0].Jitter > 0; (f.Seed == 7) != jitters || (len(f.Victims) > 0) != (k.Name == "eviction") {
				t.Errorf("%s: seed %d, victims %v", k.Name, f.Seed, f.Victims)
			}
		}
	}
}

// A policy and second names are for those that take them, and everybody else is told
// so before anything is sent.
func TestNeedsOfTroubles(t *testing.T) {
	for _, row := range []struct {
		name          string
		policy, names bool
	}{
		{"fixed", true, true},
		{"faulty:policy-ignored", true, false},
		{"faulty:cause-withheld", true, false},
		{"faulty:forgets-on-rotation", false, true},
		{"faulty:client-retries", false, false},
		{"lua:../../testdata/lua/default-log.lua", false, false},
	} {
		for _, policy := range []string{"open", "closed"} {
			if err := target.Check(row.name, target.Needs{Policy: policy}, ""); (err == nil) != row.policy {
				t.Errorf("%s, policy %s: %v", row.name, policy, err)
			}
		}
		for _, policy := range []string{"", "error"} {
			if err := target.Check(row.name, target.Needs{Policy: policy}, ""); err != nil {
				t.Errorf("%s, policy %q: %v", row.name, policy, err)
			}
		}
		if err := target.Check(row.name, target.Needs{Names: true}, ""); (err == nil) != row.names {
			t.Errorf("%s, second names: %v", row.name, err)
		}
	}
}

// A decision takes its timeout at most, whoever is asked, and then the policy
// decides. Nothing is measured: the server stands still until the answer is there.
func TestTimeout(t *testing.T) {
	s := standing(t)
	for _, row := range []struct {
		name, policy string
		err          bool
	}{
		{"fixed", "closed", false},
		{"faulty:policy-ignored", "closed", false},
		{"faulty:get-then-set", "", true},
		{"lua:../../testdata/lua/default-log.lua", "", true},
	} {
		limited := hurried(t, s, row.name, row.policy)
		d, err := limited.Allow(t.Context(), limiter.Request{Key: "a", At: time.Unix(1, 0)})
		switch {
		case row.err && !errors.Is(err, limiter.ErrUnknown):
			t.Errorf("%s: %+v, %v: want an error that says that its fate is unknown", row.name, d, err)
		case !row.err && (err != nil || !errors.Is(d.Cause, limiter.ErrUnknown)):
			t.Errorf("%s: %+v, %v: want a decision of the policy, and that its fate is unknown", row.name, d, err)
		case row.name == "fixed" && d.Source != limiter.SourceFailClosed:
			t.Errorf("%s: %+v: want a denial by the policy", row.name, d)
		}
		if _, ok := limited.(interface {
			Peek(context.Context, limiter.Request) (limiter.Decision, error)
		}); !ok && row.name != "lua:../../testdata/lua/default-log.lua" {
			t.Errorf("%s: it cannot be peeked at any more", row.name)
		}
	}
}

// A timeout is Redis's fault and not the caller's: a bundled limiter stops asking.
func TestTimeoutOpensTheCircuit(t *testing.T) {
	limited := hurried(t, standing(t), "fixed", "closed")
	for i := range limiter.DefaultFailures + 1 {
		d, err := limited.Allow(t.Context(), limiter.Request{Key: "a", At: time.Unix(1, 0)})
		if want := i == limiter.DefaultFailures; err != nil || errors.Is(d.Cause, limiter.ErrCircuitOpen) != want {
			t.Fatalf("request %d: %+v, %v: want an open circuit: %t", i+1, d, err, want)
		}
	}
}

// standing is a server that answers nothing until the test is over.
func standing(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.Open(t.Context(), "embedded", backend.Options{Timeout: time.Hour, Injectable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	held, err := s.Inject(t.Context(), backend.Fault{Kind: "latency", Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.End(context.Background()) })
	return s
}

// hurried opens a limiter whose decisions may take 20 ms.
func hurried(t *testing.T, s *backend.Server, name, policy string) limiter.Limiter {
	t.Helper()
	l := limiter.Limit{Max: 5, Window: time.Minute}
	opened, err := target.Open(t.Context(), s, name, target.Options{
		Limit: l, Clock: scenarios.Virtual, Prefix: mark, OnFailure: policy, Timeout: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	limited, err := opened.Limiter(l)
	if err != nil {
		t.Fatal(err)
	}
	return limited
}
