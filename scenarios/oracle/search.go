package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// search looks for an order of one key's requests in which the model makes the
// same decisions. A request was decided somewhere in its closed interval [sent,
// done], so it may come next only if no other that is still to come was done
// before it was sent. Requests that are alike in instant and cost get the same
// decision from the model, so only different ones are branches; of those that
// also got the same decision the one that was done first goes first, which never
// rules out an order.
type search struct {
	model limiter.Model
	tells scenarios.Tells
	ops   []operation // by sent
	// timed says that instants are the server's own, read inside the script:
	// then they are the order, up to ties.
	timed bool
	// mixed says that some cost more than 1, or that limits differ. Then a denial that
	// is repeated from a cache tells what was left, and to wait, when it was made:
	// others may have used more since.
	mixed bool

	used    []bool
	taken   int // how many are used of those that were answered
	low     int // everything below is used
	steps   int
	deepest place
}

// place is where an order ended.
type place struct {
	depth int
	state any
	op    operation
}

type outcome int

const (
	explained outcome = iota
	contradicted
	gaveUp
)

// maxSteps bounds the search for each request, on top of the one step that it
// needs in any case.
const maxSteps = 1000

func newSearch(m limiter.Model, t scenarios.Tells, ops []operation, timed bool) *search {
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.sent, b.sent) })
	mixed := slices.ContainsFunc(ops, func(o operation) bool { return o.cost != 1 || o.limit != ops[0].limit })
	return &search{model: m, tells: t, ops: ops, timed: timed, mixed: mixed, used: make([]bool, len(ops)), deepest: place{depth: -1}}
}

func (o operation) request() limiter.Request {
	return limiter.Request{At: time.UnixMicro(o.at).UTC(), Cost: o.cost}
}

// frame is one decision of the order: the state before it, the requests that may
// come next, and which of them have been tried.
type frame struct {
	state any
	next  []int
	tried int
	lost  []int // requests without a reply, of which any may have been decided now
	took  int
	low   int
	known []answer
}

// answer is what the model says to a request in the state of a frame.
type answer struct {
	to       operation
	state    any
	decision limiter.Decision
}

// run is a depth-first search with a stack of its own, since histories are long.
func (s *search) run() outcome {
	stack := []frame{s.frameAt(s.model.Init())}
	answered := 0
	for _, op := range s.ops {
		if !op.lost {
			answered++
		}
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if s.taken == answered {
			return explained
		}
		if s.steps > maxSteps+maxSteps*len(s.ops) {
			return gaveUp
		}
		state, op, ok := s.step(top, len(stack)-1)
		if !ok {
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				s.leave(stack[len(stack)-1].took)
				s.low = stack[len(stack)-1].low
			}
			continue
		}
		top.took = op
		s.take(op)
		stack = append(stack, s.frameAt(state))
	}
	return contradicted
}

func (s *search) take(op int) {
	s.used[op] = true
	if !s.ops[op].lost {
		s.taken++
	}
}

func (s *search) leave(op int) {
	s.used[op] = false
	if !s.ops[op].lost {
		s.taken--
	}
}

// frameAt lists what may come next, different requests only in the order of
// their instants.
func (s *search) frameAt(state any) frame {
	before := s.low
	for s.low < len(s.ops) && s.used[s.low] {
		s.low++
	}
	candidates := s.candidates()
	lost := slices.DeleteFunc(slices.Clone(candidates), func(i int) bool { return !s.ops[i].lost })
	candidates = slices.DeleteFunc(candidates, func(i int) bool { return s.ops[i].lost })
	slices.SortStableFunc(candidates, func(a, b int) int {
		x, y := s.ops[a], s.ops[b]
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.cost, y.cost), cmp.Compare(x.limit.Max, y.limit.Max), cmp.Compare(x.done, y.done))
	})
	if s.timed && len(candidates) > 0 {
		first := s.ops[candidates[0]].at
		end := slices.IndexFunc(candidates, func(i int) bool { return s.ops[i].at != first })
		if end >= 0 {
			candidates = candidates[:end]
		}
	}
	return frame{state: state, next: candidates, lost: lost, low: before}
}

// candidates are the unused requests that were sent before any unused one was
// done.
func (s *search) candidates() []int {
	var found []int
	earliest := time.Duration(1<<63 - 1)
	for i := s.low; i < len(s.ops) && s.ops[i].sent <= earliest; i++ {
		if !s.used[i] {
			found = append(found, i)
			earliest = min(earliest, s.ops[i].done)
		}
	}
	return found
}

// step takes the next untried request of a frame whose decision agrees with the
// model. A denial that agrees is taken first and for good: it changes no state,
// and taking it now rules out nothing that could come later.
func (s *search) step(f *frame, depth int) (any, int, bool) {
	if f.tried == 0 {
		if op, ok := s.denial(f); ok {
			f.tried, f.known, f.lost = len(f.next), nil, nil
			return f.state, op, true
		}
	}
	for f.tried < len(f.next) {
		first := s.ops[f.next[f.tried]]
		state, want := s.decide(f, first)
		found := -1
		for ; f.tried < len(f.next); f.tried++ {
			op := s.ops[f.next[f.tried]]
			if !alike(op, first) {
				break
			}
			if found < 0 && s.same(op.decision, want) {
				found = f.next[f.tried]
			}
		}
		if found >= 0 {
			return state, found, true
		}
		if depth > s.deepest.depth {
			s.deepest = place{depth, f.state, first}
		}
	}
	return s.unanswered(f)
}

// unanswered takes the next request without a reply that would have changed the
// state if it was decided now. To leave it out needs no step.
func (s *search) unanswered(f *frame) (any, int, bool) {
	for len(f.lost) > 0 {
		i := f.lost[0]
		f.lost = f.lost[1:]
		state, d := s.decide(f, s.ops[i])
		// Of those that are alike, one is as good as the other.
		f.lost = slices.DeleteFunc(f.lost, func(other int) bool { return alike(s.ops[other], s.ops[i]) })
		if d.Allowed {
			return state, i, true
		}
	}
	return nil, 0, false
}

// denial finds a request of a frame that was denied and that the model denies
// in the same words.
func (s *search) denial(f *frame) (int, bool) {
	for _, i := range f.next {
		if op := s.ops[i]; !op.decision.Allowed {
			if _, want := s.decide(f, op); s.same(op.decision, want) {
				return i, true
			}
		}
	}
	return 0, false
}

// decide asks the model once for each request and state.
func (s *search) decide(f *frame, op operation) (any, limiter.Decision) {
	for _, a := range f.known {
		if alike(a.to, op) {
			return a.state, a.decision
		}
	}
	s.steps++
	state, d := s.model.Step(op.limit, f.state, op.request())
	f.known = append(f.known, answer{op, state, d})
	return state, d
}

// alike requests get the same decision from the model.
func alike(a, b operation) bool { return a.at == b.at && a.cost == b.cost && a.limit == b.limit }

// same compares what a limiter tells of a decision with the model's.
func (s *search) same(told, model limiter.Decision) bool {
	if s.mixed && told.Source == limiter.SourceDenyCache {
		return !told.Allowed && !model.Allowed && told.Limit == model.Limit && told.RetryAfter <= model.RetryAfter
	}
	return told.Allowed == model.Allowed && told.Limit == model.Limit &&
		(!s.tells.Remaining || told.Remaining == model.Remaining) &&
		sameWait(told.RetryAfter, model.RetryAfter, s.tells.Retry) &&
		sameWait(told.ResetAfter, model.ResetAfter, s.tells.Reset)
}

// sameWait compares a told wait with the exact one, rounded up to the unit in
// which it is told. A unit of 0 is not told.
func sameWait(told, exact, unit time.Duration) bool {
	switch {
	case unit == 0:
		return true
	case exact == limiter.Never || told == limiter.Never:
		return told == exact
	}
	return told == (exact+unit-1)/unit*unit
}
