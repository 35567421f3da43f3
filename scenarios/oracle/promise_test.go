package oracle_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// claiming is an algorithm that promises at most twice the limit; its model is
// never asked about.
func claiming() *limiter.Algorithm {
	a := limiter.Fixed
	return &a
}

func TestPromise(t *testing.T) {
	l := limiter.Limit{Max: 5, Window: time.Minute}
	unknown := func(cost int64) event { return event{outcome: scenarios.Unknown, cost: cost} }
	for _, row := range []struct {
		events  []event
		verdict scenarios.Verdict
		kept    bool
		message string
		reasons []string
		why     string
	}{
		{
			times(10, admitted(0)), scenarios.Pass, true,
			"tested admitted at most 10 within 1m; it promises at most 10", nil,
			"exactly what is promised",
		},
		{
			times(11, admitted(0)), scenarios.Fail, false,
			"tested admitted 11 within 1m; it promises at most 10", nil,
			"one more",
		},
		{
			slices.Concat(times(10, admitted(0)), times(10, admitted(time.Minute))), scenarios.Pass, true,
			"tested admitted at most 10 within 1m; it promises at most 10", nil,
			"as much again a window later",
		},
		{
			[]event{{outcome: scenarios.Admitted, cost: 11}},
			scenarios.Fail, false,
			"tested admitted 11 within 1m; it promises at most 10", nil,
			"units count",
		},
		{
			append(times(9, admitted(0)), unknown(1)), scenarios.Pass, true,
			"tested admitted at most 9 within 1m; it promises at most 10", nil,
			"one of unknown fate would still be within the promise",
		},
		{
			append(times(9, admitted(0)), unknown(2)), scenarios.Inconclusive, true,
			"tested admitted between 9 and 11 within 1m; it promises at most 10",
			[]string{"unknown-outcomes"},
			"two units of unknown fate might break it, and might not",
		},
		{
			append(times(11, admitted(0)), unknown(1)), scenarios.Fail, false,
			"tested admitted 11 within 1m; it promises at most 10", nil,
			"the lower end breaks it, so nothing unknown excuses it",
		},
		{
			times(3, denied(0)), scenarios.Pass, true,
			"tested admitted at most 0 within 1m; it promises at most 10", nil,
			"whoever admits nothing keeps it",
		},
	} {
		c := caseOf(l, row.events...)
		c.Algorithm = claiming()
		j := judge(t, c)
		f := finding(t, j, "promise")
		if f.Verdict != row.verdict || f.Message != row.message || f.Warn {
			t.Errorf("%s: got %+v, want %s: %s", row.why, f, row.verdict, row.message)
		}
		if j.Promise == nil || j.Promise.MaxInWindow != 10 || j.Promise.Kept != row.kept {
			t.Errorf("%s: promise %+v, want at most 10, kept %t", row.why, j.Promise, row.kept)
		}
		for _, code := range row.reasons {
			if !slices.Contains(codes(j), code) {
				t.Errorf("%s: reasons %v, want %s", row.why, codes(j), code)
			}
		}
	}
}

func TestWhoClaimsNothingPromisesNothing(t *testing.T) {
	j := judge(t, caseOf(limiter.Limit{Max: 1, Window: ms}, times(50, admitted(0))...))
	if f := finding(t, j, "promise"); j.Promise != nil || f.Check != "" {
		t.Errorf("promise %+v, finding %+v", j.Promise, f)
	}
	if f := finding(t, j, "conformance"); f.Check != "" {
		t.Errorf("conformance to nothing: %+v", f)
	}
	if j.Verdict != scenarios.Pass {
		t.Errorf("verdict %s: without a claim or a check nothing can be wrong", j.Verdict)
	}
}

func TestOvershoot(t *testing.T) {
	limit := func(n int64) limiter.Limit { return limiter.Limit{Max: n, Window: time.Minute} }
	for _, row := range []struct {
		limit   limiter.Limit
		events  []event
		allowed *big.Rat
		verdict scenarios.Verdict
		message string
		why     string
	}{
		{limit(100), times(100, admitted(0)), big.NewRat(0, 1), scenarios.Pass, "tested admitted at most 100 within 1m at a limit of 100", "the limit itself at 0%"},
		{limit(100), times(101, admitted(0)), big.NewRat(0, 1), scenarios.Fail, "tested admitted 101 within 1m: 1% over the limit of 100", "one more"},
		{limit(100), times(110, admitted(0)), big.NewRat(1, 10), scenarios.Pass, "tested admitted at most 110 within 1m at a limit of 100", "exactly 10%"},
		{limit(100), times(111, admitted(0)), big.NewRat(1, 10), scenarios.Fail, "tested admitted 111 within 1m: 11% over the limit of 100", "one more"},
		{limit(3), times(4, admitted(0)), big.NewRat(1, 3), scenarios.Pass, "tested admitted at most 4 within 1m at a limit of 3", "a third of three is exactly one"},
		{limit(1000), times(1001, admitted(0)), big.NewRat(0, 1), scenarios.Fail, "tested admitted 1001 within 1m: 0.1% over the limit of 1000", "a breach of less than a percent is not 0%"},
		{limit(0), times(5, denied(0)), big.NewRat(1, 1), scenarios.Pass, "tested admitted at most 0 within 1m at a limit of 0", "nothing of nothing"},
		{limit(0), times(5, admitted(0)), big.NewRat(1, 1), scenarios.Fail, "tested admitted 5 within 1m: 5 over the limit of 0", "anything is infinitely much more than nothing"},
		{
			limit(10), append(times(10, admitted(0)), event{outcome: scenarios.Unknown}), big.NewRat(0, 1), scenarios.Inconclusive,
			"tested admitted between 10 and 11 within 1m at a limit of 10", "one of unknown fate might be one too many",
		},
		{
			limit(10), append(times(11, admitted(0)), event{outcome: scenarios.Unknown}), big.NewRat(0, 1), scenarios.Fail,
			"tested admitted 11 within 1m: 10% over the limit of 10", "the lower end is too many already",
		},
	} {
		c := caseOf(row.limit, row.events...)
		c.MaxOvershoot = row.allowed
		before := row.allowed.String()
		j := judge(t, c)
		if f := finding(t, j, "max-overshoot"); f.Verdict != row.verdict || f.Message != row.message {
			t.Errorf("%s: got %s: %s\nwant %s: %s", row.why, f.Verdict, f.Message, row.verdict, row.message)
		}
		if row.allowed.String() != before {
			t.Errorf("%s: the allowed share became %s, was %s", row.why, row.allowed, before)
		}
	}
	j := judge(t, caseOf(limit(1), times(50, admitted(0))...))
	if f := finding(t, j, "max-overshoot"); f.Check != "" {
		t.Errorf("nobody asked: %+v", f)
	}
}
