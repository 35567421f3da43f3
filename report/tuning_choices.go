package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlbench/rlbench/scenarios"
)

// choiceFacts are what a policy does and costs, the most important first.
func (t *Tuning) choiceFacts(c *Choice) []note {
	p := &c.Policy
	return []note{
		{"recommended", p.name()},
		{"why", c.Why},
		{"price", c.Price},
		{"untouched", t.untouchedFact(p)},
		{"headroom", t.headroomFact(p)},
		{"refuses", t.refusedFact(p)},
		{"lets through", burstFact(p)},
		{"exactness", exactFact(p)},
		{"Redis", fmt.Sprintf("%s for at most %s at once, %s of a processor in its busiest second.", Size(p.Bytes), thousandsOf(p.Keys, "key"), Percent(p.ServerShare))},
	}
}

func (t *Tuning) untouchedFact(p *Policy) string {
	of := t.ordinary()
	if of == 0 {
		return "no client is ordinary."
	}
	text := fmt.Sprintf("%s of %s is refused nothing; %s is refused something", percent(of-p.TouchedOrdinary, of), thousandsOf(of, "ordinary client"), thousands(p.TouchedOrdinary))
	if of > 1 {
		text = fmt.Sprintf("%s of %s are refused nothing; %s are refused something", percent(of-p.TouchedOrdinary, of), thousandsOf(of, "ordinary client"), thousands(p.TouchedOrdinary))
	}
	if low, high := p.ends(touchedOf, p.TouchedOrdinary); low != high {
		text += fmt.Sprintf(", and %s to %s depending on when within their seconds requests came", thousands(low), thousands(high))
	}
	return text + "."
}

// headroomFact is how far the limit is from what ordinary clients ask for: the log of another
// day will not be this one.
func (t *Tuning) headroomFact(p *Policy) string {
	i := slices.IndexFunc(t.Demands, func(d Demand) bool { return d.WindowUS == p.WindowUS && d.Key == p.Key })
	if i < 0 || t.Demands[i].Ordinary.Max == 0 {
		return ""
	}
	switch most := t.Demands[i].Ordinary.Max; {
	case most > p.Limit:
		return fmt.Sprintf("none: ordinary clients ask for up to %s in a window, and what is above the limit is refused.", thousands(most))
	case most == p.Limit:
		return "none: an ordinary client asks for as much as the limit in a window, and one request more would be refused."
	default:
		return fmt.Sprintf("%s: ordinary clients ask for up to %s in a window.", thousandsOf(p.Limit-most, "request"), thousands(most))
	}
}

func (t *Tuning) refusedFact(p *Policy) string {
	text := fmt.Sprintf("%s of %s: %s of ordinary clients", percent(p.Refused, p.Requests), thousandsOf(p.Requests, "request"), thousands(p.RefusedOrdinary))
	if t.Heavy.Clients > 0 {
		text += fmt.Sprintf(", and %s of heavy ones, of which it touches %s of %s", thousands(p.Refused-p.RefusedOrdinary), thousands(p.TouchedHeavy), thousands(t.Heavy.Clients))
	}
	return text + "."
}

func burstFact(p *Policy) string {
	text := fmt.Sprintf("at most %s to one %s in any %s", peakText(p), keyWord(p.Key), lasting(p.WindowUS))
	if !p.PeakAt.IsZero() {
		text += " (" + stamp(p.PeakAt) + ")"
	}
	return text + fmt.Sprintf(", and %s in any second.", inSecondText(p))
}

// inSecondText is the most in a second, as an interval where placements differ.
func inSecondText(p *Policy) string {
	low, high := p.ends(peakInSecondOf, p.PeakInSecond)
	return between(thousands(low), thousands(high))
}

func exactFact(p *Policy) string {
	return fmt.Sprintf("%s and %s that an exact limiter would not make; %s of decisions are not those of a log, %s are denials right after one.",
		thousandsOf(p.Wrong.Admissions, "admission"), thousandsOf(p.Wrong.Denials, "denial"), percent(p.Differ, p.Requests), percent(p.Repeated, p.Requests))
}

// keyWord is who has a budget of its own.
func keyWord(key string) string {
	switch key {
	case "ip":
		return "address"
	case "ip+route":
		return "address on one route"
	case "prefix":
		return "network"
	}
	return printable(key)
}

// peakText is the most in a window, and how many times the limit that is.
func peakText(p *Policy) string {
	low, high := p.ends(peakInWindowOf, p.PeakInWindow)
	text := between(thousands(low), thousands(high))
	if p.Limit > 0 {
		text += fmt.Sprintf(" (%.2f×)", float64(high)/float64(p.Limit))
	}
	return text
}

// ends are the least and the most of a figure over all placements.
func (p *Policy) ends(of func(*Placement) int64, figure int64) (low, high int64) {
	if p.Least == nil || p.Most == nil {
		return figure, figure
	}
	return min(of(p.Least), of(p.Most)), max(of(p.Least), of(p.Most))
}

// shareCell is a share, as an interval where placements differ.
func (p *Policy) shareCell(of func(*Placement) int64, figure, whole int64) string {
	low, high := p.ends(of, figure)
	return between(percent(low, whole), percent(high, whole))
}

// choiceSheet compares what was chosen.
func (t *Tuning) choiceSheet() sheet {
	return sheetOf("The best of each algorithm: ordinary clients touched, requests refused, the most admitted to one key", []of[taken]{
		{field{"", 2, true}, func(c taken) string { return c.word }},
		{field{"algorithm", 0, true}, func(c taken) string { return printable(c.Policy.Algorithm) }},
		{field{"limit", 0, false}, func(c taken) string { return thousands(c.Policy.Limit) }},
		{field{"window", 4, false}, func(c taken) string { return lasting(c.Policy.WindowUS) }},
		{field{"per", 5, true}, func(c taken) string { return printable(c.Policy.Key) }},
		{field{"touched", 1, false}, func(c taken) string {
			return c.Policy.shareCell(touchedOf, c.Policy.TouchedOrdinary, t.ordinary())
		}},
		{field{"refused", 3, false}, func(c taken) string { return c.Policy.shareCell(refusedOf, c.Policy.Refused, c.Policy.Requests) }},
		{field{"peak", 0, false}, func(c taken) string { return peakText(&c.Policy) }},
		{field{"in 1s", 7, false}, func(c taken) string { return inSecondText(&c.Policy) }},
		{field{"memory", 6, false}, func(c taken) string { return Size(c.Policy.Bytes) }},
		{field{"processor", 8, false}, func(c taken) string { return Percent(c.Policy.ServerShare) }},
	}, t.chosen())
}

// otherFacts are the sentences of all choices but the recommended one.
func (t *Tuning) otherFacts() []note {
	var all []note
	for _, c := range t.chosen() {
		if c.word == "recommended" {
			continue
		}
		head := printable(c.Policy.Algorithm)
		if c.word == "runner-up" {
			head = "runner-up"
		}
		text := c.Why
		if c.Against != "" {
			text = "Not recommended: " + lowered(c.Against)
		}
		if c.word == "runner-up" { // the others have their price in the table
			text = c.Policy.name() + ". " + strings.TrimSpace(text+" "+c.Price)
		}
		all = append(all, note{head, text})
	}
	return all
}

// lowered is a sentence behind a colon.
func lowered(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[size:]
}

// The codes of reasons for which nothing is recommended; others are of what figures are worth.
const (
	CodeInterrupted = "interrupted"
	CodeTornLog     = "torn-log"
	CodeOneClient   = "one-client"
	CodeNoOrdinary  = "no-ordinary"
	CodeTooShort    = "too-short"
	CodeNoAlgorithm = "no-algorithm"
	CodeNoLimit     = "no-limit"
	CodeManyLate    = "many-late-lines"
	CodeLimited     = "mostly-limited"
)

var decisive = []string{CodeInterrupted, CodeTornLog, CodeOneClient, CodeNoOrdinary, CodeTooShort, CodeNoAlgorithm, CodeNoLimit, CodeManyLate, CodeLimited}

// Doubts are the reasons for which a tuning is inconclusive; it has none if it is not.
func (t *Tuning) Doubts() []scenarios.Reason {
	return slices.DeleteFunc(slices.Clone(t.Reasons), func(r scenarios.Reason) bool {
		return t.Verdict == scenarios.Pass || !slices.Contains(decisive, r.Code)
	})
}

// nothingChosen says why nothing is recommended.
func (t *Tuning) nothingChosen() string {
	var codes []string
	for _, r := range t.Doubts() {
		codes = append(codes, printable(r.Code))
	}
	switch {
	case len(codes) > 0:
		return "Nothing is recommended: " + strings.Join(codes, ", ") + "."
	case t.Log.Requests == 0:
		return "Nothing is recommended: the log has no request."
	case len(t.Policies) == 0:
		return "Nothing is recommended: no policy was tried."
	}
	return "Nothing is recommended: no policy is what was asked for."
}

// Share is the share of ordinary clients that nothing is to be refused, as it was asked for.
func (a *Asked) Share() string {
	return strconv.FormatFloat(math.Round(a.Untouched*1e8)/1e6, 'f', -1, 64) + "%"
}

// askedText is what was to be found out.
func (t *Tuning) askedText() string {
	text := fmt.Sprintf("asked for: %s of ordinary clients untouched", t.Asked.Share())
	if t.Asked.MemoryBytes > 0 {
		text += ", at most " + Size(t.Asked.MemoryBytes) + " of a Redis"
	}
	return text
}
