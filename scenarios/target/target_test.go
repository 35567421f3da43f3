package target_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNames(t *testing.T) {
	for _, row := range []struct {
		list, want []string
		why        string
	}{
		{[]string{"fixed"}, []string{"fixed"}, "one"},
		{[]string{"log", "fixed"}, []string{"log", "fixed"}, "in the order in which they are given"},
		{[]string{"all"}, []string{"fixed", "log", "log-packed", "counter", "counter-strict", "gcra"}, "all in the order of the table"},
		{[]string{"counter", "all"}, []string{"counter", "fixed", "log", "log-packed", "counter-strict", "gcra"}, "one that all contains comes where it is named first"},
		{[]string{"all", "all", "log"}, []string{"fixed", "log", "log-packed", "counter", "counter-strict", "gcra"}, "nobody twice"},
		{[]string{"log", "log"}, []string{"log"}, "not even when it is asked for"},
		{[]string{" log ", "\tfixed"}, []string{"log", "fixed"}, "blanks around, as after a comma"},
	} {
		got, err := target.Names(row.list)
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%q: got %q and %v, want %q (%s)", row.list, got, err, row.want, row.why)
		}
	}
}

func TestNamesThatAreNone(t *testing.T) {
	for _, row := range []struct {
		list      []string
		want, why string
	}{
		{nil, "no limiter is named; known: fixed, log, log-packed, counter, counter-strict, gcra, all", "an empty list"},
		{[]string{"lok"}, `unknown limiter "lok" (did you mean "log"?); known: fixed, log, log-packed, counter, counter-strict, gcra, all, ALGORITHM+deny-cache, ALGORITHM+pipeline, lua:PATH, faulty:NAME`, "a typo"},
		{[]string{"fixed", "conter"}, `unknown limiter "conter" (did you mean "counter"?); known: fixed, log, log-packed, counter, counter-strict, gcra, all, ALGORITHM+deny-cache, ALGORITHM+pipeline, lua:PATH, faulty:NAME`, "a typo behind a name that is fine"},
		{[]string{"token-bucket"}, `unknown limiter "token-bucket"; known: fixed, log, log-packed, counter, counter-strict, gcra, all, ALGORITHM+deny-cache, ALGORITHM+pipeline, lua:PATH, faulty:NAME`, "a name that resembles nothing"},
		{[]string{"al"}, `unknown limiter "al" (did you mean "all"?); known: fixed, log, log-packed, counter, counter-strict, gcra, all, ALGORITHM+deny-cache, ALGORITHM+pipeline, lua:PATH, faulty:NAME`, "all can be mistyped as well"},
		{[]string{""}, `unknown limiter ""; known: fixed, log, log-packed, counter, counter-strict, gcra, all, ALGORITHM+deny-cache, ALGORITHM+pipeline, lua:PATH, faulty:NAME`, "an empty name"},
		{[]string{"FIXED"}, `unknown limiter "FIXED"; known: fixed, log, log-packed, counter, counter-strict, gcra, all, ALGORITHM+deny-cache, ALGORITHM+pipeline, lua:PATH, faulty:NAME`, "names are written small"},
	} {
		if got, err := target.Names(row.list); err == nil || err.Error() != row.want {
			t.Errorf("%q: got %q and %v, want %s (%s)", row.list, got, err, row.want, row.why)
		}
	}
}

func TestNamesLeavesItsArgumentAlone(t *testing.T) {
	list := []string{" log", "all", "log"}
	if _, err := target.Names(list); err != nil || !slices.Equal(list, []string{" log", "all", "log"}) {
		t.Errorf("%q, %v", list, err)
	}
}

// The counter multiplies count and window, which has to stay exact in Lua.
func TestCheckLimits(t *testing.T) {
	const day = 24 * time.Hour
	limit := func(n int64, w time.Duration) limiter.Limit { return limiter.Limit{Max: n, Window: w} }
	exact := int64(1<<53-1) / (31 * day).Microseconds()
	for _, row := range []struct {
		limit    limiter.Limit
		accepted string // names
		why      string
	}{
		{limit(100, time.Minute), "fixed log counter", "an everyday limit"},
		{limit(0, time.Millisecond), "fixed log counter", "nothing in the shortest window"},
		{limit(exact, 31*day), "fixed log counter", "the largest product below 2^53"},
		{limit(exact+1, 31*day), "fixed log", "one more is not exact any longer"},
		{limit(limiter.MaxMax, 31*day), "fixed log", "the largest of both"},
		{limit(limiter.MaxMax, time.Millisecond), "fixed log counter", "the largest count in the shortest window"},
		{limit(limiter.MaxMax+1, time.Minute), "", "more than any may have"},
		{limit(-1, time.Minute), "", "less than nothing"},
		{limit(1, 32*day), "", "too long a window"},
		{limit(1, time.Millisecond-time.Microsecond), "", "too short a window"},
		{limit(1, time.Second+time.Nanosecond), "", "a window of no whole ticks"},
	} {
		for _, name := range []string{"fixed", "log", "counter"} {
			err := target.Check(name, target.Needs{Limits: []limiter.Limit{row.limit}}, "")
			if want := slices.Contains(strings.Fields(row.accepted), name); (err == nil) != want {
				t.Errorf("%s at %s: %v (%s)", name, row.limit, err, row.why)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "algorithm "+name+": limit ") || !strings.Contains(err.Error(), row.limit.String())) {
				t.Errorf("%s at %s: the message names neither: %v", name, row.limit, err)
			}
		}
	}
	if err := target.Check("counter", target.Needs{Limits: []limiter.Limit{limit(exact+1, 31*day)}}, ""); err == nil || !strings.Contains(err.Error(), "2^53") {
		t.Errorf("the message does not say why: %v", err)
	}
	if err := target.Check("lok", target.Needs{}, ""); err == nil || !strings.Contains(err.Error(), `did you mean "log"?`) {
		t.Errorf("a name that is none: %v", err)
	}
}

func TestListed(t *testing.T) {
	for _, row := range target.Listed() {
		if row[0] == "" || row[1] == "" {
			t.Errorf("row %q", row)
		}
	}
	if len(target.Listed()) == 0 {
		t.Error("nothing is listed")
	}
}
