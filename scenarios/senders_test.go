package scenarios_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/scenarios"
)

// Whoever sends in a phase is one of its senders, whatever the shape and however
// keys are drawn; herds and cycles reach each of them. Others are as without it.
func TestSendersStayInTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(1, 40).Draw(t, "keys")
		skip := rapid.IntRange(0, keys-1).Draw(t, "skip")
		senders := rapid.IntRange(0, keys-skip).Draw(t, "senders") // 0: all that are left
		how := rapid.SampledFrom([]string{"distribution: uniform", "distribution: cycle", "zipf: {s: 1.1}"}).Draw(t, "how")
		shape := rapid.SampledFrom([]string{"shape: herd, count: 3", "shape: burst, count: 120", "for: 1s, shape: poisson, count: 120"}).Draw(t, "shape")
		text := "version: 1\nname: senders\nkeys: {count: %d, %s}\nphases:\n- {name: some, at: edge, %s%s}\n- {name: all, at: edge, shape: herd, count: 1}\n"
		who := fmt.Sprintf(", skip: %d", skip)
		if senders > 0 {
			who += fmt.Sprintf(", senders: %d", senders)
		} else {
			senders = keys - skip
		}
		plan := func(who string) *scenarios.Plan {
			s, err := scenarios.Read(strings.NewReader(fmt.Sprintf(text, keys, how, shape, who)), "f.yaml", scenarios.BuiltinDefaults())
			if err != nil {
				t.Fatal(err)
			}
			p, err := scenarios.NewPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := plan(who)
		seen := map[int32]int{}
		for _, a := range ofPhase(p, 0) {
			if int(a.Key) < skip || int(a.Key) >= skip+senders {
				t.Fatalf("key %d sends, those that do are %d to %d", a.Key, skip, skip+senders-1)
			}
			seen[a.Key]++
		}
		everybody := strings.Contains(shape, "herd") || strings.Contains(how, "cycle") && senders <= 120
		if everybody && len(seen) != senders {
			t.Errorf("%d of %d send", len(seen), senders)
		}
		if all := ofPhase(p, 1); len(all) != keys {
			t.Errorf("%d send in the other phase, want %d", len(all), keys)
		}
		if same := senders == keys; same != (plan("").Hash() == p.Hash()) && !coincide(plan(""), p) {
			t.Errorf("the same timetable: %t", !same)
		}
	})
}

// coincide reports whether the same arrivals were drawn.
func coincide(a, b *scenarios.Plan) bool {
	if len(a.Arrivals) != len(b.Arrivals) {
		return false
	}
	for i := range a.Arrivals {
		if a.Arrivals[i] != b.Arrivals[i] {
			return false
		}
	}
	return true
}

func TestSendersThatAreNotThere(t *testing.T) {
	for _, row := range []struct{ who, want string }{
		{"skip: 10", "phase a: senders: there are 10 keys; 10 are skipped and 0 send"},
		{"senders: 11", "phase a: senders: there are 10 keys; 0 are skipped and 11 send"},
		{"skip: 5, senders: 6", "phase a: senders: there are 10 keys; 5 are skipped and 6 send"},
		{"skip: 5, senders: 5", ""},
		{"skip: 9", ""},
	} {
		s := scenario(t, "10/1s", "name: a, shape: herd, count: 1, "+row.who)
		s.Keys.Count = 10
		_, err := scenarios.NewPlan(s)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasSuffix(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", row.who, err, row.want)
		}
	}
}

// Where clients come from, who sends, what is asked and what stands in front are
// part of what was run; how many may be in flight is not.
func TestHashSeesWhoSendsAndThroughWhat(t *testing.T) {
	hash := func(replace ...string) string {
		text := strings.NewReplacer(replace...).Replace("version: 1\nname: n\nclock: server\nkeys: {count: 4}\n" +
			"phases:\n- {name: a, at: edge, shape: herd, count: 2}\n")
		s, err := scenarios.Read(strings.NewReader(text), "f.yaml", scenarios.BuiltinDefaults())
		if err != nil {
			t.Fatal(err)
		}
		return planned(t, s).Hash()
	}
	const clock, keys, phase = "clock: server", "count: 4", "count: 2}"
	seen := map[string]string{}
	for what, replace := range map[string][]string{
		"nothing":         nil,
		"senders":         {phase, "count: 2, senders: 3}"},
		"skip":            {phase, "count: 2, skip: 1}"},
		"other senders":   {phase, "count: 2, skip: 1, senders: 2}"},
		"one client":      {keys, `count: 4, addresses: "2001:db8::/64"`},
		"two clients":     {keys, `count: 4, addresses: "2001:db8::/64", client: 127`},
		"a tier":          {clock, clock + "\nedge_tier: {limit: 10/10s}"},
		"its limit":       {clock, clock + "\nedge_tier: {limit: 11/10s}"},
		"its kind":        {clock, clock + "\nedge_tier: {limit: 10/10s, kind: sliding}"},
		"inclusive":       {clock, clock + "\nedge_tier: {limit: 10/10s, inclusive: true}"},
		"its locations":   {clock, clock + "\nedge_tier: {limit: 10/10s, locations: 2}"},
		"its machines":    {clock, clock + "\nedge_tier: {limit: 10/10s, machines: 2}"},
		"its lag":         {clock, clock + "\nedge_tier: {limit: 10/10s, sync: 2s}"},
		"a service":       {clock, clock + "\nservice: demo", phase, "count: 2, path: /api}"},
		"what it is for":  {clock, clock + "\nservice: demo", phase, "count: 2, path: /api/v1}"},
		"with a question": {clock, clock + "\nservice: demo", phase, "count: 2, path: /api?q=1}"},
	} {
		h := hash(replace...)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", what, other)
		}
		seen[h] = what
	}
	for what, replace := range map[string][]string{
		"max_in_flight":     {clock, clock + "\nmax_in_flight: 7"},
		"four IPv4 clients": {keys, "count: 4, addresses: 198.51.100.0/24"},
	} {
		if seen[hash(replace...)] != "nothing" {
			t.Errorf("%s changes the timetable", what)
		}
	}
}
