package target_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// Every specimen opens as a target, names its keys before it has a limiter, and
// claims what it is judged by.
func TestFaultyTargets(t *testing.T) {
	s := server(t, "embedded")
	l := limiter.Limit{Max: 3, Window: 10 * time.Second}
	listed := target.Specimens()
	if len(listed) != len(faulty.Specimens) {
		t.Fatalf("%d are listed, there are %d", len(listed), len(faulty.Specimens))
	}
	for i, specimen := range faulty.Specimens {
		name := "faulty:" + specimen.Name
		if listed[i] != [2]string{name, specimen.Doc} {
			t.Errorf("listed as %q", listed[i])
		}
		if err := target.Check(name, target.Needs{Limits: []limiter.Limit{l}, Clock: scenarios.Virtual, Costs: true, Waits: true}, ""); err != nil {
			t.Error(err)
		}
		opened, err := target.Open(t.Context(), s, name, target.Options{Limit: l, Clock: scenarios.Virtual, Prefix: "p"})
		if err != nil {
			t.Fatal(err)
		}
		keys := opened.Keys("k0-1", luaT0)
		if len(keys) == 0 || !strings.HasPrefix(keys[0], "p:"+specimen.Name+":rlbench:10000000:") {
			t.Errorf("%s: keys %q", name, keys)
		}
		if made, err := opened.Limiter(l); err != nil || made == nil {
			t.Errorf("%s: %v", name, err)
		}
		if made, err := opened.Limiter(limiter.Limit{Max: -1, Window: time.Second}); err == nil || made != nil {
			t.Errorf("%s takes a limit below zero", name)
		}
		longest := 21 * time.Second // two windows and a second
		claims := target.Claims(name, "")
		if specimen.Claims.Name == "" {
			if claims != nil || opened.Algorithm != nil {
				t.Errorf("%s claims something", name)
			}
		} else {
			if claims == nil || claims.Name != specimen.Claims.Name || opened.Algorithm == nil || opened.Algorithm.Name != specimen.Claims.Name {
				t.Errorf("%s claims %v and %v", name, claims, opened.Algorithm)
			}
			longest = specimen.Claims.TTL(l)
		}
		if got := opened.LongestTTL(l); got != longest {
			t.Errorf("%s: a key lives for %s, want %s", name, got, longest)
		}
		if opened.Name != name || !opened.Costs || !opened.Foreign || !opened.Strict || opened.Timed || opened.Tells != scenarios.TellsAll || target.Claimable(name) {
			t.Errorf("opened as %+v", opened)
		}
	}
}

func TestFaultyTargetsThatAreNone(t *testing.T) {
	s := server(t, "embedded")
	for _, row := range []struct {
		name   string
		limits []limiter.Limit
		want   string
	}{
		{"faulty:undeclared-kye", nil, `unknown specimen "undeclared-kye" (did you mean "undeclared-key"?)`},
		{"faulty:", nil, `unknown specimen ""`},
		{"faulty:undeclared-key", []limiter.Limit{{Max: 1, Window: time.Second}, {Max: 1}}, "limiter faulty:undeclared-key: "},
	} {
		err := target.Check(row.name, target.Needs{Limits: row.limits}, "")
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", row.name, err, row.want)
		}
		if row.limits != nil {
			continue
		}
		if opened, err := target.Open(t.Context(), s, row.name, target.Options{}); err == nil || opened != nil || target.Claims(row.name, "") != nil {
			t.Errorf("%s: opened %v and %v", row.name, opened, err)
		}
		if _, err := target.Names([]string{"log", row.name}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s among names: %v", row.name, err)
		}
	}
	if got, err := target.Names([]string{"faulty:undeclared-key", "log"}); err != nil || !slices.Equal(got, []string{"faulty:undeclared-key", "log"}) {
		t.Errorf("names %q and %v", got, err)
	}
}
