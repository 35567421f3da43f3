package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// nobody answers nothing.
type nobody struct{}

func (nobody) Process(context.Context, redis.Cmder) error {
	return &net.OpError{Op: "dial", Err: errors.New("nobody is there")}
}

// modelSet is the specification of a Set: peek at all, then charge all or none.
type modelSet struct {
	policies map[string]limiter.Policy
	states   map[string]*key // by policy and client
}

func (m *modelSet) allow(j limiter.Joint, client string) []limiter.Decision {
	keys, decisions := make([]*key, len(j.Charges)), make([]limiter.Decision, len(j.Charges))
	for i, c := range j.Charges {
		p, name := m.policies[c.Policy], c.Policy+"/"+client
		if m.states[name] == nil {
			m.states[name] = &key{a: p.Algorithm, l: p.Limit, state: p.Algorithm.Model.Init()}
		}
		keys[i] = m.states[name]
		_, decisions[i] = keys[i].try(j.At, c.Cost)
		decisions[i].Shadow = p.Shadow
	}
	admitted := limiter.Allowed(decisions)
	for i, c := range j.Charges {
		switch {
		case !decisions[i].Allowed:
		case admitted:
			keys[i].allow(j.At, c.Cost)
		default: // what it has, uncharged
			_, d := keys[i].try(j.At, limiter.MaxMax)
			decisions[i].Remaining, decisions[i].ResetAfter = d.Remaining, d.ResetAfter
		}
	}
	return decisions
}

func drawPolicies(t *rapid.T) []limiter.Policy {
	policies := make([]limiter.Policy, rapid.IntRange(1, 4).Draw(t, "policies"))
	for i := range policies {
		policies[i] = limiter.Policy{
			Name: freshPolicy(), Algorithm: limiter.Algorithms[rapid.IntRange(0, len(limiter.Algorithms)-1).Draw(t, "algorithm")],
			Limit: drawLimit(t), Shadow: rapid.IntRange(0, 3).Draw(t, "shadow") == 0,
		}
	}
	return policies
}

// TestSetEqualsItsModel: decisions, remainders and waits of every policy, for
// charges of any subset, costs, names that change, and shadows.
func TestSetEqualsItsModel(t *testing.T) {
	client := managed(t).Client()
	rapid.Check(t, func(t *rapid.T) {
		policies := drawPolicies(t)
		set, err := limiter.NewSet(client, limiter.SetConfig{Policies: policies, OnFailure: limiter.FailError, TTLFloor: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		model := &modelSet{map[string]limiter.Policy{}, map[string]*key{}}
		for _, p := range policies {
			model.policies[p.Name] = p
		}
		now := t0
		for i := range rapid.IntRange(1, 20).Draw(t, "requests") {
			now = now.Add(drawGap(t, policies[0].Limit))
			j := limiter.Joint{At: now, Slot: rapid.SampledFrom([]string{"", "s"}).Draw(t, "slot")}
			who := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "client") + j.Slot
			for _, p := range policies {
				if len(j.Charges) > 0 && rapid.Bool().Draw(t, "left out") {
					continue
				}
				c := limiter.Charge{Policy: p.Name, Key: who + "1", Also: who + "2", Cost: drawCost(t, p.Limit)}
				if rapid.Bool().Draw(t, "other name") {
					c.Key, c.Also = c.Also, c.Key
				}
				j.Charges = append(j.Charges, c)
			}
			peeked, err := set.Peek(context.Background(), j)
			if err != nil {
				t.Fatal(err)
			}
			got, err := set.Allow(context.Background(), j)
			if err != nil {
				t.Fatal(err)
			}
			want := model.allow(j, who)
			for n := range want {
				if !same(got[n], want[n]) || !same(peeked[n], want[n]) || got[n].Shadow != want[n].Shadow {
					t.Fatalf("request %d %+v, %s %s (shadow %t):\n got %+v\npeek %+v\nwant %+v",
						i, j, model.policies[j.Charges[n].Policy].Algorithm.Name, model.policies[j.Charges[n].Policy].Limit, want[n].Shadow, got[n], peeked[n], want[n])
				}
			}
		}
	})
}

// TestSetChargesAllOrNone: under a race for the last slots of one policy, the
// others are charged only for what is admitted.
func TestSetChargesAllOrNone(t *testing.T) {
	for name, server := range map[string]*backend.Server{"embedded": embedded(t), "managed": managed(t)} {
		t.Run(name, func(t *testing.T) { testSetRace(t, server.Client()) })
	}
}

func testSetRace(t *testing.T, client limiter.Processor) {
	policies := []limiter.Policy{
		{Name: freshPolicy(), Algorithm: limiter.Log, Limit: limiter.Limit{Max: 1000, Window: time.Minute}},
		{Name: freshPolicy(), Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 25, Window: time.Minute}},
		{Name: freshPolicy(), Algorithm: limiter.GCRA, Limit: limiter.Limit{Max: 100, Window: time.Minute}},
	}
	set, err := limiter.NewSet(client, limiter.SetConfig{Policies: policies, OnFailure: limiter.FailError})
	if err != nil {
		t.Fatal(err)
	}
	j := limiter.Joint{At: t0}
	for _, p := range policies {
		j.Charges = append(j.Charges, limiter.Charge{Policy: p.Name, Key: "k"})
	}
	var admitted atomic.Int64
	var race sync.WaitGroup
	for range 200 {
		race.Go(func() {
			ds, err := set.Allow(t.Context(), j)
			if err != nil {
				t.Error(err)
			}
			if limiter.Allowed(ds) {
				admitted.Add(1)
			}
		})
	}
	race.Wait()
	ds, err := set.Peek(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if n := admitted.Load(); n != 25 || ds[0].Remaining != 975 || ds[1].Remaining != 0 || ds[2].Remaining != 75 {
		t.Errorf("admitted %d, then %+v; want 25 admitted and charged everywhere", n, ds)
	}
	if got := limiter.RetryAfter(ds); got != ds[1].RetryAfter || got == 0 {
		t.Errorf("joint wait %s, want that of the policy that denies, %s", got, ds[1].RetryAfter)
	}
}

// TestSetIsOneRoundTrip: one command whatever the number of policies, and state
// that a limiter of the same policy shares.
func TestSetIsOneRoundTrip(t *testing.T) {
	client := managed(t).Client()
	p := limiter.Policy{Name: freshPolicy(), Algorithm: limiter.Log, Limit: limiter.Limit{Max: 5, Window: time.Minute}}
	q := limiter.Policy{Name: freshPolicy(), Algorithm: limiter.Fixed, Limit: p.Limit}
	counted := &counting{Processor: client}
	set, err := limiter.NewSet(counted, limiter.SetConfig{Policies: []limiter.Policy{p, q}, OnFailure: limiter.FailError})
	if err != nil {
		t.Fatal(err)
	}
	j := limiter.Joint{At: t0, Charges: []limiter.Charge{{Policy: p.Name, Key: "k", Cost: 2}, {Policy: q.Name, Key: "k"}}}
	for range 2 {
		if _, err := set.Allow(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(counted.names); n > 3 { // the first may need the source
		t.Errorf("two joint requests took %d commands", n)
	}
	alone := openOn(t, client, limiter.Config{Algorithm: p.Algorithm, Limit: p.Limit, Policy: p.Name})
	if d, err := alone.Peek(t.Context(), limiter.Request{Key: "k", At: t0}); err != nil || d.Remaining != 0 || !d.Allowed {
		t.Errorf("a limiter of the same policy sees %+v, %v; want 1 left, which a peek would take", d, err)
	}
}

// TestSetRefusesInAdvance: what cannot be decided is an error before anything is
// charged.
func TestSetRefusesInAdvance(t *testing.T) {
	client := managed(t).Client()
	first := limiter.Policy{Name: freshPolicy(), Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 50000, Window: time.Minute}}
	second := limiter.Policy{Name: freshPolicy(), Algorithm: limiter.Log, Limit: first.Limit}
	set, err := limiter.NewSet(client, limiter.SetConfig{Policies: []limiter.Policy{first, second}, OnFailure: limiter.FailError})
	if err != nil {
		t.Fatal(err)
	}
	ok := limiter.Charge{Policy: first.Name, Key: "k"}
	for _, row := range []struct {
		charges []limiter.Charge
		want    string
	}{
		{nil, "no charges"},
		{[]limiter.Charge{{Policy: "other", Key: "k"}}, `unknown policy "other"`},
		{[]limiter.Charge{ok, ok}, "two charges of policy"},
		{[]limiter.Charge{{Policy: first.Name}}, "no key"},
		{[]limiter.Charge{ok, {Policy: second.Name, Key: "k", Cost: -1}}, "cost is negative"},
		{[]limiter.Charge{ok, {Policy: second.Name, Key: "k", Cost: 10001}}, "at most 10000 units"},
	} {
		if _, err := set.Allow(t.Context(), limiter.Joint{At: t0, Charges: row.charges}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("charges %+v: error %v, want one about %q", row.charges, err, row.want)
		}
	}
	if n := client.Exists(t.Context(), set.Keys(limiter.Joint{Charges: []limiter.Charge{ok}})...).Val(); n != 0 {
		t.Error("a refused request was charged")
	}
}

// TestSetOnCluster: policies of one client need a slot in common.
func TestSetOnCluster(t *testing.T) {
	var policies []limiter.Policy
	for _, a := range limiter.Algorithms {
		policies = append(policies, limiter.Policy{Name: freshPolicy(), Algorithm: a, Limit: limiter.Limit{Max: 5, Window: time.Minute}})
	}
	set, err := limiter.NewSet(cluster(t), limiter.SetConfig{Policies: policies, OnFailure: limiter.FailError})
	if err != nil {
		t.Fatal(err)
	}
	var j limiter.Joint
	for i, p := range policies { // another name for each policy, as pseudonyms have
		j.Charges = append(j.Charges, limiter.Charge{Policy: p.Name, Key: fmt.Sprintf("k%d", i), Also: fmt.Sprintf("old%d", i)})
	}
	if _, err := set.Allow(t.Context(), j); err == nil || !strings.Contains(err.Error(), "set Slot") {
		t.Errorf("without a slot: error %v", err)
	}
	j.Slot = "a7"
	if ds, err := set.Allow(t.Context(), j); err != nil || !limiter.Allowed(ds) {
		t.Errorf("in one slot: %+v, %v", ds, err)
	}
}

func TestSetConfig(t *testing.T) {
	p := limiter.Policy{Name: "p", Algorithm: limiter.Log, Limit: limiter.Limit{Max: 5, Window: time.Minute}}
	bad := p
	bad.Name, bad.Limit.Window = "a b", 0
	_, err := limiter.NewSet(nil, limiter.SetConfig{Policies: []limiter.Policy{p, p, bad}, Prefix: "{", TTLFloor: -1})
	for _, want := range []string{"no Redis client", `two policies are called "p"`, `policy "a b"`, "window", "key prefix", "TTL floor", "failure policy is not chosen"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v says nothing of %q", err, want)
		}
	}
	if _, err := limiter.NewSet(embedded(t).Client(), limiter.SetConfig{OnFailure: limiter.FailOpen}); err == nil || !strings.Contains(err.Error(), "no policies") {
		t.Errorf("an empty set: %v", err)
	}
}

// TestSetFailurePolicy: without an answer every charge is decided by the policy,
// with its own limit.
func TestSetFailurePolicy(t *testing.T) {
	p := limiter.Policy{Name: "p", Algorithm: limiter.Log, Limit: limiter.Limit{Max: 5, Window: time.Minute}}
	q := limiter.Policy{Name: "q", Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 7, Window: time.Hour}, Shadow: true}
	j := limiter.Joint{At: t0, Charges: []limiter.Charge{{Policy: "p", Key: "k"}, {Policy: "q", Key: "k"}}}
	for _, row := range []struct {
		policy  limiter.Failure
		source  limiter.Source
		allowed bool
	}{{limiter.FailOpen, limiter.SourceFailOpen, true}, {limiter.FailClosed, limiter.SourceFailClosed, false}} {
		set, err := limiter.NewSet(nobody{}, limiter.SetConfig{Policies: []limiter.Policy{p, q}, OnFailure: row.policy})
		if err != nil {
			t.Fatal(err)
		}
		ds, err := set.Allow(t.Context(), j)
		if err != nil || len(ds) != 2 || limiter.Allowed(ds) != row.allowed {
			t.Fatalf("%s: %+v, %v", row.policy, ds, err)
		}
		for i, d := range ds {
			if d.Source != row.source || d.Cause == nil || d.Limit != []int64{5, 7}[i] || d.Shadow != (i == 1) {
				t.Errorf("%s, charge %d: %+v", row.policy, i, d)
			}
		}
	}
	set, _ := limiter.NewSet(nobody{}, limiter.SetConfig{Policies: []limiter.Policy{p, q}, OnFailure: limiter.FailError})
	if ds, err := set.Allow(t.Context(), j); err == nil || ds != nil {
		t.Errorf("fail-error: %+v, %v", ds, err)
	}
}

// TestSetRestoresTimesToLive: a denied request gives a lost time to live back to
// the keys of the policies that deny.
func TestSetRestoresTimesToLive(t *testing.T) {
	client := managed(t).Client()
	var policies []limiter.Policy
	j := limiter.Joint{At: t0}
	for _, a := range limiter.Algorithms {
		p := limiter.Policy{Name: freshPolicy(), Algorithm: a, Limit: limiter.Limit{Max: 1, Window: time.Minute}}
		policies, j.Charges = append(policies, p), append(j.Charges, limiter.Charge{Policy: p.Name, Key: "k"})
	}
	set, err := limiter.NewSet(client, limiter.SetConfig{Policies: policies, OnFailure: limiter.FailError})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if _, err := set.Allow(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		for _, key := range set.Keys(j) {
			if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 {
				t.Errorf("after request %d: key %s lives %s", n+1, key, ttl)
			}
			client.Persist(t.Context(), key)
		}
	}
	if keys := set.Keys(j); len(keys) != len(slices.Compact(slices.Sorted(slices.Values(keys)))) {
		t.Errorf("policies share keys: %q", keys)
	}
}
