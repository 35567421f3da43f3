package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/limiter/edge"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// one runs one limiter under one scenario, first without the scenario's faults if
// it makes any: what is different then is theirs.
func (e *experiment) one(stop *interrupt, p *progress, s loaded, name string, run int) error {
	if err := e.use(stop, len(s.plan.Faults) > 0); err != nil {
		return err
	}
	if len(s.plan.Faults) == 0 {
		return e.try(stop, p, s, name, turn{run: run})
	}
	without := s
	without.plan = s.plan.Faultless()
	if err := e.try(stop, p, without, name, turn{run: run, control: true}); err != nil || stop.ctx.Err() != nil || e.lost != nil {
		return err
	}
	t := turn{run: run}
	if last := e.cases[len(e.cases)-1]; last.Control {
		t.reference = last.Judgement
	}
	return e.try(stop, p, s, name, t)
}

// turn is one run of one limiter.
type turn struct {
	run       int
	control   bool                 // without the faults that the scenario makes
	reference *scenarios.Judgement // of the control run; nil if there was none
}

func (e *experiment) targetOptions(s loaded, mark string) target.Options {
	return target.Options{Limit: s.plan.Limit, Clock: s.plan.Clock, Prefix: mark, Model: e.model, OnFailure: s.plan.OnFailure, Timeout: s.plan.Timeout}
}

// scripts compiles those of users once: one that does not compile is refused before anything
// is sent to others, which would leave it a turn that never comes.
func (e *experiment) scripts(ctx context.Context) error {
	known := map[string]bool{}
	for _, s := range e.scenarios {
		for _, name := range s.limiters {
			if known[name] || !strings.HasPrefix(name, "lua:") {
				continue
			}
			known[name] = true
			if _, err := target.Open(ctx, e.server, name, e.targetOptions(s, e.keyPrefix)); err != nil && ctx.Err() == nil {
				return cannotOpen(err)
			}
		}
	}
	return nil
}

// try runs one limiter, looks at what it left, judges it and cleans up.
func (e *experiment) try(stop *interrupt, p *progress, s loaded, name string, now turn) error {
	what := fmt.Sprintf("%s %s", s.Name, name)
	if now.control {
		what += " without its faults"
	}
	p.describe(what)
	mark := fmt.Sprintf("%s:%s:%d", e.keyPrefix, e.id, e.opened)
	e.opened++
	t, err := target.Open(stop.ctx, e.server, name, e.targetOptions(s, mark))
	if err != nil {
		return cannotOpen(err)
	}
	limiters, named, done, err := e.subjects(stop.ctx, t, s.plan, mark)
	if stop.ctx.Err() != nil {
		if err == nil {
			done()
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer done()
	meter, err := target.Start(stop.ctx, e.server)
	if stop.ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return targetTrouble(err)
	}
	h, err := runner.Run(stop.ctx, runner.Config{
		Limiters: limiters, Plan: s.plan, Identity: named, MaxInFlight: e.inFlight(s.plan),
		ServerClock: e.serverClock, Stopwatch: e.Stopwatch, Handled: &e.handled,
		Inject: func(ctx context.Context, fault int) (runner.Injected, error) {
			return e.inject(ctx, s.plan, fault, mark)
		},
		Waiting: func(edge time.Time, attempt int) {
			p.describe(fmt.Sprintf("%s, edge at %s, attempt %d", what, edge.Format(time.TimeOnly+" UTC"), attempt))
		},
	})
	if err != nil && stop.ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return targetTrouble(err)
	}
	defer h.Results.Close()
	if err := h.Results.Unwritten(); err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: the results of %s are held in memory, 72 bytes a request: %v; set TMPDIR to a folder with room\n", what, err)
	}
	traffic := target.Traffic{
		Plan: h.Plan, Results: h.Results, Edge: h.Edge, Name: named, Attempts: h.Attempts, Stopwatch: h.Stopwatch, Mark: mark,
		Untouched: e.keepKeys,
	}
	traces := traffic.Traces(t)
	a := assessed{target: t, turn: now, history: h}
	if !e.keepKeys {
		defer func() { e.remove(slices.Concat(traces.Keys(), a.examined.Leftovers())) }()
	}
	if stop.twice() {
		return nil
	}
	a.stuck = e.unstick(t, h)
	if h.Lost != nil && a.stuck == "" && !(t.Foreign && e.answers()) {
		e.lost = h.Lost
	}
	if e.lost == nil && a.stuck == "" {
		// A server that was replaced has forgotten what it spent.
		if h.Attempts == 1 && len(h.Plan.Faults) == 0 {
			a.cost = e.cost(meter, traces.Keys(), traces.Identities(), decided(h))
		}
		a.examined = e.examine(stop, p, what, t, traffic, traces)
		if t.Foreign && a.examined != nil && a.examined.Incomplete != "" && stop.ctx.Err() == nil {
			_ = e.free() // a script that hangs only when it is asked again
		}
		h.Interrupted = h.Interrupted || a.examined != nil && a.examined.Incomplete != "" && stop.ctx.Err() != nil
	}
	return e.judge(s, name, a)
}

// naming gives the senders of a plan their names.
type naming func(id scenarios.Identity, attempt int) string

// subjects are what the senders of each phase ask, how they are called, and what is
// to be done when all is over. It is the limiter itself, or a service behind it.
func (e *experiment) subjects(ctx context.Context, t *target.Target, p *scenarios.Plan, mark string) ([]limiter.Limiter, naming, func(), error) {
	if p.Service == "" {
		limiters, err := limitersOf(t, p)
		if err != nil {
			return nil, nil, nil, internal(err)
		}
		return limiters, invented, func() {}, nil
	}
	s, err := e.serve(ctx, p, *t.Algorithm, mark)
	if err != nil {
		return nil, nil, nil, err
	}
	s.attach(t)
	return s.limiters(), s.name, func() {
		if err := s.close(); err != nil {
			fmt.Fprintf(e.Err, "rlbench: warning: the demo API did not end well: %v\n", err)
		}
	}, nil
}

// limitersOf opens the limiter of each phase: a phase can have a limit of its own.
func limitersOf(t *target.Target, p *scenarios.Plan) ([]limiter.Limiter, error) {
	tier, err := target.Front(tierOf(p), client)
	if err != nil {
		return nil, err
	}
	byLimit := map[limiter.Limit]limiter.Limiter{}
	all := make([]limiter.Limiter, len(p.Phases))
	for i, phase := range p.Phases {
		l, ok := byLimit[phase.Limit]
		if !ok {
			origin, err := t.Limiter(phase.Limit)
			if err != nil {
				return nil, err
			}
			if l, err = tier.Limiter(origin); err != nil {
				return nil, err
			}
			byLimit[phase.Limit] = l
		}
		all[i] = l
	}
	return all, nil
}

// cannotOpen is about a target that Redis does not take, such as a script with a
// mistake: nothing was sent.
func cannotOpen(err error) error {
	var script *backend.ScriptError
	if errors.As(err, &script) {
		return usage(err, "mend the script; redis-cli -x script load < FILE says the same")
	}
	return targetTrouble(err)
}

// invented names the senders of a plan. They are invented, so they need no
// pseudonym.
func invented(id scenarios.Identity, attempt int) string {
	if id.Pseudonym == 0 {
		return fmt.Sprintf("k%d-%d", id.Key, attempt)
	}
	return fmt.Sprintf("k%d-%d-p%d", id.Key, attempt, id.Pseudonym)
}

// client is who an identity belongs to, whatever the pseudonym.
func client(identity string) string {
	name, _, _ := strings.Cut(identity, "-p")
	return name
}

// tierOf is the tier of a plan with what a run adds to it.
func tierOf(p *scenarios.Plan) *edge.Config {
	if p.EdgeTier == nil {
		return nil
	}
	c := *p.EdgeTier
	c.Seed, c.Now = p.Seed, time.Now
	return &c
}

func decided(h *runner.History) int64 {
	n := int64(0)
	for _, r := range h.Results.All() {
		if r.Outcome.Decided() {
			n++
		}
	}
	return n
}

// unstick frees a private server that a script of the target keeps busy. It
// returns what was done about it, or "" if nothing was wrong.
func (e *experiment) unstick(t *target.Target, h *runner.History) string {
	if !t.Foreign {
		return ""
	}
	for _, r := range h.Results.All() {
		if r.Outcome == scenarios.Unknown {
			return e.free()
		}
	}
	return ""
}

// free ends a script that keeps a private server busy, and says how. On a shared
// one the script that runs may be somebody else's, and is left alone.
func (e *experiment) free() string {
	if e.server.Flavour() == backend.Live {
		return ""
	}
	ctx, cancel := context.WithTimeout(e.hard, 10*time.Second)
	defer cancel()
	remedy, err := e.server.Unstick(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "the embedded server cannot end it; use --redis managed"
	case err != nil:
		e.lost = err
		return ""
	case remedy == backend.RemedyKilled:
		return "Redis was told to end it"
	case remedy == backend.RemedyReplaced:
		return "Redis was replaced by a fresh one"
	}
	return ""
}

// answers reports whether the server is there: then it is the target alone that
// fails, and the next one may do better.
func (e *experiment) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	_, err := e.server.Clock(ctx)
	return err == nil
}

// examine looks at the keys of a run, twice if it has to drain. What cannot be
// had is no reason to lose the rest.
func (e *experiment) examine(stop *interrupt, p *progress, what string, t *target.Target, traffic target.Traffic, traces target.Traces) *scenarios.Examination {
	if stop.ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(stop.ctx, time.Minute)
	defer cancel()
	found, err := target.Examine(ctx, e.server, t, traffic, traces)
	if after := traffic.Plan.Drain; err == nil && after > 0 {
		p.describe(what + ", waiting for keys to expire")
		err = target.Drain(stop.ctx, e.server, traces.Keys(), after, found)
	}
	if err != nil {
		found.Incomplete = err.Error()
	}
	if err != nil && stop.ctx.Err() == nil {
		fmt.Fprintf(e.Err, "rlbench: warning: not all of what %s left in Redis was examined: %v\n", t.Name, err)
	}
	return found
}

// assessed is a run that is over, with everything that is known about it.
type assessed struct {
	turn
	target   *target.Target // nil if it had no turn
	history  *runner.History
	stuck    string // what was done about a script that did not end
	cost     *report.Cost
	examined *scenarios.Examination
}

// judge turns a history into a case of the report.
func (e *experiment) judge(s loaded, name string, a assessed) error {
	h := a.history
	oc := &oracle.Case{
		Plan: h.Plan, Results: h.Results, Edge: h.Edge, Name: name,
		Faults: h.Faults, Control: a.reference,
		Misplaced: h.Misplaced, Interrupted: h.Interrupted, Curbed: h.Curbed, Lost: h.Lost, Stuck: a.stuck, Examined: a.examined,
	}
	if !a.control { // what is expected is expected of the trouble
		oc.Checks, oc.MaxOvershoot = append(append([]scenarios.Check{}, s.Checks...), e.checks...), e.overshoot
	}
	if a.target != nil {
		oc.Algorithm, oc.Tells, oc.Strict = a.target.Algorithm, a.target.Tells, a.target.Strict
		oc.LongestTTL = a.target.LongestTTL(s.plan.Limit)
	}
	j, err := oracle.Judge(oc)
	if err := errors.Join(h.Results.Err(), err); err != nil {
		return internal(err)
	}
	timings, err := report.Time(h.Plan, h.Results)
	if err := errors.Join(h.Results.Err(), err); err != nil {
		return internal(err)
	}
	c := report.Case{
		Description: s.Description, Plan: h.Plan.Outline(), Hash: s.hash, Limiter: name,
		Run: a.run, Runs: e.runs, Attempts: h.Attempts, Timings: timings, Judgement: j, Profile: oracle.Profile(oc), Cost: a.cost, Control: a.control,
	}
	claimed := oc.Algorithm
	if a.target == nil { // it had no turn, and claims the same
		claimed = target.Claims(name, e.model)
	}
	if claimed != nil {
		c.Algorithm = claimed.Name
	}
	e.cases = append(e.cases, c)
	e.sinks.add(&c)
	return nil
}

// local is how much of a round trip is not worth correcting for.
const local = 100 * time.Microsecond

// serverClock is the server's clock minus ours, as a request meets it that is
// sent now: half a round trip later.
func (e *experiment) serverClock(ctx context.Context) (time.Duration, error) {
	c, err := e.server.Clock(ctx)
	return c.Offset + max(c.RTT/2-local, 0), err
}

// cost closes the meter. A cost that cannot be had is absent from the report,
// which is no reason to lose the rest.
func (e *experiment) cost(m *target.Meter, keys []string, identities int, decisions int64) *report.Cost {
	ctx, cancel := context.WithTimeout(context.Background(), patience(keys))
	defer cancel()
	c, err := m.Stop(ctx, keys, identities, decisions)
	if err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: the report has no memory and command figures: %v\n", err)
		return nil
	}
	return &report.Cost{
		Keys: c.Keys, BytesPerIdentity: c.BytesPerIdentity,
		CommandsPerDecision: c.CommandsPerDecision, ScriptUSPerDecision: c.ScriptMicros,
	}
}
