package target

import (
	"math/big"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// replyForm says what the values of a reply mean.
type replyForm struct {
	verdict verdictForm
	at      place // of the verdict
	// What else is told. The units are those of waits and instants.
	remaining, limit, now place
	retry, reset          place
	retryUnit, resetUnit  time.Duration
	resetAt               bool // reset is an instant, not a wait
	// nilMeans is "admitted" or "denied"; "" if a verdict of nil is a mistake.
	nilMeans string
	// yes and no are texts that mean admitted and denied; "" if none do.
	yes, no string
	// loose is the form without a mapping: a reply may be shorter, or one
	// number.
	loose bool
}

// place is a position in an array from 1, the reply itself, or nowhere.
type place int

const itself place = -1

func (p place) none() bool { return p == 0 }

// maxPlace bounds positions.
const maxPlace = 64

// verdictForm is a way to tell admitted from denied by a number.
type verdictForm struct {
	name, doc string
	want      string // in messages
	// admits is false, false if the number is none of the wanted.
	admits func(n number, limit int64) (admitted, ok bool)
	// leftover says that the number is also what is left.
	leftover bool
}

// verdictForms is the table of all ways. To add one, add its row.
var verdictForms = []verdictForm{
	{"allowed", "1 is admitted, 0 is denied", "0 or 1", func(n number, _ int64) (bool, bool) { return flag(n, 1) }, false},
	{"denied", "1 is denied, 0 is admitted", "0 or 1", func(n number, _ int64) (bool, bool) { return flag(n, 0) }, false},
	{"count", "with this request; admitted if at most the limit", "a number", func(n number, limit int64) (bool, bool) {
		return n.Cmp(wholeNumber(limit).Rat) <= 0, true
	}, false},
	{"count_before", "without this request; admitted if below the limit", "a number", func(n number, limit int64) (bool, bool) {
		return n.Cmp(wholeNumber(limit).Rat) < 0, true
	}, false},
	{"left", "what is left after this request; admitted if not below 0", "a number", func(n number, _ int64) (bool, bool) {
		return n.Sign() >= 0, true
	}, true},
}

func flag(n number, admitted int64) (is, ok bool) {
	switch {
	case n.Cmp(wholeNumber(admitted).Rat) == 0:
		return true, true
	case n.Cmp(wholeNumber(1-admitted).Rat) == 0:
		return false, true
	}
	return false, false
}

func wholeNumber(n int64) number { return number{Rat: new(big.Rat).SetInt64(n)} }

// defaultReply is {allowed, remaining, retry_after_us, reset_after_us}.
var defaultReply = replyForm{
	verdict: verdictForms[0], at: 1, remaining: 2, loose: true,
	retry: 3, retryUnit: time.Microsecond, reset: 4, resetUnit: time.Microsecond,
}

// units are the endings of what is told in time.
var units = []struct {
	ending string
	unit   time.Duration
}{{"_us", time.Microsecond}, {"_ms", time.Millisecond}, {"_s", time.Second}}

// readReply reads the mapping of a reply, and reports what is missing or told
// twice.
func readReply(root scenarios.Value) replyForm {
	var f replyForm
	fields := []scenarios.Field{
		{Name: "remaining", Read: position(&f.remaining)},
		{Name: "limit", Read: position(&f.limit)},
		{Name: "now_us", Read: position(&f.now)},
		{Name: "yes", Read: func(v scenarios.Value) { f.yes, _ = v.Text() }},
		{Name: "no", Read: func(v scenarios.Value) { f.no, _ = v.Text() }},
		{Name: "nil", Read: func(v scenarios.Value) { f.nilMeans, _ = v.OneOf("admitted", "denied") }},
	}
	verdicts := 0
	for _, form := range verdictForms {
		fields = append(fields, scenarios.Field{Name: form.name, Read: func(v scenarios.Value) {
			verdicts++
			f.verdict = form
			if text, ok := v.Text(); ok && text == "self" {
				f.at = itself
			} else if ok {
				position(&f.at)(v)
			}
		}})
	}
	for _, u := range units {
		fields = append(
			fields,
			scenarios.Field{Name: "retry_after" + u.ending, Read: timedPosition(&f.retry, &f.retryUnit, u.unit)},
			scenarios.Field{Name: "reset_after" + u.ending, Read: timedPosition(&f.reset, &f.resetUnit, u.unit)},
			scenarios.Field{Name: "reset_at" + u.ending, Read: func(v scenarios.Value) {
				f.resetAt = true
				timedPosition(&f.reset, &f.resetUnit, u.unit)(v)
			}},
		)
	}
	root.Fields(fields)
	if verdicts != 1 && root.Sound() {
		root.Report("reply needs exactly one of allowed, denied, count, count_before and left; this has %d", verdicts)
	}
	if (f.yes == "") != (f.no == "") || f.yes != "" && f.yes == f.no {
		root.Report("yes and no are two different texts, one for admitted and one for denied")
	}
	if f.at == itself && !(f.remaining.none() && f.limit.none() && f.now.none() && f.retry.none() && f.reset.none()) {
		root.Report("a reply that is one value has no positions: self stands alone")
	}
	return f
}

func position(to *place) func(scenarios.Value) {
	return func(v scenarios.Value) {
		n, _ := v.Whole(1, maxPlace)
		*to = place(n)
	}
}

// timedPosition also notes the unit, once.
func timedPosition(to *place, unit *time.Duration, u time.Duration) func(scenarios.Value) {
	return func(v scenarios.Value) {
		if !to.none() {
			v.Report("the same is told twice, in different units")
			return
		}
		*unit = u
		position(to)(v)
	}
}

// tells is what is known before any reply was seen. The loose form tells what
// the replies turn out to hold.
func (f replyForm) tells(at bool) scenarios.Tells {
	t := scenarios.Tells{At: at || !f.now.none()}
	if f.loose {
		return t
	}
	t.Remaining = !f.remaining.none() || f.verdict.leftover
	if !f.retry.none() {
		t.Retry = f.retryUnit
	}
	// An instant that was rounded is no wait that was rounded, so it can be told
	// only exactly.
	if !f.reset.none() && (!f.resetAt || f.resetUnit == time.Microsecond) {
		t.Reset = f.resetUnit
	}
	return t
}
