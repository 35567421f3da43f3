package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Decider decides a request that several budgets have to admit: all of them are
// charged, or none. Decisions are in the order of the charges. limiter.Set is
// one. It must be safe for concurrent use.
type Decider interface {
	Allow(ctx context.Context, j limiter.Joint) ([]limiter.Decision, error)
}

// Config says what a Middleware enforces. What has no default is refused by New
// when it is missing.
type Config struct {
	// Decider decides. Required.
	Decider Decider
	// Policies are those of the Decider. Fields and counters are made from
	// their names and limits. Required.
	Policies []limiter.Policy

	// Routes say what a request costs; the most specific pattern wins.
	Routes []Route
	// Default is the route of every other request. It has no pattern.
	// Required: Unlimited if these requests cost nothing.
	Default Route
	// Skip lets requests through without a charge, such as those of a health
	// check. Nil skips none. Do not trust what a client can choose.
	Skip func(*http.Request) bool

	// Identify names the client whose budget of a policy the request uses. An
	// error and an empty Key mean that there is no name. The Slots of all
	// policies must be equal. Required.
	Identify func(r *http.Request, policy string) (Name, error)
	// OnUnidentified is what becomes of requests without a name. Required.
	OnUnidentified Unidentified
	// OnError is what becomes of requests that the Decider returned an error
	// for. Required.
	OnError ErrorPolicy

	// Shadow decides and charges everything as if it were in force, and refuses
	// nothing and sets no field. Counters and Observe tell what would have been
	// refused. Policy.Shadow is the same for one policy.
	Shadow bool

	// Dialects are the fields that tell limits. None sends Retry-After alone.
	Dialects []Dialect
	// Jitter is the most that is added to Retry-After, in whole seconds, so
	// that clients refused together do not return together. Zero adds nothing.
	Jitter time.Duration
	// Random returns a number from 0 to below n. Default rand.Int64N of
	// math/rand/v2.
	Random func(n int64) int64

	// Refuse writes a refusal whose fields, except Content-Type, are set.
	// Default Problem.Write.
	Refuse func(http.ResponseWriter, *http.Request, Problem)
	// Observe is told of every request that was to be charged, before the
	// handler runs. Nil tells nobody.
	Observe func(context.Context, Event)
}

// Route is what requests of a pattern cost: either Charges or Unlimited.
type Route struct {
	// Pattern is one of http.ServeMux: "GET /api/v1/items/{id}". One without a
	// method covers all methods.
	Pattern string
	// Charges are the policies that have to admit the request, each once.
	Charges []Charge
	// Unlimited requests are not charged.
	Unlimited bool
}

// Charge is what a request takes of one policy.
type Charge struct {
	Policy string
	// Cost is in units of the policy. Zero means 1.
	Cost int64
	// CostOf computes the cost instead. Zero takes nothing of the policy. A
	// request whose cost is negative or above limiter.MaxMax is refused with
	// 400 and reaches no Decider. It must leave the body alone.
	CostOf func(*http.Request) int64
}

// Name is whose budget a request uses: the fields of a limiter.Request of the
// same names. Key is a pseudonym and never a raw address.
type Name struct{ Key, Also, Slot string }

// Unidentified is what becomes of requests without a name: exactly one of its
// fields is set. There is no shared bucket unless Policy says so.
type Unidentified struct {
	// Status refuses with 400, 401 or 403.
	Status int
	// Policy charges this policy instead of the route's, one budget for all
	// requests without a name. No route may charge it. The cost is the highest
	// of the route's.
	Policy string
}

// ErrorPolicy is what becomes of a request that could not be decided. It is
// chosen, never defaulted.
type ErrorPolicy string

// The error policies.
const (
	// ErrorRefuses answers 503.
	ErrorRefuses ErrorPolicy = "refuse"
	// ErrorPasses runs the handler.
	ErrorPasses ErrorPolicy = "pass"
)

// validate reports everything that is wrong, except with routes and dialects.
func (c Config) validate() error {
	var errs []error
	if c.Decider == nil {
		errs = append(errs, errors.New("no decider"))
	}
	if c.Identify == nil {
		errs = append(errs, errors.New("no Identify: say whose budget a request uses"))
	}
	if c.Jitter < 0 || c.Jitter%time.Second != 0 {
		errs = append(errs, fmt.Errorf("jitter %s: want whole seconds, 0 or more", c.Jitter))
	}
	if len(c.Policies) == 0 {
		errs = append(errs, errors.New("no policies"))
	}
	seen := map[string]bool{}
	for _, p := range c.Policies {
		if seen[p.Name] {
			errs = append(errs, fmt.Errorf("policy %q is listed twice", p.Name))
		}
		seen[p.Name] = true
		if err := p.Limit.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("policy %q: %w", p.Name, err))
		}
	}
	return errors.Join(append(errs, c.OnError.validate(), c.OnUnidentified.validate(c))...)
}

func (p ErrorPolicy) validate() error {
	switch p {
	case ErrorRefuses, ErrorPasses:
		return nil
	case "":
		return errors.New("error policy is not chosen: set OnError to ErrorRefuses or ErrorPasses")
	default:
		return fmt.Errorf("error policy %q: want %q or %q", string(p), ErrorRefuses, ErrorPasses)
	}
}

func (u Unidentified) validate(c Config) error {
	switch {
	case u.Status == 0 && u.Policy == "":
		return errors.New("requests without a name: set OnUnidentified to a status or to a policy that they share")
	case u.Status != 0 && u.Policy != "":
		return errors.New("requests without a name: status and policy exclude each other")
	case u.Policy == "":
		switch u.Status {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
			return nil
		}
		return fmt.Errorf("requests without a name: status %d: want 400, 401 or 403", u.Status)
	}
	if policyIndex(c.Policies, u.Policy) < 0 {
		return fmt.Errorf("requests without a name: no policy is named %q", u.Policy)
	}
	for _, r := range append([]Route{c.Default}, c.Routes...) {
		for _, charge := range r.Charges {
			if charge.Policy == u.Policy {
				return fmt.Errorf("requests without a name: policy %q is also charged by route %q; they need one of their own",
					u.Policy, r.describe())
			}
		}
	}
	return nil
}

func policyIndex(policies []limiter.Policy, name string) int {
	for i, p := range policies {
		if p.Name == name {
			return i
		}
	}
	return -1
}

func (r Route) describe() string {
	if r.Pattern == "" {
		return "default"
	}
	return r.Pattern
}
