package scenarios

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

var (
	perMinute = limiter.Limit{Max: 100, Window: time.Minute}
	tiny      = limiter.Limit{Max: 3, Window: time.Millisecond}
	nothing   = limiter.Limit{Max: 0, Window: time.Second}
)

// dimensions by their power of time.
const (
	number = 0
	span   = 1
	rate   = -1
)

// Times are in microseconds and rates per microsecond, as exact fractions.
func TestExpressionValues(t *testing.T) {
	for _, row := range []struct {
		text  string
		limit limiter.Limit
		want  string
		time  int
		why   string
	}{
		{"0", perMinute, "0", number, "the smallest literal"},
		{"42", perMinute, "42", number, "a plain literal"},
		{"010", perMinute, "10", number, "a leading zero does not mean octal"},
		{".5", perMinute, "1/2", number, "a point needs no digit before it"},
		{"5.", perMinute, "5", number, "a point needs no digit after it"},
		{"0.1+0.2", perMinute, "3/10", number, "decimals are exact: no float is involved"},
		{"0.1+0.2-0.3", perMinute, "0", number, "so a difference that floats get wrong is nothing"},
		{"1/3*3", perMinute, "1", number, "thirds are exact as well"},
		{"2+3*4", perMinute, "14", number, "times binds more than plus"},
		{"2*3+4", perMinute, "10", number, "on either side"},
		{"(2+3)*4", perMinute, "20", number, "parentheses bind most"},
		{"10-4-3", perMinute, "3", number, "minus goes from left to right"},
		{"100/10/2", perMinute, "5", number, "so does division"},
		{"100/10*2", perMinute, "20", number, "and both at one level"},
		{"-2*3", perMinute, "-6", number, "a sign in front"},
		{"2*-3", perMinute, "-6", number, "a sign after an operator"},
		{"2--3", perMinute, "5", number, "minus a negative"},
		{"-(1+2)*2", perMinute, "-6", number, "a sign before a parenthesis belongs to the factor"},
		{"- - 1", perMinute, "1", number, "two signs cancel out"},
		{"\t 1 +\t2 ", perMinute, "3", number, "blanks and tabs mean nothing"},
		{"limit", perMinute, "100", number, "the count of the limit"},
		{"limit", nothing, "0", number, "which may be nothing"},
		{"2*limit", tiny, "6", number, "the limit is the one that is asked with"},
		{"limit + ceil(limit/60)", perMinute, "102", number, "what the counter admits in boundary-burst"},
		{"floor(limit/60)", perMinute, "1", number, "floor goes down"},
		{"floor(-1.5)", perMinute, "-2", number, "below zero too"},
		{"ceil(-1.5)", perMinute, "-1", number, "and ceil goes up there"},
		{"floor(7)+ceil(7)", perMinute, "14", number, "whole numbers stay what they are"},
		{"ceil(limit*15s/window)", perMinute, "25", number, "durations cancel to a number"},
		{"floor(ceil(0.5)/2)", perMinute, "0", number, "functions nest"},
		{"window", perMinute, "60000000", span, "the window in microseconds"},
		{"window/limit", perMinute, "600000", span, "the emission interval"},
		{"window/7", tiny, "1000/7", span, "no rounding inside of an expression"},
		{"edge", perMinute, "0", span, "instants are offsets from the edge"},
		{"edge - window/60", perMinute, "-1000000", span, "a second before the edge of a minute"},
		{"edge - 1us", perMinute, "-1", span, "the tick before the edge"},
		{"edge + window - window/limit + 1us", perMinute, "59400001", span, "where counter-worst puts its second burst"},
		{"1m30s", perMinute, "90000000", span, "a duration as Go writes it"},
		{"1.5s", perMinute, "1500000", span, "with a fraction"},
		{"250µs + 250us", perMinute, "500", span, "both spellings of micro"},
		{"1ns", perMinute, "1/1000", span, "below the resolution, and still exact"},
		{"31d", perMinute, "2678400000000", span, "days, as in limits"},
		{"2*s", perMinute, "2000000", span, "a bare unit is one of it"},
		{"1d/1h", perMinute, "24", number, "a ratio of durations has no dimension"},
		{"100/s", perMinute, "1/10000", rate, "a hundred in a second"},
		{"1/10s", perMinute, "1/10000000", rate, "one in ten seconds"},
		{"7/3s", perMinute, "7/3000000", rate, "no integer gap"},
		{"limit/window", perMinute, "1/600000", rate, "the rate that the limit allows"},
		{"0.9*limit/window", perMinute, "3/2000000", rate, "what steady sends"},
		{"100/s*window", perMinute, "6000", number, "rate times duration is a number"},
		{"1/(1/s)", perMinute, "1000000", span, "the inverse of a rate is a duration"},
	} {
		e, err := ParseExpr(row.text)
		if err != nil {
			t.Errorf("%s: %v (%s)", row.text, err, row.why)
			continue
		}
		want, _ := new(big.Rat).SetString(row.want)
		switch got, err := e.Eval(row.limit); {
		case err != nil:
			t.Errorf("%s: %v (%s)", row.text, err, row.why)
		case got.value.Cmp(want) != 0 || got.time != row.time:
			t.Errorf("%s = %s with time^%d, want %s with time^%d (%s)", row.text, got.value, got.time, want, row.time, row.why)
		}
		if !e.Present() || e.String() != row.text {
			t.Errorf("%s: present %t, text %q (%s)", row.text, e.Present(), e.String(), row.why)
		}
	}
}

func TestExpressionsThatCannotBeRead(t *testing.T) {
	for _, row := range []struct{ text, want, why string }{
		{"", `expression "": ends too early`, "nothing at all"},
		{" \t", `expression " \t": ends too early`, "nothing but blanks"},
		{"2*", `expression "2*": ends too early`, "an operand is missing"},
		{"1 +", `expression "1 +": ends too early`, "after a blank as well"},
		{"*2", `expression "*2": "*" is neither a number, a duration nor one of limit, window, edge`, "an operator in front"},
		{"2 3", `expression "2 3": unexpected "3"`, "two operands in a row"},
		{"1)", `expression "1)": unexpected ")"`, "a parenthesis that was never opened"},
		{"(1", `expression "(1": a ( is not closed`, "one that is never closed"},
		{"()", `expression "()": ")" is neither a number, a duration nor one of limit, window, edge`, "one with nothing in it"},
		{"floor 1", `expression "floor 1": floor and ceil want (`, "a function without parenthesis"},
		{"ceil(1", `expression "ceil(1": a ( is not closed`, "a function that is not closed"},
		{"limt", `expression "limt": "limt" is neither a number, a duration nor one of limit, window, edge (did you mean "limit"?)`, "a typo is corrected"},
		{"Window", `expression "Window": "Window" is neither a number, a duration nor one of limit, window, edge (did you mean "window"?)`, "names are written small"},
		{"1e3", `expression "1e3": "1e3" is neither a number, a duration nor one of limit, window, edge`, "no exponents: a short text stays a small number"},
		{"0x10", `expression "0x10": "0x10" is neither a number, a duration nor one of limit, window, edge`, "no hexadecimal"},
		{"1_000", `expression "1_000": "1_000" is neither a number, a duration nor one of limit, window, edge`, "no digit groups"},
		{"1.2.3", `expression "1.2.3": "1.2.3" is neither a number, a duration nor one of limit, window, edge`, "two points"},
		{"NaN", `expression "NaN": "NaN" is neither a number, a duration nor one of limit, window, edge`, "not a number is no number"},
		{"1;2", `expression "1;2": unexpected ";"`, "a character of no meaning"},
		{"1\n2", `expression "1\n2": unexpected "\n"`, "line breaks are shown as escapes"},
		{"\x00", `expression "\x00": "\x00" is neither a number, a duration nor one of limit, window, edge`, "and so are control characters"},
	} {
		e, err := ParseExpr(row.text)
		if err == nil || err.Error() != row.want {
			t.Errorf("%q: got %v\nwant %s (%s)", row.text, err, row.want, row.why)
		}
		if e.Present() {
			t.Errorf("%q: refused and yet present (%s)", row.text, row.why)
		}
	}
}

func TestExpressionsThatCannotBeComputed(t *testing.T) {
	for _, row := range []struct{ text, want, why string }{
		{"limit + window", "a number and a duration cannot be added", "different dimensions do not add up"},
		{"window + limit", "a duration and a number cannot be added", "the message keeps their order"},
		{"window - limit", "a number cannot be subtracted from a duration", "nor do they subtract"},
		{"100/s + 1", "a rate and a number cannot be added", "a rate is no number"},
		{"window*window + 1s", "neither a number, a duration nor a rate and a duration cannot be added", "squares exist in between"},
		{"floor(window)", "floor and ceil want a number, this is a duration", "rounding a duration would depend on the unit"},
		{"ceil(limit/window)", "floor and ceil want a number, this is a rate", "so would rounding a rate"},
		{"1/0", "division by zero", "the plain case"},
		{"1/(limit-100)", "division by zero", "hidden behind a name"},
		{"1/edge", "division by zero", "the edge is nothing"},
		{"1s/0ns", "division by zero", "no duration at all"},
		{"floor(1/0)", "division by zero", "inside of a function"},
		{"0*(1/0)", "division by zero", "times nothing does not hide it"},
	} {
		e, err := ParseExpr(row.text)
		if err != nil {
			t.Errorf("%s: %v (%s)", row.text, err, row.why)
			continue
		}
		if q, err := e.Eval(perMinute); err == nil || err.Error() != row.want {
			t.Errorf("%s: got %v and %v, want %s (%s)", row.text, q, err, row.want, row.why)
		}
	}
}

func TestExpressionBounds(t *testing.T) {
	nested := func(open, inside, closing string, n int) string {
		return strings.Repeat(open, n) + inside + strings.Repeat(closing, n)
	}
	for _, row := range []struct {
		text, want string
		why        string
	}{
		{strings.Repeat("1", 200), "", "two hundred bytes are allowed"},
		{strings.Repeat("1", 201), "expression is longer than 200 bytes", "one more is not"},
		{strings.Repeat("é", 101), "expression is longer than 200 bytes", "bytes count, not characters"},
		{nested("(", "1", ")", 31), "", "thirty-two sums, one in the other"},
		{nested("(", "1", ")", 32), "nested more than 32 deep", "one more"},
		{nested("-", "1", "", 31), "", "signs nest like parentheses"},
		{nested("-", "1", "", 32), "nested more than 32 deep", "one more"},
		{nested("-(", "1", ")", 16), "nested more than 32 deep", "both together"},
		{nested("ceil(", "1", ")", 32), "nested more than 32 deep", "functions too"},
		{strings.Repeat("(1)+", 49) + "(1)", "", "depth is given back: many side by side are fine"},
		{strings.Repeat("-1+", 60) + "-1", "", "signs side by side too"},
	} {
		e, err := ParseExpr(row.text)
		if row.want == "" {
			if err != nil {
				t.Errorf("%s: %v (%s)", row.text, err, row.why)
			} else if _, err := e.Eval(perMinute); err != nil {
				t.Errorf("%s: %v (%s)", row.text, err, row.why)
			}
			continue
		}
		if err == nil || !strings.HasSuffix(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s (%s)", row.text, err, row.want, row.why)
		}
	}
}

func TestQuantitiesAsText(t *testing.T) {
	for _, row := range []struct{ text, want, why string }{
		{"100", "100", "a whole number"},
		{"-3", "-3", "below zero"},
		{"0.25", "0.25", "a fraction as a decimal"},
		{"1/3", "0.333333", "cut where it goes on"},
		{"window", "1m", "a duration without zero parts"},
		{"edge - 1us", "-1µs", "a negative duration"},
		{"31d", "31d", "days"},
	} {
		e, err := ParseExpr(row.text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := e.Eval(perMinute)
		if err != nil || q.String() != row.want {
			t.Errorf("%s as text: got %s and %v, want %s (%s)", row.text, q, err, row.want, row.why)
		}
	}
}
