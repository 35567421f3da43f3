package limiter

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Trouble is a kind of error that kept Redis from deciding.
type Trouble string

// The kinds of trouble. Only the first four of them count for a Circuit.
const (
	TroubleTimeout      Trouble = "timeout"       // no reply in time; the request may have been counted
	TroubleBroken       Trouble = "broken"        // the connection broke under it; the same
	TroubleDial         Trouble = "dial"          // no connection could be made
	TroubleNoConnection Trouble = "no-connection" // none came free in time
	TroubleAnswer       Trouble = "answer"        // Redis answered with an error
	TroubleCircuit      Trouble = "circuit-open"  // not sent
	TroubleBusy         Trouble = "busy"          // not sent: too many wait already
	TroubleCancelled    Trouble = "cancelled"     // the caller gave up
	TroubleOverdue      Trouble = "overdue"       // the caller's own deadline passed
)

// troubles are all of them, in the order in which they are shown.
var troubles = [...]Trouble{
	TroubleTimeout, TroubleBroken, TroubleDial, TroubleNoConnection, TroubleAnswer,
	TroubleCircuit, TroubleBusy, TroubleCancelled, TroubleOverdue,
}

// Counters count what limiters decided and what went wrong. The zero value is
// ready. They are safe for concurrent use, and must not be copied. They keep what
// they know of a limiter, a few hundred bytes a policy and circuit, for ever.
type Counters struct {
	mu       sync.Mutex // guards what follows, not the numbers in it
	tallies  []*tally
	circuits []*Circuit
	answers  map[string]int64 // errors that Redis answered with

	errors [len(troubles)]atomic.Int64 // by place in troubles
}

// sources are those that a tally tells apart.
var sources = [...]Source{SourceRedis, SourceDenyCache, SourceFailOpen, SourceFailClosed, SourceLocal}

// tally counts the decisions of one policy.
type tally struct {
	policy    string
	decided   [len(sources)][2]atomic.Int64 // by place in sources, and whether it was admitted
	undecided atomic.Int64
	forgotten atomic.Int64
}

// tally is that of a policy, the same for all limiters that enforce it.
func (c *Counters) tally(policy string) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tallies {
		if t.policy == policy {
			return t
		}
	}
	t := &tally{policy: policy}
	c.tallies = append(c.tallies, t)
	return t
}

func (t *tally) count(d Decision) {
	allowed := 0
	if d.Allowed {
		allowed = 1
	}
	t.decided[slices.Index(sources[:], d.Source)][allowed].Add(1)
}

// watch reports a circuit with the counters.
func (c *Counters) watch(circuit *Circuit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.circuits, circuit) {
		c.circuits = append(c.circuits, circuit)
	}
}

// maxAnswers bounds what a server that makes up errors can make us remember.
const maxAnswers = 32

// trouble counts an error, and by its name if it is an answer.
func (c *Counters) trouble(kind Trouble, answer string) {
	c.errors[slices.Index(troubles[:], kind)].Add(1)
	if kind != TroubleAnswer {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		c.answers = map[string]int64{}
	}
	if _, known := c.answers[answer]; !known && len(c.answers) >= maxAnswers {
		answer = otherAnswer
	}
	c.answers[answer]++
}

// Snapshot is what Counters had counted at some instant.
type Snapshot struct {
	Policies []PolicySnapshot // ordered by name
	// Errors are counted once each, also if the policy made a decision of them.
	Errors map[Trouble]int64
	// Answers are the errors of kind TroubleAnswer by the word they begin with, such as
	// OOM; of more than 32 words the rest is "other".
	Answers map[string]int64

	OpenCircuits int           // now
	Opened       int64         // how often circuits opened
	OpenFor      time.Duration // how long they were open, all together, until now
}

// PolicySnapshot is what was decided for one policy.
type PolicySnapshot struct {
	Policy   string
	Admitted map[Source]int64
	Denied   map[Source]int64
	// Undecided requests ended with an error: FailError, or a cancelled caller.
	Undecided int64
	// Forgotten identities had used some of their local budget when LocalKeys
	// others pushed them out.
	Forgotten int64
}

// Snapshot reads the counters. Numbers that change meanwhile may be of slightly
// different instants.
func (c *Counters) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Snapshot{Errors: map[Trouble]int64{}, Answers: map[string]int64{}}
	for _, t := range c.tallies {
		p := PolicySnapshot{
			Policy: t.policy, Admitted: map[Source]int64{}, Denied: map[Source]int64{},
			Undecided: t.undecided.Load(), Forgotten: t.forgotten.Load(),
		}
		for i, source := range sources {
			p.Denied[source], p.Admitted[source] = t.decided[i][0].Load(), t.decided[i][1].Load()
		}
		s.Policies = append(s.Policies, p)
	}
	slices.SortFunc(s.Policies, func(a, b PolicySnapshot) int { return cmp.Compare(a.Policy, b.Policy) })
	for i, kind := range troubles {
		s.Errors[kind] = c.errors[i].Load()
	}
	maps.Copy(s.Answers, c.answers)
	for _, circuit := range c.circuits {
		s.Opened += circuit.opened.Load()
		s.OpenFor += time.Duration(circuit.openFor.Load())
		if o := circuit.outage.Load(); o != nil {
			s.OpenCircuits++
			s.OpenFor += circuit.now().Sub(o.since)
		}
	}
	return s
}
