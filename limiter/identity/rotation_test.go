package identity_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter/identity"
)

const (
	us  = time.Microsecond
	who = "203.0.113.7"
)

// in is the name of who in a period: -1 is the one that ends at T, 0 the one
// that begins there.
func in(period int) string { return reference(period+1, "address", "s", inFull(who)) }

// TestRotation is the timeline of a rotation at T: who has which names.
func TestRotation(t *testing.T) {
	const none = -100
	overlap, skew := usual.Overlap, usual.Skew
	for _, row := range []struct {
		why       string
		at        time.Time
		key, also int
	}{
		{"the first period of a key has none before it", birth, -1, none},
		{"the middle of a period", noon, -1, none},
		{"T-Skew-1us", T.Add(-skew - us), -1, none},
		{"T-Skew: servers that are ahead write the next name", T.Add(-skew), -1, 0},
		{"T-1us", T.Add(-us), -1, 0},
		{"T-1ns: instants are cut to microseconds", T.Add(-1), -1, 0},
		{"T", T, 0, -1},
		{"T+Overlap-1us", T.Add(overlap - us), 0, -1},
		{"T+Overlap: servers that are behind wrote the former one until a moment ago", T.Add(overlap), 0, -1},
		{"T+Overlap+Skew-1us", T.Add(overlap + skew - us), 0, -1},
		{"T+Overlap+Skew", T.Add(overlap + skew), 0, none},
		{"before the next rotation", T.Add(day - skew - us), 0, none},
		{"at its edge", T.Add(day - skew), 0, 1},
		{"the next rotation", T.Add(day), 1, 0},
	} {
		n := open(t, usual)
		got := named(t, n, "s", who, row.at)
		want := identity.Name{Key: in(row.key)}
		if row.also != none {
			want.Also = in(row.also)
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", row.why, got, want)
		}
	}
}

// TestNoOverlap: no second name, on purpose.
func TestNoOverlap(t *testing.T) {
	n := open(t, identity.Config{Overlap: identity.NoOverlap})
	for _, at := range []time.Time{noon, T.Add(-us), T, T.Add(-us)} {
		period := 0
		if at.Before(T) {
			period = -1
		}
		if got, want := named(t, n, "s", who, at), (identity.Name{Key: in(period)}); got != want {
			t.Errorf("%s: got %+v, want %+v", at, got, want)
		}
	}
}

// TestTwoServers: whatever name a server writes, every other server whose clock
// is at most Skew apart reads, for as long as what was written counts.
func TestTwoServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := time.Duration(rapid.Int64Range(3, 100000).Draw(t, "period")) * time.Second
		skew := time.Duration(rapid.Int64Range(1, int64(period/us/3)).Draw(t, "skew")) * us
		overlap := time.Duration(rapid.Int64Range(1, int64((period-2*skew)/us)).Draw(t, "overlap")) * us
		c := identity.Config{Period: period, Overlap: overlap, Skew: skew}
		key, err := identity.NewKey(testSecret())
		if err != nil {
			t.Fatal(err)
		}
		edge := time.Unix(0, 0).Add(1000 * period)
		name := func(at time.Time) identity.Name {
			n, err := identity.New(key, edge.Add(-2*period), c)
			if err != nil {
				t.Fatal(err)
			}
			name, err := n.Name("s", identity.Account("c"), at)
			if err != nil {
				t.Fatal(err)
			}
			return name
		}
		// Instants near the edges are what matters: half of the draws are there.
		near := rapid.SampledFrom([]time.Duration{-skew, 0, overlap, overlap + skew, period - skew, period}).Draw(t, "near")
		off := time.Duration(rapid.Int64Range(-int64(skew/us), int64(skew/us)).Draw(t, "off")) * us
		written := edge.Add(near + time.Duration(rapid.Int64Range(-2, 2).Draw(t, "by"))*us)
		later := time.Duration(rapid.Int64Range(0, int64(overlap/us)-1).Draw(t, "later")) * us
		if rapid.Bool().Draw(t, "latest") {
			later = overlap - us
		}
		w, r := name(written), name(written.Add(later+off))
		if w.Key != r.Key && w.Key != r.Also {
			t.Fatalf("written at %s as %s; read %s later by a clock %s off as %+v", written, w.Key, later, off, r)
		}
	})
}

// TestClockAccidents is what becomes of names and keys when the clock is wrong.
// The rows go through a day at the edge T.
func TestClockAccidents(t *testing.T) {
	type step struct {
		at     time.Time
		past   bool // ErrPast
		oldest time.Time
	}
	gone := T.Add(usual.Overlap + 2*usual.Skew) // from here on the former key is of no use
	const hour = time.Hour
	year2099 := time.Date(2099, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		why   string
		steps []step
	}{
		{"a day like any other: erased an hour after it is of no use, not a moment sooner", []step{
			{noon, false, birth},
			{T, false, birth},
			{gone.Add(-us), false, birth},
			{gone, false, birth},
			{gone.Add(hour - us), false, birth},
			{T.Add(-us), false, birth}, // still served, and the clock has to be seen anew
			{gone, false, birth},
			{gone.Add(hour), false, T},
			{gone.Add(hour - time.Second), false, T}, // set back by the skew
			{gone, false, T},                         // no former name is due any more
			{T.Add(usual.Overlap + usual.Skew), false, T},
			{T.Add(usual.Overlap + usual.Skew - us), true, T},
			{T.Add(-us), true, T},
		}},
		{"a clock 20 hours ahead that is put right within the hour", []step{
			{noon, false, birth},
			{noon.Add(20 * hour), false, birth},
			{noon.Add(20*hour + 59*time.Minute), false, birth},
			{noon.Add(59 * time.Minute), false, birth},
			{noon.Add(20*hour + 30*time.Minute), false, birth}, // starts from the beginning
			{noon.Add(21*hour + 30*time.Minute - us), false, birth},
			{noon.Add(21*hour + 30*time.Minute), false, T}, // an hour is believed
		}},
		{"a clock in 2099 for a day", []step{
			{noon, false, birth},
			{year2099, false, birth},
			{year2099.Add(day - us), false, birth},
			{noon.Add(day), false, birth},
		}},
		{"a clock in 2099 for more than a day is believed", []step{
			{noon, false, birth},
			{year2099, false, birth},
			{year2099.Add(day), false, year2099.Truncate(day)},
			{noon.Add(day), true, year2099.Truncate(day)},
		}},
		{"a jump while a rotation is under way erases only what was past before it", []step{
			{gone, false, birth},
			{T.Add(20 * hour), false, T},
			{T.Add(3 * day), false, T},
			{T.Add(2 * hour), false, T},
		}},
		{"a week without requests: a day of waiting, then as usual", []step{
			{noon, false, birth},
			{T.Add(7*day + hour), false, birth},
			{T.Add(8*day + hour - us), false, birth},
			{T.Add(8*day + hour), false, T.Add(7 * day)},
			{T.Add(8*day + 2*hour), false, T.Add(8 * day)},
		}},
	} {
		n := open(t, usual)
		for i, s := range row.steps {
			_, err := n.Name("s", client(t, who), s.at)
			if errors.Is(err, identity.ErrPast) != s.past || !s.past && err != nil {
				t.Errorf("%s, step %d: got error %v, want ErrPast %t", row.why, i, err, s.past)
			}
			if got := n.Status(); !got.Oldest.Equal(s.oldest) || got.Err != nil {
				t.Errorf("%s, step %d: keys from %s on are kept (%v), want from %s on", row.why, i, got.Oldest, got.Err, s.oldest)
			}
		}
	}
}

// TestBeyondReason: an instant that is refused erases nothing, for however long
// it lasts.
func TestBeyondReason(t *testing.T) {
	n := open(t, usual)
	far := T.AddDate(0, 0, identity.MaxAhead+1)
	for _, at := range []time.Time{far, far.Add(day), far.Add(3 * day)} {
		if _, err := n.Name("s", client(t, who), at); !errors.Is(err, identity.ErrFuture) {
			t.Errorf("got error %v, want ErrFuture", err)
		}
		if err := n.Maintain(at); err != nil {
			t.Error(err)
		}
	}
	if got := n.Status().Oldest; !got.Equal(birth) {
		t.Errorf("keys from %s on are kept, want from %s on", got, birth)
	}
}

// TestAdvance: people may know what time it is.
func TestAdvance(t *testing.T) {
	n := open(t, usual)
	for _, row := range []struct {
		why    string
		now    time.Time
		oldest time.Time
		is     error
	}{
		{"nothing to erase", noon, birth, nil},
		{"the former key is of use", T.Add(time.Minute), birth, nil},
		{"at once, over many periods", T.Add(30*day + time.Hour), T.Add(30 * day), nil},
		{"there is no way back", T, T.Add(30 * day), identity.ErrPast},
		{"beyond reason", T.AddDate(0, 0, identity.MaxAhead+40), T.Add(30 * day), identity.ErrFuture},
	} {
		err := n.Advance(row.now)
		if !errors.Is(err, row.is) {
			t.Errorf("%s: got error %v, want %v", row.why, err, row.is)
		}
		if got := n.Status().Oldest; !got.Equal(row.oldest) {
			t.Errorf("%s: keys from %s on are kept, want from %s on", row.why, got, row.oldest)
		}
	}
	if got, want := named(t, n, "s", who, T.Add(31*day)).Key, in(31); got != want {
		t.Errorf("after all that the name is %s, want %s", got, want)
	}
}

// TestErasureNeverChangesNames: whatever the clock does, a name is the
// reference's or there is none; and a clock that never goes back by more than
// the skew never lacks one.
func TestErasureNeverChangesNames(t *testing.T) {
	c := identity.Config{Period: time.Hour, Overlap: 10 * time.Minute, Skew: 2 * time.Second}
	key := testKey(t)
	rapid.Check(t, func(t *rapid.T) {
		n, err := identity.New(key, birth, c)
		if err != nil {
			t.Fatal(err)
		}
		honest := rapid.Bool().Draw(t, "honest")
		high, now := noon, noon
		steps := rapid.SliceOfN(rapid.Int64Range(-int64(c.Skew/us), int64(3*c.Period/us)), 1, 60).Draw(t, "steps")
		for _, s := range steps {
			if !honest && s%5 == 0 {
				now = now.Add(-time.Duration(s) * us)
			}
			if honest && s < 0 {
				now = high // then back from the latest
			}
			now = now.Add(time.Duration(s) * us)
			if now.After(high) {
				high = now
			}
			if now.Before(birth) {
				now = birth
			}
			name, err := n.Name("s", identity.Account("c"), now)
			if err != nil {
				if honest || !errors.Is(err, identity.ErrPast) {
					t.Fatal(err)
				}
				continue
			}
			period := int(now.Sub(birth) / c.Period)
			if want := reference(period, "account", "s", "c"); name.Key != want {
				t.Fatalf("at %s: got %s, want %s", now, name.Key, want)
			}
			others := []string{"", reference(period+1, "account", "s", "c")}
			if period > 0 {
				others = append(others, reference(period-1, "account", "s", "c"))
			}
			if !slices.Contains(others, name.Also) {
				t.Fatalf("at %s: second name %s is of no neighbour", now, name.Also)
			}
		}
	})
}

// TestConcurrent names over many rotations: with the race detector, and every
// name right.
func TestConcurrent(t *testing.T) {
	c := identity.Config{Period: time.Hour, Overlap: 2 * time.Minute, Skew: 10 * time.Minute, SlotBits: 5}
	n := open(t, c)
	var wg sync.WaitGroup
	const workers, rounds = 8, 300
	errs := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				at := birth.Add(time.Duration(i)*5*time.Minute + time.Duration(w)*time.Second)
				name, err := n.Name("s", identity.Account(fmt.Sprint(i%7)), at)
				if want := reference(int(at.Sub(birth)/c.Period), "account", "s", fmt.Sprint(i%7)); err == nil && name.Key != want {
					err = fmt.Errorf("at %s: got %s, want %s", at, name.Key, want)
				}
				// Workers are not kept together: one that is left behind
				// is a clock that was set back.
				if err != nil && !errors.Is(err, identity.ErrPast) {
					errs <- err
					return
				}
				if err := n.Maintain(at); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}
