package report

import (
	"fmt"
	"slices"
)

// heat are the shares of clients and of requests that limits and windows cost, of one
// algorithm and key.
type heat struct {
	algorithm, key string
	limits         []int64
	windowsUS      []int64
	chosen         *policyID
	found          map[policyID]*Policy
	ordinary       int64
}

// heatKind is what a heat map is of.
type heatKind struct {
	id, caption string
	share       func(*heat, *Policy) (part, whole int64)
}

var heatKinds = []heatKind{
	{"touched", "Ordinary clients touched", func(h *heat, p *Policy) (int64, int64) { return p.TouchedOrdinary, h.ordinary }},
	{"refused", "Requests refused", func(_ *heat, p *Policy) (int64, int64) { return p.Refused, p.Requests }},
}

// heatLevels are the shares, in percent, up to which a cell is of each colour; what is
// above is of one more.
var heatLevels = []float64{0, 0.1, 1, 5, 20, 50}

func (t *Tuning) sensitivityPart() part {
	c, ok := t.center()
	if !ok || len(t.Policies) == 0 {
		return part{}
	}
	h := &heat{algorithm: c.Algorithm, key: c.Key, found: map[policyID]*Policy{}, ordinary: t.ordinary()}
	for i := range t.Policies {
		if p := &t.Policies[i]; p.Algorithm == c.Algorithm && p.Key == c.Key {
			h.found[p.id()] = p
			h.limits, h.windowsUS = append(h.limits, p.Limit), append(h.windowsUS, p.WindowUS)
		}
	}
	slices.Sort(h.limits)
	slices.Sort(h.windowsUS)
	h.limits, h.windowsUS = slices.Compact(h.limits), slices.Compact(h.windowsUS)
	if t.Recommended != nil {
		id := t.Recommended.Policy.id()
		h.chosen = &id
	}
	p := part{id: "sensitivity", title: "Sensitivity", heat: h}
	p.doc = fmt.Sprintf("What another limit or window costs with %s per %s: the share of ordinary clients that something is refused.", printable(c.Algorithm), printable(c.Key))
	few := around(h.limits, c.Limit, manyLimits)
	p.sheets = []sheet{h.sheet(heatKinds[0], few, c.WindowUS)}
	if h.chosen != nil {
		p.doc += " The recommended policy is in brackets."
	}
	if more := len(h.limits) - len(few); more > 0 {
		p.facts = []note{{"not shown", thousandsOf(int64(more), "more limit") + "; a page and CSV have them"}}
	}
	return p
}

// text is a cell of a heat map.
func (h *heat) text(k heatKind, limit, windowUS int64) string {
	p := h.found[policyID{h.algorithm, windowUS, limit, h.key}]
	if p == nil {
		return "-"
	}
	return percent(k.share(h, p))
}

// level is its colour, from 0 on; -1 if there is no such policy.
func (h *heat) level(k heatKind, limit, windowUS int64) int {
	p := h.found[policyID{h.algorithm, windowUS, limit, h.key}]
	if p == nil {
		return -1
	}
	part, whole := k.share(h, p)
	if whole <= 0 {
		return -1
	}
	v := float64(part) / float64(whole) * 100
	return len(heatLevels) - len(slices.DeleteFunc(slices.Clone(heatLevels), func(l float64) bool { return v > l }))
}

func (h *heat) isChosen(limit, windowUS int64) bool {
	return h.chosen != nil && *h.chosen == policyID{h.algorithm, windowUS, limit, h.key}
}

// sheet is a heat map without colours. Windows far from the chosen one go first where
// there is no room.
func (h *heat) sheet(k heatKind, limits []int64, windowUS int64) sheet {
	columns := []of[int64]{{field{"limit", 0, false}, thousands}}
	middle, _ := slices.BinarySearch(h.windowsUS, windowUS)
	for i, w := range h.windowsUS {
		columns = append(columns, of[int64]{field{lasting(w), max(i-middle, middle-i), false}, func(limit int64) string {
			if h.isChosen(limit, w) {
				return "[" + h.text(k, limit, w) + "]"
			}
			return h.text(k, limit, w)
		}})
	}
	return sheetOf(k.caption+", by limit and window", columns, limits)
}
