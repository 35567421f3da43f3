package faulty

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// shown is a question that a specimen answers differently from the algorithm that
// it was copied from.
type shown struct {
	name  string
	limit string // default 3/1m
	given string // is answered as by the algorithm
	rough bool   // but for its waits, which show the bug already
	then  string // limit of the last question
	ask   string
	got   string
	sound string
}

var differences = []shown{
	// The third of one instant finds one entry where two were made.
	{name: "bare-timestamp-member", given: "0s 1; 0s 1", ask: "0s 1", got: "allowed 1 0s 1m", sound: "allowed 0 0s 1m"},
	{name: "fourteen-digit-member", given: "0s 1; 1us 1", ask: "2us 1", got: "allowed 1 0s 1m", sound: "allowed 0 0s 1m"},
	// The first leaves and the third slot is taken again, under the same name.
	{name: "member-named-by-count", given: "0s 1; 100us 1; 200us 1; 60s 1; 60000100us 1", ask: "60000200us 1", got: "allowed 1 0s 1m", sound: "allowed 0 0s 1m"},
	// What was denied at 30 s still counts at 60 s.
	{name: "log-keeps-denied", limit: "2/1m", given: "0s 2; 30s 1", ask: "60s 1", got: "allowed 0 0s 1m", sound: "allowed 1 0s 1m"},
	{name: "add-then-count", limit: "1/1m", given: "0s 1; 30s 1", ask: "60s 1", got: "denied 0 30s 30s", sound: "allowed 0 0s 1m"},
	{name: "counts-before-trimming", given: "0s 3", ask: "61s 1", got: "denied 0 never -1s", sound: "allowed 2 0s 1m"},
	{name: "closed-window", given: "0s 3", ask: "60s 1", got: "denied 0 0s 0s", sound: "allowed 2 0s 1m"},
	{name: "whole-second-clock", given: "900ms 3", ask: "60s 1", got: "allowed 2 0s 1m", sound: "denied 0 900ms 900ms"},
	{name: "cost-is-one-entry", given: "0s 2", ask: "0s 2", got: "allowed 0 0s 1m", sound: "denied 1 1m 1m"},
	// Sub-buckets are 6 s long: the one from 0 s to 6 s has left at 60 s.
	{name: "sub-buckets-forget-early", given: "5s 3", rough: true, ask: "60s 1", got: "allowed 2 0s 1m", sound: "denied 0 5s 5s"},

	// At the edge all of the window before is left: 10. One unit fades to nothing
	// in a tick, ten units in 54 s and a tick.
	{name: "previous-never-found", limit: "10/1m", given: "59s 10", ask: "60s 1", got: "allowed 9 0s 1m0.000001s", sound: "denied 0 1µs 54.000001s"},
	{name: "previous-from-two-ago", limit: "10/1m", given: "59s 10", ask: "60s 1", got: "allowed 9 0s 1m0.000001s", sound: "denied 0 1µs 54.000001s"},
	{name: "previous-ignored", limit: "10/1m", given: "59s 10", ask: "60s 1", got: "allowed 9 0s 1m0.000001s", sound: "denied 0 1µs 54.000001s"},
	// Half of 10 is left. The wait that weighing asks for is over already.
	{name: "windows-summed", limit: "10/1m", given: "0s 10", ask: "90s 1", got: "denied 0 never 24.000001s", sound: "allowed 4 0s 30.000001s"},
	// 10 × 59/60 is between 9 and 10.
	{name: "ceil-for-floor", limit: "10/1m", given: "0s 10", ask: "61s 1", got: "denied 0 never 53.000001s", sound: "allowed 0 0s 59.000001s"},
	// 100 × 1/10 is 10. 91 units fade to nothing in floor(60 s × 90/91) and a tick.
	{name: "float-weight", limit: "100/1m", given: "0s 100", ask: "114s 91", got: "allowed 0 0s 1m5.34066s", sound: "denied 90 1µs 5.400001s"},
	// 57/60 of 10 is 9, of 11 it is 10, and 9 after 60/11 s and a tick.
	{name: "counter-charges-denied", limit: "10/1m", given: "0s 10; 0s 1", ask: "63s 1", got: "denied 0 2.454546s 51.545455s", sound: "allowed 0 0s 57.000001s"},
	{name: "late-stamp-turns-counter-back", limit: "10/1m", given: "60s 10", ask: "59s 1", got: "allowed 9 0s 1.000001s", sound: "denied 0 1m1.000001s 1m55.000001s"},

	{name: "seconds-for-microseconds", given: "0s 3", rough: true, ask: "60us 1", got: "allowed 2 0s 60µs", sound: "denied 0 59.99994s 59.99994s"},
	{name: "window-rounded-up-to-a-second", limit: "3/100ms", given: "0s 3", rough: true, ask: "100ms 1", got: "denied 0 900ms 900ms", sound: "allowed 2 0s 100ms"},
	{name: "limit-plus-one", given: "0s 3", ask: "1s 1", got: "allowed 0 0s 59s", sound: "denied 0 59s 59s"},
	{name: "limit-minus-one", ask: "0s 3", got: "denied 2 never 0s", sound: "allowed 0 0s 1m"},
	{name: "overdraws", given: "0s 2", ask: "0s 2", got: "allowed 0 0s 1m", sound: "denied 1 1m 1m"},
	{name: "never-denies", given: "0s 3", ask: "0s 1", got: "allowed 0 0s 1m", sound: "denied 0 1m 1m"},
	{name: "limit-one-never-admits", limit: "1/1m", ask: "0s 1", got: "denied 0 never 0s", sound: "allowed 0 0s 1m"},
	{name: "window-charges-denied", given: "0s 2; 1s 2", ask: "2s 1", got: "denied 0 58s 58s", sound: "allowed 0 0s 58s"},
	{name: "anchored-at-first-hit", given: "30s 3", rough: true, ask: "60s 1", got: "denied 0 30s 30s", sound: "allowed 2 0s 1m"},
	{name: "window-never-ends", given: "0s 1; 30s 1", rough: true, ask: "60s 2", got: "denied 1 30s 30s", sound: "allowed 1 0s 1m"},
	{name: "late-stamp-turns-window-back", given: "60s 3", ask: "59s 1", got: "allowed 2 0s 1s", sound: "denied 0 1m1s 1m1s"},
	{name: "limit-kept-from-first-use", given: "0s 1", then: "1/1m", ask: "1s 1", got: "allowed 1 0s 59s", sound: "denied 0 59s 59s"},
	{name: "stale-reply", limit: "200/1m", given: "99*0s 1", ask: "0s 1", got: "allowed 101 0s 1m", sound: "allowed 100 0s 1m"},

	// A unit is worth 20 s.
	{name: "bucket-starts-empty", ask: "0s 1", got: "denied 0 20s 1m", sound: "allowed 2 0s 20s"},
	{name: "bucket-fills-twice-as-fast", given: "0s 3", ask: "20s 1", got: "allowed 1 0s 40s", sound: "allowed 0 0s 1m"},
	{name: "bucket-goes-into-debt", given: "0s 3; 10s 1", ask: "20s 1", got: "denied 0 20s 1m", sound: "allowed 0 0s 1m"},

	{name: "ttl-in-whole-seconds", limit: "3/100ms", given: "0s 3", ask: "0s 1", got: "allowed 2 0s 100ms", sound: "denied 0 100ms 100ms"},

	{name: "retry-constant", given: "0s 3", ask: "1s 1", got: "denied 0 1m 59s", sound: "denied 0 59s 59s"},
	{name: "retry-floored-to-seconds", given: "0s 3", ask: "1500ms 1", got: "denied 0 58s 58.5s", sound: "denied 0 58.5s 58.5s"},
	{name: "retry-zero", given: "0s 3", ask: "1s 1", got: "denied 0 0s 59s", sound: "denied 0 59s 59s"},
	{name: "retry-negative", given: "0s 3", ask: "1s 1", got: "denied 0 never 59s", sound: "denied 0 59s 59s"},
	{name: "retry-from-the-newest", limit: "2/1m", given: "0s 1; 10s 1", ask: "20s 1", got: "denied 0 50s 50s", sound: "denied 0 40s 50s"},
	// 54/60 of 10 is 9, and 8 a tick later.
	{name: "retry-at-the-next-window", limit: "10/1m", given: "0s 10", ask: "66s 2", got: "denied 1 54s 48.000001s", sound: "denied 1 1µs 48.000001s"},
	{name: "retry-when-full", given: "0s 3", ask: "10s 1", got: "denied 0 50s 50s", sound: "denied 0 10s 50s"},
	{name: "reset-ignores-use", limit: "10/1m", ask: "0s 2", got: "allowed 8 0s 1m", sound: "allowed 8 0s 1m30.000001s"},
	{name: "reset-from-the-oldest", given: "0s 1", ask: "10s 1", got: "allowed 1 0s 50s", sound: "allowed 1 0s 1m"},

	{name: "remaining-negative", given: "0s 3", ask: "1s 1", got: "denied -1 59s 59s", sound: "denied 0 59s 59s"},
	{name: "remaining-before-the-request", ask: "0s 2", got: "allowed 3 0s 1m", sound: "allowed 1 0s 1m"},
	{name: "remaining-never-falls", ask: "0s 2", got: "allowed 3 0s 1m", sound: "allowed 1 0s 1m"},

	{name: "cost-ignored", ask: "0s 3", got: "allowed 2 0s 1m", sound: "allowed 0 0s 1m"},
	{name: "cost-one-less", given: "0s 1", ask: "0s 2", got: "allowed 1 0s 1m", sound: "allowed 0 0s 1m"},
	{name: "huge-cost-admitted", ask: "0s 4", got: "allowed 0 0s 1m", sound: "denied 3 never 0s"},
	{name: "huge-cost-waits", ask: "0s 4", got: "denied 3 1m 0s", sound: "denied 3 never 0s"},
	{name: "negative-cost", given: "0s 3", ask: "1s -1", got: "allowed 1 0s 59s", sound: "refused"},
	{name: "partial-charge", given: "0s 2; 1s 2", ask: "2s 1", got: "denied 0 58s 58s", sound: "allowed 0 0s 58s"},
	{name: "peek-charges", given: "0s 1 a peek", ask: "0s 1", got: "allowed 1 0s 1m", sound: "allowed 2 0s 1m"},
	{name: "peek-forgets-the-previous-window", limit: "10/1m", given: "59s 10", ask: "60s 1 a peek", got: "allowed 9 0s 1m0.000001s", sound: "denied 0 1µs 54.000001s"},
	{name: "denial-is-an-error", given: "0s 3", ask: "1s 1", got: "refused", sound: "denied 0 59s 59s"},

	{name: "identity-cut-at-the-last-separator", given: "0s 3 b-1", ask: "0s 1 b-2", got: "denied 0 1m 1m", sound: "allowed 2 0s 1m"},
	{name: "truncated-identity", given: "0s 3 abc1", ask: "0s 1 abc2", got: "denied 0 1m 1m", sound: "allowed 2 0s 1m"},
	// 65×31+97 = 66×31+66.
	{name: "identity-in-one-byte", given: "0s 3 Aa", ask: "0s 1 BB", got: "denied 0 1m 1m", sound: "allowed 2 0s 1m"},
	{name: "one-budget-for-all", given: "0s 3 a", ask: "0s 1 b", got: "denied 0 1m 1m", sound: "allowed 2 0s 1m"},

	{name: "dead-after-a-flood", limit: "1/1m", given: "0s 1; 5*1s 1", ask: "60s 1", got: "denied 0 0s 0s", sound: "allowed 0 0s 1m"},
	// Seven windows later all is well, eight later it is not.
	{name: "idle-overflow", given: "0s 1; 420s 1", ask: "900s 1", got: "denied 0 1m 1m", sound: "allowed 2 0s 1m"},
}

func TestAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, client *redis.Client) {
		for _, row := range differences {
			t.Run(row.name, func(t *testing.T) { row.run(t, client) })
		}
	})
}

func (row shown) run(t *testing.T, client *redis.Client) {
	s, ok := Named(row.name)
	if !ok {
		t.Fatal("no such specimen")
	}
	limit := limitOf(t, row.limit)
	last := limit
	if row.then != "" {
		last = limitOf(t, row.then)
	}
	prefix := "answers:" + row.name
	faulty, sound := openSpecimen(t, client, s, limit, prefix), openSound(t, client, s, limit, prefix)
	specification := newModel(s.base, limit)
	for _, a := range asks(t, row.given) {
		want := specification.answer(a)
		if got := sound.answer(t, client, a); got != want {
			t.Errorf("given %+v: the algorithm says %q, its model %q", a, got, want)
		}
		got := faulty.answer(t, client, a)
		if row.rough {
			got, want = verdict(got), verdict(want)
		}
		if got != want {
			t.Errorf("given %+v: the specimen says %q, want %q as its model", a, got, want)
		}
	}
	question := asks(t, row.ask)[0]
	if row.then != "" {
		faulty, sound = openSpecimen(t, client, s, last, prefix), openSound(t, client, s, last, prefix)
	}
	if got := faulty.answer(t, client, question); got != row.got {
		t.Errorf("%s: the specimen says %q, want %q", row.ask, got, row.got)
	}
	if got := sound.answer(t, client, question); got != row.sound {
		t.Errorf("%s: the algorithm says %q, want %q", row.ask, got, row.sound)
	}
}
