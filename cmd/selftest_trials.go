package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// trial is one limiter under one scenario.
type trial struct {
	scenario loaded
	limiter  string
	specimen *faulty.Specimen // nil for a sound limiter
}

// result is a trial that is over.
type result struct {
	scenario, limiter string
	seed              uint64
	specimen          *faulty.Specimen
	verdict           scenarios.Verdict
	findings          []scenarios.Finding // that changed the verdict
}

// round are the trials of one seed: with the first one the specimens, and then
// the sound limiters. Plans are made round by round: a thousand of them do not
// fit into memory.
func (s *selftest) round(seed uint64) ([]trial, error) {
	var trials []trial
	if seed == 1 && s.part != "sound" {
		for i := range faulty.Specimens {
			t, err := trialOf(&faulty.Specimens[i])
			if err != nil {
				return nil, err
			}
			trials = append(trials, t)
		}
	}
	if s.part == "specimens" {
		return trials, nil
	}
	sound, err := s.sound(seed)
	return append(trials, sound...), err
}

func trialOf(specimen *faulty.Specimen) (trial, error) {
	one, err := builtin(specimen.Scenario, 1, func(sc *scenarios.Scenario) {
		if specimen.Limit != (limiter.Limit{}) {
			sc.Limit = specimen.Limit
		}
	})
	if err != nil {
		return trial{}, fmt.Errorf("specimen %s: %w", specimen.Name, err)
	}
	return trial{one, "faulty:" + specimen.Name, specimen}, nil
}

// sound are the bundled limiters under every scenario, after the first seed only
// where time is virtual and nothing breaks: the others differ by more than their
// seed anyway.
func (s *selftest) sound(seed uint64) ([]trial, error) {
	var trials []trial
	for _, b := range scenarios.Scripted() {
		one, err := builtin(b.Name, seed, func(sc *scenarios.Scenario) {
			if s.count > 0 && sc.Clock == scenarios.Virtual {
				sc.Limit.Max = s.count
			}
		})
		if err != nil {
			return nil, err
		}
		if seed > 1 && !exact(one.plan) || dependsOnMachine(one.plan) {
			continue
		}
		for _, name := range limiter.Names() {
			trials = append(trials, trial{one, name, nil})
		}
	}
	return trials, nil
}

// dependsOnMachine reports whether a plan shows what this machine can do: the work
// behind a limiter, or requests by the thousand while Redis is broken.
func dependsOnMachine(p *scenarios.Plan) bool {
	return p.Service != "" || p.Overload > 0 || p.Clock != scenarios.Virtual && len(p.Faults) > 0
}

// exact reports whether a plan goes the same way each time.
func exact(p *scenarios.Plan) bool { return p.Clock == scenarios.Virtual && len(p.Faults) == 0 }

// builtin reads and plans an embedded scenario.
func builtin(name string, seed uint64, change func(*scenarios.Scenario)) (loaded, error) {
	b, err := scenarios.BuiltinNamed(name)
	if err != nil {
		return loaded{}, err
	}
	sc, err := b.Read(scenarios.BuiltinDefaults())
	if err != nil {
		return loaded{}, err
	}
	sc.Seed = seed
	change(sc)
	plan, err := scenarios.NewPlan(sc)
	if err != nil {
		return loaded{}, err
	}
	return loaded{Scenario: sc, plan: plan, hash: plan.Hash()}, nil
}

// all runs the trials one after the other, seed by seed.
func (s *selftest) all(stop *interrupt) ([]result, error) {
	e := s.experiment
	e.id = invocation()
	if err := e.server.Warm(stop.ctx, e.maxInFlight); err != nil && stop.ctx.Err() == nil {
		return nil, targetTrouble(err)
	}
	p := e.startProgress(s.requests, &e.handled)
	defer p.stop()
	var results []result
	for seed := uint64(1); seed <= uint64(s.seeds); seed++ {
		trials, err := s.round(seed)
		if err != nil {
			return results, internal(err)
		}
		for _, t := range trials {
			if stop.ctx.Err() != nil || e.lost != nil {
				return results, nil
			}
			if e.unsuited(t.scenario) != nil {
				continue // this Redis cannot have such faults
			}
			e.cases = nil
			if err := e.one(stop, p, t.scenario, t.limiter, 1); err != nil {
				return results, err
			}
			// What was cut short proves nothing.
			if len(e.cases) > 0 && stop.ctx.Err() == nil && e.lost == nil {
				results = append(results, resultOf(t, e.cases[len(e.cases)-1]))
			}
		}
	}
	s.complete = true
	return results, nil
}

func resultOf(t trial, c report.Case) result {
	r := result{
		scenario: t.scenario.Name, limiter: t.limiter, seed: t.scenario.Seed, specimen: t.specimen, verdict: c.Judgement.Verdict,
	}
	for _, f := range c.Judgement.Findings {
		if f.Verdict != scenarios.Pass && !f.Warn {
			r.findings = append(r.findings, f)
		}
	}
	return r
}

// caught says whether the check that is named for a specimen found its bug, and
// no other where it must be alone.
func (r result) caught() bool {
	named := false
	for _, f := range r.findings {
		check := checkOf(f)
		named = named || check == r.specimen.Check
		if r.specimen.Only && check != r.specimen.Check {
			return false
		}
	}
	return named
}

// checkOf is the name of the check that a finding is of: written checks are
// known by their text.
func checkOf(f scenarios.Finding) string {
	if slices.ContainsFunc(oracle.Listed(), func(row [2]string) bool { return row[0] == f.Check }) {
		return f.Check
	}
	return "checks"
}

// by are the checks that found something, once each.
func (r result) by() string {
	var names []string
	for _, f := range r.findings {
		if name := checkOf(f); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// evidence is the message of the first finding of a check, or of any.
func (r result) evidence(check string) string {
	for _, f := range r.findings {
		if checkOf(f) == check {
			return f.Message
		}
	}
	if len(r.findings) > 0 {
		return r.findings[0].Message
	}
	return ""
}
