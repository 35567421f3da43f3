package target_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// traffic is one admitted request of each of so many identities, in real time.
func traffic(identities int) target.Traffic {
	p := &scenarios.Plan{Clock: scenarios.Server, Limit: limiter.Limit{Max: 3, Window: time.Minute}, Keys: identities}
	p.Phases = []scenarios.PlannedPhase{{Name: "only", Limit: p.Limit}}
	r := target.Traffic{
		Plan: p, Edge: luaT0, Name: name, Attempts: 1, Mark: "m:run",
		Stopwatch: func() time.Duration { return 42 * time.Second },
	}
	var results scenarios.ResultList
	for k := range identities {
		p.Arrivals = append(p.Arrivals, scenarios.Arrival{Key: int32(k), Cost: 1})
		results = append(results, scenarios.Result{Outcome: scenarios.Admitted})
	}
	r.Results = results
	return r
}

// keyed is a target whose identities have these keys, with % for the identity.
func keyed(forms ...string) *target.Target {
	return &target.Target{Name: "keyed", Foreign: true, Keys: func(identity string, _ time.Time) []string {
		keys := make([]string, len(forms))
		for i, form := range forms {
			keys[i] = strings.ReplaceAll(form, "%", identity)
		}
		return keys
	}}
}

// set writes keys with an hour to live.
func set(t *testing.T, s *backend.Server, value string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := s.Client().Set(t.Context(), key, value, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func examine(t *testing.T, s *backend.Server, opened *target.Target, r target.Traffic) *scenarios.Examination {
	t.Helper()
	e, err := target.Examine(t.Context(), s, opened, r, r.Traces(opened))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// live is a server that others use too.
func live(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.Open(t.Context(), server(t, "managed").URL(), backend.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// On a private server every key that nobody named is the limiter's; on a shared
// one those are that carry the mark.
func TestUndeclaredKeys(t *testing.T) {
	private, shared, embedded := server(t, "managed"), live(t), server(t, "embedded")
	for _, row := range []struct {
		s    *backend.Server
		mark string
		left []string
		want []string
		why  string
	}{
		{private, "m:run", []string{"m:run:{k0-1}"}, nil, "only what is named"},
		{private, "m:run", []string{"m:run:{k0-1}", "m:run:{k0-1}:seen", "total"}, []string{"m:run:{k0-1}:seen", "total"}, "all are the limiter's"},
		{embedded, "m:run", []string{"m:run:{k0-1}", "total"}, []string{"total"}, "as on a server of one's own"},
		{shared, "m:run", []string{"m:run:{k0-1}", "x:m:run:{k0-1}:seen", "total"}, []string{"x:m:run:{k0-1}:seen"}, "others have keys too"},
		{shared, "", []string{"m:run:{k0-1}", "total"}, nil, "without a mark nobody knows"},
	} {
		set(t, row.s, "1", row.left...)
		r := traffic(1)
		r.Mark = row.mark
		if e := examine(t, row.s, keyed("m:run:{%}"), r); !slices.Equal(e.Undeclared, row.want) {
			t.Errorf("%s: undeclared %q, want %q", row.why, e.Undeclared, row.want)
		}
		if err := row.s.Client().FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		set(t, private, "1", fmt.Sprintf("extra:%02d", i))
	}
	e := examine(t, private, keyed("m:run:{%}"), traffic(1))
	if len(e.Undeclared) != 10 || e.Undeclared[0] != "extra:00" || e.Undeclared[9] != "extra:09" {
		t.Errorf("told of twelve: %q", e.Undeclared)
	}
}

// All identities are counted, and some are looked at: the first, the last and what
// is evenly between. What an attempt before left counts with nobody.
func TestExamineMoreThanTheSample(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		r := traffic(500)
		r.Attempts = 2
		for k := range 500 {
			set(t, s, "1", fmt.Sprintf("{k%d-1}", k), fmt.Sprintf("{k%d-2}", k))
		}
		e := examine(t, s, keyed("{%}"), r)
		if e.Total != 500 || len(e.Sample) != 200 || len(e.Keys) != 200 || e.Undeclared != nil {
			t.Errorf("%s: %d keys in all, %d of %d looked at, undeclared %q", flavour, e.Total, len(e.Keys), len(e.Sample), e.Undeclared)
		}
		for i, id := range e.Sample {
			// 499 steps in 199 are two or three each.
			if i > 0 && (id.Key-e.Sample[i-1].Key < 2 || id.Key-e.Sample[i-1].Key > 3) {
				t.Errorf("%s: %d follows %d", flavour, id.Key, e.Sample[i-1].Key)
			}
			if want := fmt.Sprintf("{k%d-2}", id.Key); e.Keys[i].Name != want || e.Keys[i].Identity != id {
				t.Errorf("%s: key %+v, want %s", flavour, e.Keys[i], want)
			}
		}
		if first, last := e.Sample[0].Key, e.Sample[199].Key; first != 0 || last != 499 {
			t.Errorf("%s: from %d to %d", flavour, first, last)
		}
	}
}

func TestExamineSplitSlots(t *testing.T) {
	s := server(t, "embedded")
	for _, row := range []struct {
		forms []string
		want  []string
	}{
		{[]string{"%"}, nil},
		{[]string{"{%}:a", "{%}:b"}, nil},
		{[]string{"%:a", "%:b"}, []string{"k0-1:a", "k0-1:b"}}, // their tags are all of them
	} {
		if e := examine(t, s, keyed(row.forms...), traffic(2)); !slices.Equal(e.Split, row.want) {
			t.Errorf("%q: split %q, want %q", row.forms, e.Split, row.want)
		}
	}
}

func TestExaminedKeys(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		client, ctx := s.Client(), t.Context()
		set(t, s, "7", "a:k0-1", "10.9.8.7:run:k1-1")
		client.Set(ctx, "b:k0-1", "7 2001:db8::1", 0)
		client.RPush(ctx, "203.0.113.9:k0-1", "x", "y", "z")
		client.HSet(ctx, "a:k1-1", "to", "10.1.2.3")
		r := traffic(2)
		r.Mark = "10.9.8.7:run" // the user's own prefix
		e := examine(t, s, keyed("a:%", "b:%", "203.0.113.9:%", "10.9.8.7:run:%", "never:%"), r)
		type found struct {
			name     string
			identity int32
			elements int64
			many     bool
			address  string
			forever  bool
		}
		var got []found
		for _, k := range e.Keys {
			got = append(got, found{k.Name, k.Identity.Key, k.Elements, k.Collection, k.Address, k.TTL == scenarios.NoTTL})
			if k.Read != 42*time.Second || k.TTL != scenarios.NoTTL && (k.TTL < 59*time.Minute || k.TTL > time.Hour) {
				t.Errorf("%s: read at %s, it lives for %s", flavour, k.Read, k.TTL)
			}
		}
		want := []found{
			{"a:k0-1", 0, 1, false, "", false},
			{"b:k0-1", 0, 1, false, "2001:db8::1", true},
			{"203.0.113.9:k0-1", 0, 3, true, "203.0.113.9", true},
			{"a:k1-1", 1, 1, true, "10.1.2.3", true},
			{"10.9.8.7:run:k1-1", 1, 1, false, "", false},
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(found{})); diff != "" {
			t.Errorf("%s: keys (-want +got):\n%s", flavour, diff)
		}
		if e.Total != 5 || e.Read != 42*time.Second || e.Left != nil || e.Interviews != nil {
			t.Errorf("%s: %+v", flavour, e)
		}
	}
}

// A server that goes is an error, beside what was found until then.
func TestExamineWithoutAServer(t *testing.T) {
	for _, row := range []struct {
		early bool
		keys  int
		about string
	}{
		{true, 0, "examine what keyed left in Redis: "},
		{false, 2, "look for keys that keyed does not name: "},
	} {
		s := server(t, "embedded")
		set(t, s, "1", "k0-1", "k1-1")
		ctx, cancel := context.WithCancel(t.Context())
		r := traffic(2)
		r.Stopwatch = func() time.Duration { cancel(); return time.Second } // asked when keys have been read
		if row.early {
			cancel()
		}
		e, err := target.Examine(ctx, s, keyed("%"), r, r.Traces(keyed("%")))
		if err == nil || !strings.HasPrefix(err.Error(), row.about) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %s", err, row.about)
		}
		if e == nil || len(e.Sample) != 2 || len(e.Keys) != row.keys || e.Undeclared != nil {
			t.Errorf("%s: found %+v", row.about, e)
		}
		cancel()
	}
}

// Keys of windows that an attempt at a missed edge left are not those of the last
// one, and nobody knows which they were.
func TestExamineAfterAMissedEdge(t *testing.T) {
	s := server(t, "embedded")
	set(t, s, "1", "k0-1:7", "k1-2:7", "k1-3:8", "k0-3:9", "total")
	for _, row := range []struct {
		timed bool
		want  []string
		why   string
	}{
		{true, []string{"k1-3:8", "total"}, "the last attempt's are known, and what is nobody's too"},
		{false, []string{"k0-1:7", "k1-2:7", "k1-3:8", "total"}, "where keys do not depend on the instant, all are"},
	} {
		opened := keyed("%:9")
		opened.Timed = row.timed
		r := traffic(2)
		r.Attempts = 3
		if e := examine(t, s, opened, r); !slices.Equal(e.Undeclared, row.want) {
			t.Errorf("undeclared %q, want %q (%s)", e.Undeclared, row.want, row.why)
		}
	}
}

func TestDrain(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		set(t, s, "1", "k0-1", "k0-2", "other")
		r := traffic(3)
		r.Attempts, r.Plan.Drain = 2, 400*time.Millisecond
		if err := s.Client().Set(t.Context(), "k1-2", "1", 100*time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
		e := &scenarios.Examination{Total: 9}
		if err := target.Drain(t.Context(), s, r.Traces(keyed("%")).Keys(), r.Plan.Drain, e); err != nil {
			t.Fatal(err)
		}
		if e.Left == nil || e.Left.Keys != 2 || (e.Left.Bytes != nil) != (flavour == "managed") || e.Total != 9 {
			t.Errorf("%s: left %+v, want the two of both attempts that do not expire", flavour, e.Left)
		}
		if e.Left.Bytes != nil && *e.Left.Bytes < 2 {
			t.Errorf("%d bytes", *e.Left.Bytes)
		}
	}
}

func TestDrainEndsEarly(t *testing.T) {
	s := server(t, "embedded")
	r := traffic(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := &scenarios.Examination{}
	r.Plan.Drain = time.Hour
	if err := target.Drain(ctx, s, r.Traces(keyed("%")).Keys(), r.Plan.Drain, e); !errors.Is(err, context.Canceled) || e.Left != nil {
		t.Errorf("got %v, left %+v", err, e.Left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.Plan.Drain = 0
	if err := target.Drain(t.Context(), s, r.Traces(keyed("%")).Keys(), r.Plan.Drain, e); err == nil || !strings.HasPrefix(err.Error(), "count what is left: ") || e.Left != nil {
		t.Errorf("got %v, left %+v", err, e.Left)
	}
}
