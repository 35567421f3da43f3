package report

import (
	"fmt"
	"slices"
)

// How many limits are shown around the one that was chosen, and how many of a heat map.
const (
	fewLimits  = 5
	manyLimits = 14
)

// limitsOf are the limits that were tried of a window and key, from the least on.
func (t *Tuning) limitsOf(windowUS int64, key string) []int64 {
	var all []int64
	for i := range t.Policies {
		if p := &t.Policies[i]; p.WindowUS == windowUS && p.Key == key {
			all = append(all, p.Limit)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// around are n of the limits, with the one that was chosen in their middle.
func around(limits []int64, chosen int64, n int) []int64 {
	at, _ := slices.BinarySearch(limits, chosen)
	from := max(min(at-n/2, len(limits)-n), 0)
	return limits[from:min(from+n, len(limits))]
}

// algorithms are those of a window and key, in the order of the document.
func (t *Tuning) algorithms(windowUS int64, key string) []string {
	var all []string
	for i := range t.Policies {
		if p := &t.Policies[i]; p.WindowUS == windowUS && p.Key == key && !slices.Contains(all, p.Algorithm) {
			all = append(all, p.Algorithm)
		}
	}
	return all
}

// find are the policies of a window and key, by algorithm and limit.
func (t *Tuning) find(windowUS int64, key string) map[policyID]*Policy {
	all := map[policyID]*Policy{}
	for i := range t.Policies {
		if p := &t.Policies[i]; p.WindowUS == windowUS && p.Key == key {
			all[p.id()] = p
		}
	}
	return all
}

// aroundPart compares all algorithms at limits around the recommended one.
func (t *Tuning) aroundPart() part {
	c, ok := t.center()
	if !ok || len(t.Policies) == 0 {
		return part{}
	}
	words, found := t.words(), t.find(c.WindowUS, c.Key)
	limits := around(t.limitsOf(c.WindowUS, c.Key), c.Limit, fewLimits)
	var shown []*Policy
	for _, a := range t.algorithms(c.WindowUS, c.Key) {
		own := slices.Clone(limits)
		for id := range words { // its best may be elsewhere
			if id.algorithm == a && id.windowUS == c.WindowUS && id.key == c.Key {
				own = append(own, id.limit)
			}
		}
		slices.Sort(own)
		for _, l := range slices.Compact(own) {
			if p := found[policyID{a, c.WindowUS, l, c.Key}]; p != nil {
				shown = append(shown, p)
			}
		}
	}
	p := part{id: "policies", title: "Other limits and algorithms", doc: fmt.Sprintf("Limits of %s per %s: the shares of requests refused and of ordinary clients that something is refused, and the most that one %s is admitted.", lasting(c.WindowUS), printable(c.Key), keyWord(c.Key))}
	if t.Log.WholeSeconds && slices.ContainsFunc(shown, func(p *Policy) bool { return p.Least != nil }) {
		p.doc += " Intervals are over where within their seconds requests may have come."
	}
	p.sheets = []sheet{t.policySheet(shown, words)}
	return p
}

func (t *Tuning) policySheet(shown []*Policy, words map[policyID]string) sheet {
	return sheetOf("Each algorithm", []of[*Policy]{
		{field{"algorithm", 0, true}, func(p *Policy) string { return printable(p.Algorithm) }},
		{field{"limit", 0, false}, func(p *Policy) string { return thousands(p.Limit) }},
		{field{"choice", 1, true}, func(p *Policy) string { return words[p.id()] }},
		{field{"touched", 0, false}, func(p *Policy) string { return p.shareCell(touchedOf, p.TouchedOrdinary, t.ordinary()) }},
		{field{"refused", 2, false}, func(p *Policy) string { return p.shareCell(refusedOf, p.Refused, p.Requests) }},
		{field{"heavy", 6, false}, func(p *Policy) string { return thousands(p.TouchedHeavy) }},
		{field{"peak", 3, false}, peakText},
		{field{"in 1s", 5, false}, inSecondText},
		{field{"wrong +/-", 7, false}, func(p *Policy) string {
			return thousands(p.Wrong.Admissions) + "/" + thousands(p.Wrong.Denials)
		}},
		{field{"differ", 8, false}, func(p *Policy) string { return percent(p.Differ, p.Requests) }},
		{field{"repeated", 9, false}, func(p *Policy) string { return percent(p.Repeated, p.Requests) }},
		{field{"keys", 10, false}, func(p *Policy) string { return thousands(p.Keys) }},
		{field{"memory", 4, false}, func(p *Policy) string { return Size(p.Bytes) }},
	}, shown)
}
