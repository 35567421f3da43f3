package scenarios

import (
	"errors"
	"fmt"
	"strings"
)

// served reports what a service cannot do, whatever the limit: it decides by the
// server's clock and not for whoever tells it a time, and no tier is in front of it.
func (s *Scenario) served() error {
	if s.Service == "" {
		return nil
	}
	var errs []error
	if s.Clock != Server {
		errs = append(errs, fmt.Errorf("service %s: it decides by the server's clock; say clock: server", s.Service))
	}
	if s.EdgeTier != nil {
		errs = append(errs, fmt.Errorf("service %s: it has no edge_tier in front", s.Service))
	}
	return errors.Join(errs...)
}

// served reports phases that a service would mistake for others. It knows a budget
// by its path and who sends by client and pseudonym, and each request costs 1.
func (p *Plan) served() error {
	if p.Service == "" {
		return nil
	}
	var errs []error
	budgets, askers := map[string]PlannedPhase{}, map[int32]PlannedPhase{}
	for _, phase := range p.Phases {
		path := phase.endpoint()
		if other, ok := budgets[path]; ok && other.Limit != phase.Limit {
			errs = append(errs, fmt.Errorf("phases %s and %s: %s has one limit", other.Name, phase.Name, path))
		}
		if other, ok := askers[phase.Pseudonym]; ok && other.endpoint() != path {
			errs = append(errs, fmt.Errorf("phases %s and %s: they ask for two paths as one client; give each a pseudonym", other.Name, phase.Name))
		}
		if phase.Also != nil {
			errs = append(errs, fmt.Errorf("phase %s: a service is told one pseudonym and takes no \"also\"", phase.Name))
		}
		budgets[path], askers[phase.Pseudonym] = phase, phase
	}
	for _, a := range p.Arrivals {
		if a.Cost != 1 {
			return errors.Join(append(errs, fmt.Errorf("phase %s: each request to a service costs 1", p.Phases[a.Phase].Name))...)
		}
	}
	return errors.Join(errs...)
}

// endpoint is the path without its query.
func (p PlannedPhase) endpoint() string {
	path, _, _ := strings.Cut(p.Path, "?")
	return path
}
