package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Fault is trouble that a scenario makes on purpose.
type Fault struct {
	// Kind is the name of a row of FaultKinds.
	Kind string
	// Phase is the phase during which the fault is in force; "" if At says when.
	Phase string
	// At is the instant from which it is in force; For is how long, and absent means
	// until the end of the phase.
	At, For Expr
	// Delay and Jitter are how long a reply is held back: Delay and a random time
	// below Jitter.
	Delay, Jitter Expr
	// Every is which operations are hit: each n-th; absent means all. Hits is how
	// many are hit at most; absent means no bound.
	Every, Hits Expr
}

// Loss is what a fault does to the state of a limiter.
type Loss int

// The losses.
const (
	LosesNothing Loss = iota
	// LosesAll forgets everything.
	LosesAll
	// LosesTail forgets what was written while the fault was in force.
	LosesTail
)

// FaultKind is one row of FaultKinds.
type FaultKind struct {
	Name, Doc string
	// Lasts says that it is in force for a time, and not done in an instant.
	Lasts bool
	Loss  Loss
	// Takes are the fields, besides at and for, that a fault of this kind may have,
	// and Needs those that it has to have.
	Takes, Needs []string
	// Silences says that Redis does not decide meanwhile, or not as it should, so
	// that it has to come back.
	Silences bool
	// Connection says that single operations of a connection are hit; the others
	// hit the server.
	Connection bool
}

// FaultKinds is the table of all faults, in the order in which lists show them.
// How they are made is known to package backend, by the same names.
var FaultKinds = []FaultKind{
	{Name: "latency", Doc: "replies are held back", Lasts: true, Connection: true, Takes: []string{"jitter", "every", "hits"}, Needs: []string{"delay"}},
	{Name: "reset", Silences: true, Doc: "the connection is reset before the command is sent", Lasts: true, Connection: true, Takes: []string{"every", "hits"}},
	{Name: "lost-reply", Silences: true, Doc: "the command runs, and its reply is lost with the connection", Lasts: true, Connection: true, Takes: []string{"every", "hits"}},
	{Name: "partial", Silences: true, Doc: "the connection breaks when half of the command is sent, and nothing runs", Lasts: true, Connection: true, Takes: []string{"every", "hits"}},
	{Name: "loading", Silences: true, Doc: "commands are answered as by a server that is loading its data", Lasts: true, Connection: true, Takes: []string{"every", "hits"}},
	{Name: "script-flush", Doc: "the server forgets all scripts"},
	{Name: "restart", Silences: true, Doc: "the server is killed, and an empty one takes its place", Loss: LosesAll},
	{Name: "outage", Silences: true, Doc: "the server is killed, and nobody is there until an empty one takes its place", Lasts: true, Loss: LosesAll},
	{Name: "stall", Silences: true, Doc: "the server stands still, and goes on where it was", Lasts: true},
	{Name: "pause", Silences: true, Doc: "the server makes all clients wait (CLIENT PAUSE)", Lasts: true},
	{Name: "readonly", Silences: true, Doc: "the server is a read-only replica", Lasts: true},
	{Name: "oom", Silences: true, Doc: "the server has no memory left and evicts nothing", Lasts: true},
	{Name: "eviction", Doc: "the server evicts the limiter's keys to make room for others", Loss: LosesAll},
	{Name: "acl", Silences: true, Doc: "the user may not run scripts", Lasts: true},
	{Name: "password", Silences: true, Doc: "the password is wrong, and all clients have to connect anew", Lasts: true},
	{Name: "failover", Silences: true, Doc: "a replica that has seen nothing since the fault began takes the server's place at its end", Lasts: true, Loss: LosesTail},
}

// FaultKindNamed finds a kind by its name.
func FaultKindNamed(name string) (FaultKind, error) {
	for _, k := range FaultKinds {
		if k.Name == name {
			return k, nil
		}
	}
	return FaultKind{}, UnknownName("kind", name, faultKindNames())
}

func faultKindNames() []string {
	names := make([]string, len(FaultKinds))
	for i, k := range FaultKinds {
		names[i] = k.Name
	}
	return names
}

// PlannedFault is a fault in numbers.
type PlannedFault struct {
	Kind          string
	At, End       time.Duration // offsets from the edge; equal if it is done in an instant
	Delay, Jitter time.Duration
	Every, Hits   int64 // 0: all, no bound
}

// Of is the kind's row; the zero row if there is none.
func (f PlannedFault) Of() FaultKind {
	k, _ := FaultKindNamed(f.Kind)
	return k
}

// FaultResult is what became of a planned fault, on the stopwatch of the results.
type FaultResult struct {
	// Made says that the fault's time came, and Failed that it could not be put in
	// force all the same: then nothing was lost.
	Made, Failed bool
	// Begin is when it began to be put in force, and Force when it was; Lift is when
	// it began to be lifted, and End when all was well again.
	Begin, Force, Lift, End time.Duration
	// Hits is how many operations it hit, if the fault can tell; else -1.
	Hits int64
	// Err is why it could not be put in force, or not be lifted.
	Err error
}

// misfits are the fields that a fault must not or has to have.
func (k FaultKind) misfits(f Fault) []misfit {
	given := map[string]Expr{"delay": f.Delay, "jitter": f.Jitter, "every": f.Every, "hits": f.Hits}
	var wrong []misfit
	for _, field := range []string{"delay", "jitter", "every", "hits"} {
		switch needed := slices.Contains(k.Needs, field); {
		case needed && !given[field].Present():
			wrong = append(wrong, misfit{field, fmt.Errorf("it needs %q", field)})
		case !needed && given[field].Present() && !slices.Contains(k.Takes, field):
			wrong = append(wrong, misfit{field, fmt.Errorf("it takes no %q", field)})
		}
	}
	switch {
	case !k.Lasts && f.For.Present():
		wrong = append(wrong, misfit{"for", errors.New("it is done in an instant and takes no \"for\"")})
	case k.Lasts && f.Phase == "" && !f.For.Present():
		wrong = append(wrong, misfit{"for", errors.New("it lasts: say \"for\" how long, or name a phase in \"at\"")})
	}
	return wrong
}

// resolve evaluates the expressions of a fault. Phases are those of the plan.
func (f Fault) resolve(l limiter.Limit, phases []PlannedPhase) (PlannedFault, []misfit) {
	k, err := FaultKindNamed(f.Kind)
	if err != nil {
		return PlannedFault{}, []misfit{{"kind", err}}
	}
	wrong := k.misfits(f)
	r := &resolution{limit: l}
	p := PlannedFault{Kind: f.Kind}
	p.Delay, p.Jitter = r.span("delay", f.Delay, time.Microsecond, 0), r.span("jitter", f.Jitter, 0, 0)
	p.Every, p.Hits = r.count("every", f.Every, 1, MaxArrivals, 0), r.count("hits", f.Hits, 1, MaxArrivals, 0)
	p.At = r.span("at", f.At, -maxSpan, 0)
	p.End = p.At
	if at := slices.IndexFunc(phases, func(q PlannedPhase) bool { return q.Name == f.Phase }); f.Phase != "" && at >= 0 {
		p.At, p.End = phases[at].Start, phases[at].End
	} else if f.Phase != "" {
		r.note("at", fmt.Errorf("no phase is called %q", f.Phase))
	}
	if f.For.Present() {
		p.End = p.At + r.span("for", f.For, time.Microsecond, 0)
	}
	if !k.Lasts {
		p.End = p.At
	} else if len(wrong)+len(r.wrong) == 0 && p.End <= p.At {
		r.note("at", errors.New("the phase is an instant: say how long the fault lasts with \"for\""))
	}
	return p, append(wrong, r.wrong...)
}

// FaultEvent is the beginning or the end of a planned fault.
type FaultEvent struct {
	At    time.Duration // offset from the edge
	Fault int           // index into Plan.Faults
	Ends  bool
}

// FaultEvents are the beginnings and ends of all faults, in the order in which they
// have to be done.
func (p *Plan) FaultEvents() []FaultEvent {
	var events []FaultEvent
	for i, f := range p.Faults {
		events = append(events, FaultEvent{f.At, i, false}, FaultEvent{f.End, i, true})
	}
	// What ends at an instant is over for who is sent at it, and before another
	// begins; but a fault of no length has to begin before it ends.
	rank := func(e FaultEvent) int {
		switch f := p.Faults[e.Fault]; {
		case f.At == f.End:
			return 1
		case e.Ends:
			return 0
		}
		return 2
	}
	slices.SortStableFunc(events, func(a, b FaultEvent) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(rank(a), rank(b)))
	})
	return events
}

// Faultless is the same timetable without its faults: what a control run sends.
func (p *Plan) Faultless() *Plan {
	without := *p
	without.Faults = nil
	return &without
}

// Aftermath is how long after the end of a fault its consequences may last in real
// time: connections are opened again, a circuit closes.
const Aftermath = time.Second

// Touches reports whether a request was in flight while the fault was made, in
// force or lifted, or within some time after it.
func (f FaultResult) Touches(r Result, after time.Duration) bool {
	return f.Made && r.Done >= f.Begin && r.Sent <= f.End+after && r.Outcome != Missed
}
