package tuning

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// mostOver is how far the peak of a policy may exceed its limit, on this log, for it to be
// recommended: a tenth.
const mostOver = 1.1

// choose sets the recommendation, the runner-up, which decides otherwise, and the best of
// each other algorithm.
//
// The limit of each is the least that leaves the wanted share of ordinary clients untouched.
// The window and the key are those that refuse most of what heavy clients ask for, the first
// ones unless others do by a twentieth; windows of more than half the log are none. The
// algorithm is the one that can let least through in a window, by its own rules, of those that
// keep to their limit and fit into memory: of two that can let the same, the one that did let
// less, and then the smaller one. If there is none, nothing is recommended.
func choose(t *report.Tuning, ordinary int64) {
	best := map[string][]report.Policy{} // of each algorithm, one a window and key
	for _, group := range curves(t.Policies) {
		if tooLong(t, group[0].WindowUS) {
			continue
		}
		if p := smallest(group, ordinary, t.Asked.Untouched); p != nil {
			best[p.Algorithm] = append(best[p.Algorithm], *p)
		}
	}
	window, key, ok := widest(t, best, true)
	if !ok { // then all that is left to say is why
		window, key, ok = widest(t, best, false)
	}
	if !ok {
		return
	}
	var all []report.Policy
	for _, name := range t.Asked.Algorithms {
		for _, p := range best[name] {
			if p.WindowUS == window && p.Key == key {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b report.Policy) int {
		return cmp.Or(
			cmp.Compare(unfit(a, t.Asked.MemoryBytes), unfit(b, t.Asked.MemoryBytes)),
			cmp.Compare(worst(a), worst(b)),
			cmp.Compare(peakOf(a), peakOf(b)),
			cmp.Compare(a.Bytes, b.Bytes),
		)
	})
	for _, p := range all {
		c := report.Choice{Policy: p, Price: sentence(price(p))}
		fits := unfit(p, t.Asked.MemoryBytes) == 0
		if fits {
			c.Why = sentence(why(t, p, all))
		} else {
			c.Against = sentence(against(t, p))
		}
		switch {
		case t.Recommended == nil && fits:
			t.Recommended = &c
		case t.Recommended != nil && t.RunnerUp == nil && family(p) != family(t.Recommended.Policy):
			t.RunnerUp = &c
		default:
			t.Rest = append(t.Rest, c)
		}
	}
}

// tooLong windows are more than half of the log, without what is missing in it.
func tooLong(t *report.Tuning, windowUS int64) bool { return spanOf(&t.Log) < 2*micros(windowUS) }

// spanOf is how long a log is, without a gap that is most of it.
func spanOf(l *report.TunedLog) time.Duration {
	span := l.Until.Sub(l.From)
	if mostlyGap(l) {
		span -= micros(l.GapUS)
	}
	return span
}

// mostlyGap reports whether most of the time of a log has no request: it is of two times, and what
// is between them tells nothing.
func mostlyGap(l *report.TunedLog) bool { return 2*micros(l.GapUS) > l.Until.Sub(l.From) }

// worst is the most that a policy can let through in a window, whatever comes.
func worst(p report.Policy) int64 {
	a, _ := limiter.Named(p.Algorithm)
	return a.Worst(limiter.Limit{Max: p.Limit, Window: micros(p.WindowUS)})
}

// family are the algorithms that decide alike: they are no choice between policies.
func family(p report.Policy) string {
	a, _ := limiter.Named(p.Algorithm)
	return a.Family()
}

// curves are the policies of one algorithm, window and key, by limit.
func curves(all []report.Policy) (groups [][]report.Policy) {
	for _, p := range all {
		n := len(groups)
		if n == 0 || !alike(groups[n-1][0], p) {
			groups = append(groups, nil)
			n++
		}
		groups[n-1] = append(groups[n-1], p)
	}
	return groups
}

func alike(a, b report.Policy) bool {
	return a.Algorithm == b.Algorithm && a.WindowUS == b.WindowUS && a.Key == b.Key
}

// smallest is the policy with the least limit that leaves so many clients untouched, wherever
// within a second requests came; nil if none does.
func smallest(byLimit []report.Policy, ordinary int64, untouched float64) *report.Policy {
	for i := len(byLimit) - 1; i >= 0; i-- {
		touched := byLimit[i].TouchedOrdinary
		if m := byLimit[i].Most; m != nil {
			touched = max(touched, m.TouchedOrdinary)
		}
		if float64(touched) > (1-untouched)*float64(ordinary)+1e-9 {
			if i == len(byLimit)-1 {
				return nil
			}
			return &byLimit[i+1]
		}
	}
	return &byLimit[0]
}

// widest is the window and the key of which the policies refuse most of what heavy clients
// ask for: more than the first ones by a twentieth of it, or it is those. Policies that are not
// fit count only if all do.
func widest(t *report.Tuning, best map[string][]report.Policy, fit bool) (window int64, key string, ok bool) {
	clearly := t.Heavy.Requests / 20
	most := int64(0)
	for _, k := range t.Asked.Keys {
		for _, w := range t.Asked.WindowsUS {
			refused, there := int64(0), false
			for _, all := range best {
				for _, p := range all {
					if p.WindowUS == w && p.Key == k && (!fit || unfit(p, t.Asked.MemoryBytes) == 0) {
						refused, there = max(refused, p.Refused-p.RefusedOrdinary), true
					}
				}
			}
			if there && (!ok || refused > most+clearly) {
				window, key, ok, most = w, k, true, refused
			}
		}
	}
	return window, key, ok
}

// unfit is why a policy should not be chosen: 0 is no reason, more is a better one.
func unfit(p report.Policy, memory int64) int {
	reason := 0
	if p.Algorithm == limiter.Fixed.Name {
		reason += 4 // whoever waits for the edge gets twice, whether or not somebody did
	}
	if over(p) > mostOver {
		reason += 2
	}
	if p.Bytes > memory {
		reason++
	}
	return reason
}

// peakOf is the highest peak, wherever within a second requests came.
func peakOf(p report.Policy) int64 {
	if p.Most != nil {
		return max(p.PeakInWindow, p.Most.PeakInWindow)
	}
	return p.PeakInWindow
}

// why says in one sentence what speaks for a policy that fits.
func why(t *report.Tuning, p report.Policy, all []report.Policy) string {
	if grows(p.Algorithm) {
		return fmt.Sprintf("it is exact: no window held more than the limit, and %s is less than the %s that it may take", taken(p), report.Size(t.Asked.MemoryBytes))
	}
	text := "it takes " + taken(p)
	exact := int64(0) // what the smallest exact one takes
	for _, o := range all {
		if grows(o.Algorithm) && (exact == 0 || o.Bytes < exact) {
			exact = o.Bytes
		}
	}
	if times := float64(exact) / float64(max(p.Bytes, 1)); times >= 1.5 {
		text += fmt.Sprintf(", an exact one %s times as much", strconv.FormatFloat(times, 'f', digitsOf(times), 64))
	}
	return text + fmt.Sprintf(", and let at most %.2f times the limit through in a window", over(p))
}

// digitsOf a factor are one decimal where it is small.
func digitsOf(factor float64) int {
	if factor < 10 {
		return 1
	}
	return 0
}

// against says in one sentence why a policy is not recommended.
func against(t *report.Tuning, p report.Policy) string {
	switch {
	case p.Algorithm == limiter.Fixed.Name:
		return fmt.Sprintf("whoever waits for the edge of a window gets twice the limit: here one client got %d in a window, and %d can", peakOf(p), 2*p.Limit)
	case p.Bytes > t.Asked.MemoryBytes:
		return fmt.Sprintf("it would take %s, more than the %s that it may", taken(p), report.Size(t.Asked.MemoryBytes))
	}
	return fmt.Sprintf("it let %d through in a window, %.2f times the limit", peakOf(p), over(p))
}

// taken is the memory of a policy in words.
func taken(p report.Policy) string {
	return report.Size(p.Bytes) + " for " + scenarios.Counted(p.Keys, "key")
}

// over is how many times the limit was let through in a window.
func over(p report.Policy) float64 { return float64(peakOf(p)) / float64(p.Limit) }

// price is what a policy costs: in bursts, mistakes, memory and work.
func price(p report.Policy) string {
	parts := []string{
		fmt.Sprintf("at most %d in any window of this log (%.2f× limit) and %d in a second", peakOf(p), over(p), exposureOf(p)),
	}
	if can := worst(p); can > peakOf(p) {
		parts[0] += fmt.Sprintf(", and up to %d in a window by its rules", can)
	}
	if n := p.Wrong.Admissions + p.Wrong.Denials; n > 0 && p.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%s of decisions wrong", report.Percent(float64(n)/float64(p.Requests))))
	}
	parts = append(parts, taken(p))
	if p.ServerShare > 0 {
		parts = append(parts, fmt.Sprintf("%s of a Redis processor in the busiest second", report.Percent(p.ServerShare)))
	}
	return strings.Join(parts, "; ")
}

// exposureOf is the same in a second.
func exposureOf(p report.Policy) int64 {
	if p.Most != nil {
		return max(p.PeakInSecond, p.Most.PeakInSecond)
	}
	return p.PeakInSecond
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
