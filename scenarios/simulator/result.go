package simulator

import (
	"math/bits"
	"time"
)

// Result is what a Simulation found.
type Result struct {
	Requests    int64
	First, Last int64 // instants of requests, µs since 1970
	Classes     int
	Groups      int
	Policies    []Policies
}

// Policies are those of one algorithm, window and key, by limit.
type Policies struct {
	Algorithm string
	Window    time.Duration
	Key       Key
	// Keys is the most keys that Redis held at once: of which there was a request within
	// the time that the algorithm's keys live, which is one window, or two for a
	// counter. A request that was refused counts, though it does not prolong a life.
	Keys     int64
	Holdings Holdings
	Limits   []Policy // as in Grid.Limits
}

// Holdings is how many requests of one window keys have at their peaks, if nothing is
// refused. A log with a limit holds that many entries of a key at its peak, or the limit
// if that is less. It is the same for all algorithms.
type Holdings struct {
	// Most[i] are the keys whose peak was above 2^(i-1) and at most 2^i. A key that
	// was not used for two windows, or for a second if that is more, is another one when
	// it comes back.
	Most [33]int64
	// Large is the most keys that had more than 128 at once by their last request, which
	// is less than a window ago: what a log with a high limit keeps in the large encoding
	// of a sorted set. With a limit up to 128 it is none.
	Large int64
}

func (h *Holdings) add(peak uint32) { h.Most[bits.Len32(peak-1)]++ }

// Policy is what one limit did.
type Policy struct {
	Limit int64
	Cells []Counts // of class × group: Cells[class*Result.Groups+group]
	// Peak is the most requests admitted in any trailing window (t−W, t] of any key,
	// Exposure in any second.
	Peak, Exposure Peak
	// RefusedKeys were refused something.
	RefusedKeys int64
	// RefusedClients had a request of their own refused, by group.
	RefusedClients []int64
}

// Peak is the most requests of a key in a span, and the request that made it so many: the
// first one that did. Without an admission it is zero.
type Peak struct {
	Admitted int64
	By       Event

	seen int64 // requests of all keys before it
}

// raise makes it a count if that is more.
func (p *Peak) raise(count int32, e *Event, seen int64) {
	if int64(count) > p.Admitted {
		*p = Peak{int64(count), *e, seen}
	}
}

// over is the higher of two, or the earlier if they are as high.
func (p Peak) over(q Peak) Peak {
	if q.Admitted > p.Admitted || q.Admitted == p.Admitted && q.seen < p.seen {
		return q
	}
	return p
}

// Counts count decisions.
type Counts struct {
	Requests, Admitted int64
	// WrongAdmissions and WrongDenials are decisions that an exact trailing window over
	// what this limiter itself admitted to the key would not have made.
	WrongAdmissions, WrongDenials int64
	// Differ are decisions that a log with the same limit, window and key makes otherwise.
	Differ int64
	// Repeated are denials that follow a denial of the same key, with no admission in
	// between.
	Repeated int64
}

// Plus is the sum.
func (c Counts) Plus(d Counts) Counts {
	return Counts{
		c.Requests + d.Requests, c.Admitted + d.Admitted, c.WrongAdmissions + d.WrongAdmissions,
		c.WrongDenials + d.WrongDenials, c.Differ + d.Differ, c.Repeated + d.Repeated,
	}
}

// Denied is how many were refused.
func (c Counts) Denied() int64 { return c.Requests - c.Admitted }

// Total is the sum over all classes and groups.
func (p Policy) Total() (sum Counts) {
	for _, c := range p.Cells {
		sum = sum.Plus(c)
	}
	return sum
}

// policies are the results of a bank.
func (b *bank) policies(o Options, requests []int64) []Policy {
	limits := b.rows.ladder.limits
	keys, clients := b.touched.keysBy(len(limits)), b.touched.clientsBy(o, len(limits))
	all := make([]Policy, len(limits))
	for i, limit := range limits {
		p := Policy{Limit: limit, RefusedKeys: keys[i], Peak: b.peak(inWindow, i), Exposure: b.peak(inSecond, i)}
		for c := range b.cells {
			p.Cells = append(p.Cells, b.cells[c].of(i, requests[c]))
		}
		for group := range clients {
			p.RefusedClients = append(p.RefusedClients, clients[group][i])
		}
		all[i] = p
	}
	return all
}

func (b *bank) peak(span, limit int) Peak {
	most := b.rows.peaks[span][limit]
	for _, whole := range b.peaks[span][:limit+1] {
		most = most.over(whole)
	}
	return most
}

func (c *cellCounts) of(limit int, requests int64) Counts {
	admitted := c.part.count(limit)
	for _, whole := range c.whole[:limit+1] {
		admitted += whole
	}
	return Counts{
		Requests: requests, Admitted: admitted,
		WrongAdmissions: c.wrongAdmissions.count(limit), WrongDenials: c.wrongDenials.count(limit),
		Differ: c.differ.count(limit), Repeated: c.repeated.count(limit),
	}
}
