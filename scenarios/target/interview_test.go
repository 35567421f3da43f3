package target

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// A sound limiter is asked this and no more.
func TestInterviewAsks(t *testing.T) {
	l := &scripted{limit: three}
	got, err := about(t, embedded(t), faked(l), three)
	if err != nil {
		t.Fatal(err)
	}
	want := []limiter.Request{
		request(0, 1), request(0, 1), request(0, 1), request(0, 1), // the budget, and one more
		request(us, 1),                                       // the denial that counts; it has 10 s - 1 µs to wait
		request(10*time.Second-us, 1),                        // early
		request(10*time.Second, 1),                           // due
		request(10*time.Second+us, 1),                        // heal
		request(rested, 1), request(rested+5*time.Second, 1), // half a window older
		request(rested+5*time.Second, 4), request(rested+5*time.Second, -1),
	}
	if diff := cmp.Diff(want, l.calls); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	switch {
	case got.Identity != scenarios.Identity{}, got.Limit != three, !got.At.Equal(t0), got.Insatiable != 0:
		t.Errorf("about %+v", got)
	case got.Peeked != nil, got.Then != nil, got.PeekWrote:
		t.Errorf("it cannot peek: %+v", got)
	case got.Denied == nil, got.Denied.Allowed, got.Denied.RetryAfter != 10*time.Second-us, got.DenialWrote:
		t.Errorf("denied: %+v", got.Denied)
	case got.Early == nil, got.Early.Allowed, got.Due == nil, !got.Due.Allowed, got.Rested == nil, !got.Rested.Allowed:
		t.Errorf("early %+v, due %+v, rested %+v", got.Early, got.Due, got.Rested)
	case got.Huge == nil, got.Huge.Allowed, got.Negative != nil, got.NegativeWrote, got.Immortal != nil: // it left no keys
		t.Errorf("huge %+v, negative %+v, immortal %q", got.Huge, got.Negative, got.Immortal)
	}
}

func TestInterviewWithoutCosts(t *testing.T) {
	l := &scripted{limit: three}
	target := faked(l)
	target.Costs = false
	got, err := about(t, embedded(t), target, three)
	if err != nil || got.Huge != nil || got.Negative != nil || got.Rested == nil || len(l.calls) != 10 {
		t.Errorf("%d calls, %+v and %v", len(l.calls), got, err)
	}
}

// No request may cost more than the largest limit has; one of -1 can be asked for.
func TestInterviewAtTheLargestLimit(t *testing.T) {
	largest := limiter.Limit{Max: limiter.MaxMax, Window: time.Second}
	l := &scripted{limit: largest}
	got, err := about(t, embedded(t), faked(l), largest)
	if err != nil || got.Huge != nil || got.Rested == nil || l.calls[len(l.calls)-1].Cost != -1 {
		t.Errorf("%+v and %v after %+v", got, err, l.calls)
	}
}

func TestInterviewPeeks(t *testing.T) {
	s := embedded(t)
	wrong := func(d limiter.Decision) limiter.Decision { d.Allowed = !d.Allowed; return d }
	for _, row := range []struct {
		peek    func(*scripted, limiter.Request) (limiter.Decision, error)
		at      time.Duration // of the peek that is kept; -1 is none
		differs bool
		wrote   bool
		why     string
	}{
		{func(l *scripted, r limiter.Request) (limiter.Decision, error) { return l.foresees(r), nil }, rested, false, false, "right twice"},
		{func(l *scripted, r limiter.Request) (limiter.Decision, error) {
			if r.At.Equal(t0) {
				return wrong(l.foresees(r)), nil
			}
			return l.foresees(r), nil
		}, 0, true, false, "wrong about a used budget"},
		{func(l *scripted, r limiter.Request) (limiter.Decision, error) {
			if !r.At.Equal(t0) {
				return wrong(l.foresees(r)), nil
			}
			return l.foresees(r), nil
		}, rested, true, false, "wrong about a fresh one"},
		{func(l *scripted, r limiter.Request) (limiter.Decision, error) {
			if r.At.Equal(t0) {
				s.Client().Incr(context.Background(), "key:k")
			}
			return l.foresees(r), nil
		}, 0, false, true, "writes the first time"},
		{func(*scripted, limiter.Request) (limiter.Decision, error) {
			return limiter.Decision{}, errors.New("no")
		}, -1, false, false, "refuses"},
	} {
		l := &scripted{limit: three}
		for range 3 {
			_, _ = l.Allow(t.Context(), request(0, 1)) // the traffic
		}
		got, err := about(t, s, faked(peeking{l, func(r limiter.Request) (limiter.Decision, error) { return row.peek(l, r) }}), three)
		if err != nil || got.Rested == nil || !got.Rested.Allowed || !got.Rested.At.Equal(t0.Add(rested)) {
			t.Errorf("%s: rested %+v and %v", row.why, got.Rested, err)
		}
		if row.at < 0 {
			if got.Peeked != nil || got.Then != nil {
				t.Errorf("%s: peeked %+v", row.why, got.Peeked)
			}
			continue
		}
		if got.Peeked == nil || got.Then == nil || !got.Then.At.Equal(t0.Add(row.at)) || got.PeekWrote != row.wrote || (got.Peeked.Allowed != got.Then.Allowed) != row.differs {
			t.Errorf("%s: peeked %+v, then %+v, wrote %t", row.why, got.Peeked, got.Then, got.PeekWrote)
		}
	}
}

func TestInterviewOfTheInsatiable(t *testing.T) {
	l := &scripted{limit: limiter.Limit{Max: 1000, Window: 10 * time.Second}} // of three
	got, err := about(t, embedded(t), faked(l), three)
	if err != nil || got.Insatiable != 5 || got.Denied != nil || got.Early != nil || got.Due != nil || got.Rested == nil {
		t.Errorf("%+v and %v", got, err)
	}
}

// A budget that would take too long to use up is not.
func TestInterviewPatience(t *testing.T) {
	for _, row := range []struct {
		limit  int64
		costs  bool
		calls  int // before heal asks
		behind int // from then on
	}{{300, true, 304, 5}, {301, false, 0, 3}, {301, true, 5, 5}} { // one, the other 300, and as for three
		limit := limiter.Limit{Max: row.limit, Window: 10 * time.Second}
		l := &scripted{limit: limit}
		target := faked(l)
		target.Costs = row.costs
		got, err := about(t, embedded(t), target, limit)
		if want := row.calls > 0; err != nil || (got.Denied != nil) != want || got.Insatiable != 0 || len(l.calls) != row.calls+row.behind {
			t.Errorf("limit %d: %d calls, denied %+v and %v", row.limit, len(l.calls), got.Denied, err)
		}
	}
}

func TestInterviewWritingDenials(t *testing.T) {
	s := embedded(t)
	client, ctx := s.Client(), t.Context()
	for _, row := range []struct {
		denied func(limiter.Request)
		want   bool
		why    string
	}{
		{nil, false, "nothing"},
		{func(limiter.Request) { client.Incr(ctx, "key:k") }, true, "counts them"},
		{func(r limiter.Request) { client.Set(ctx, "key:k", r.At.UnixMicro(), 0) }, true, "keeps the last one's instant: twice in one microsecond is the same"},
		{func(limiter.Request) { client.Set(ctx, "key:k", "banned", 0) }, false, "what it wrote before"},
		{func(r limiter.Request) {
			if r.At.After(t0) {
				client.Set(ctx, "key:k", "tidy", 0)
			}
		}, false, "tidies up when time has passed, once"},
		{func(limiter.Request) { client.PExpire(ctx, "key:k", time.Hour) }, false, "puts off the end of the key"},
		{func(limiter.Request) { client.Incr(ctx, "elsewhere") }, false, "writes what is not its own, which is another check's"},
	} {
		client.Set(ctx, "key:k", "1", 0)
		got, err := about(t, s, faked(&scripted{limit: three, denied: row.denied}), three)
		if err != nil || got.Denied == nil || got.DenialWrote != row.want {
			t.Errorf("%s: wrote %t, want %t; denied %+v and %v", row.why, got.DenialWrote, row.want, got.Denied, err)
		}
	}
}

// Waits that lead nowhere are not obeyed. Early is one unit before.
func TestInterviewObeys(t *testing.T) {
	s := embedded(t)
	for _, row := range []struct {
		wait, unit time.Duration // what every denial says; 0 leaves it
		early, due time.Duration // after t0; -1 is not asked
		why        string
	}{
		{10*time.Second - us, us, 10*time.Second - us, 10 * time.Second, "to the microsecond"},
		{10 * time.Second, time.Second, 9*time.Second + us, 10*time.Second + us, "rounded up to seconds"},
		{us, us, us, 2 * us, "one unit: early is when it was denied"},
		{time.Second, time.Second, us, time.Second + us, "one second"},
		{2 * limiter.MaxWindow, us, 2 * limiter.MaxWindow, 2*limiter.MaxWindow + us, "the longest"},
		{2*limiter.MaxWindow + us, us, -1, -1, "longer"},
		{limiter.Never, us, -1, -1, "for ever"},
		{0, us, -1, -1, "none"},
		{-time.Second, us, -1, -1, "less than none"},
		{time.Second, 0, -1, -1, "it is not told"},
	} {
		l := &scripted{limit: three}
		l.after = func(d *limiter.Decision) {
			if !d.Allowed {
				d.RetryAfter = row.wait
			}
		}
		target := faked(l)
		target.Tells.Retry = row.unit
		got, err := about(t, s, target, three)
		if err != nil || got.Denied == nil || got.Denied.RetryAfter != row.wait {
			t.Fatalf("%s: denied %+v and %v", row.why, got.Denied, err)
		}
		for _, d := range []struct {
			what string
			got  *limiter.Decision
			want time.Duration
		}{{"early", got.Early, row.early}, {"due", got.Due, row.due}} {
			if (d.got == nil) != (d.want < 0) || d.got != nil && !d.got.At.Equal(t0.Add(d.want)) {
				t.Errorf("%s, %s: %+v, want it %s after", row.why, d.what, d.got, d.want)
			}
		}
		if after := max(row.due, us) + us + 100*time.Second; got.Rested == nil || !got.Rested.At.Equal(t0.Add(after)) {
			t.Errorf("%s: rested %+v, want it %s after", row.why, got.Rested, after)
		}
	}
}

func TestInterviewHeals(t *testing.T) {
	s := embedded(t)
	client, ctx := s.Client(), t.Context()
	for _, row := range []struct {
		heals, timed bool
		want         []string
		why          string
	}{
		{true, false, []string{}, "the call gives it one"},
		{false, false, []string{"new:k"}, "the call does not; what it does not touch is nobody's to heal"},
		{false, true, nil, "keys of windows are not asked about"},
	} {
		client.Set(ctx, "old:k", "1", time.Hour)
		client.Set(ctx, "new:k", "1", time.Hour)
		l := &scripted{limit: three}
		l.before = func(int, limiter.Request) (limiter.Decision, error, bool) {
			if row.heals {
				client.Expire(ctx, "new:k", time.Hour)
			}
			return limiter.Decision{}, nil, false
		}
		target := faked(l)
		target.Timed = row.timed
		target.Keys = func(identity string, at time.Time) []string {
			if at.Equal(t0) {
				return []string{"old:" + identity}
			}
			return []string{"new:" + identity}
		}
		got, err := about(t, s, target, three)
		if err != nil || !slices.Equal(got.Immortal, row.want) || (got.Immortal == nil) != (row.want == nil) {
			t.Errorf("%s: immortal %q and %v, want %q", row.why, got.Immortal, err, row.want)
		}
		if ttl := client.TTL(ctx, "old:k").Val(); (ttl > 0) != row.timed {
			t.Errorf("%s: the old key has %s to live", row.why, ttl)
		}
	}
}

func TestInterviewNegativeCost(t *testing.T) {
	s := embedded(t)
	for _, row := range []struct {
		admits, writes bool
	}{{false, false}, {true, false}, {false, true}, {true, true}} {
		l := &scripted{limit: three}
		l.before = func(_ int, r limiter.Request) (limiter.Decision, error, bool) {
			if r.Cost >= 0 {
				return limiter.Decision{}, nil, false
			}
			if row.writes {
				s.Client().Incr(context.Background(), "key:k")
			}
			if row.admits {
				return limiter.Decision{Allowed: true}, nil, true
			}
			return limiter.Decision{}, errors.New("no"), true
		}
		got, err := about(t, s, faked(l), three)
		if err != nil || got.NegativeWrote != row.writes || (got.Negative != nil) != row.admits {
			t.Errorf("%+v: negative %+v, wrote %t and %v", row, got.Negative, got.NegativeWrote, err)
		}
	}
}

// An error of the limiter ends an interview wherever it comes, and is nobody
// else's; what was found until then stays. The last of twelve calls is one that
// has to be refused.
func TestInterviewEndsWithAnError(t *testing.T) {
	s := embedded(t)
	for n := 1; n <= 12; n++ {
		l := &scripted{limit: three}
		l.before = func(call int, _ limiter.Request) (limiter.Decision, error, bool) {
			return limiter.Decision{}, errors.New("broken"), call == n
		}
		got, err := about(t, s, faked(l), three)
		if err != nil || len(l.calls) != n {
			t.Errorf("error in call %d: %d calls and %v", n, len(l.calls), err)
		}
		for _, part := range []struct {
			what  string
			there bool
			since int // the call that gives it
		}{
			{"denied", got.Denied != nil, 5},
			{"early", got.Early != nil, 6},
			{"due", got.Due != nil, 7},
			{"rested", got.Rested != nil, 9},
			{"aged", got.Aged != nil, 10},
			{"huge", got.Huge != nil, 11},
		} {
			if part.there != (n > part.since) {
				t.Errorf("error in call %d: %s is there: %t", n, part.what, part.there)
			}
		}
		if got.DenialWrote || got.NegativeWrote || got.Negative != nil || got.Immortal != nil || got.Insatiable != 0 {
			t.Errorf("error in call %d: %+v", n, got)
		}
	}
}

// A server that goes during a call is an error, and accuses nobody.
func TestInterviewWithoutAServer(t *testing.T) {
	for _, goesIn := range []int{1, 4, 5, 6, 8, 9, 11} {
		s := embedded(t)
		s.Client().Set(t.Context(), "key:k", "1", time.Hour)
		l := &scripted{limit: three}
		l.before = func(call int, _ limiter.Request) (limiter.Decision, error, bool) {
			if call == goesIn {
				_ = s.Close()
			}
			return limiter.Decision{}, nil, false
		}
		got, err := about(t, s, faked(l), three)
		if err == nil {
			t.Errorf("gone in call %d: no error", goesIn)
		}
		if got.DenialWrote || got.NegativeWrote || got.PeekWrote || len(got.Immortal) > 0 && goesIn < 8 {
			t.Errorf("gone in call %d: %+v", goesIn, got)
		}
	}
}

// A limiter that cannot say why it fails has its server asked.
func TestInterviewThatFailsWithItsServer(t *testing.T) {
	s := embedded(t)
	l := &scripted{limit: three}
	l.before = func(int, limiter.Request) (limiter.Decision, error, bool) {
		return limiter.Decision{}, errors.Join(s.Close(), errors.New("broken")), true
	}
	if got, err := about(t, s, faked(l), three); err == nil || len(l.calls) != 1 || got.Rested != nil {
		t.Errorf("%d calls, %+v and %v", len(l.calls), got, err)
	}
}

// A limit that a target refuses is told.
func TestInterviewWithoutALimiter(t *testing.T) {
	target := faked(nil)
	target.Limiter = func(limiter.Limit) (limiter.Limiter, error) { return nil, errors.New("too large") }
	if got, err := about(t, embedded(t), target, three); err == nil || got.Limit != three || got.Rested != nil {
		t.Errorf("%+v and %v", got, err)
	}
}
