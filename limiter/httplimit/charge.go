package httplimit

import (
	"net/http"

	"github.com/rlbench/rlbench/limiter"
)

// price computes what a request costs of each policy: the highest cost of all
// routes that it can be read as.
func price(found []*entry, r *http.Request) ([]limiter.Charge, []int, error) {
	charges := make([]limiter.Charge, 0, len(found[0].charges))
	policies := make([]int, 0, len(found[0].charges))
	for _, e := range found {
	next:
		for _, c := range e.charges {
			cost := max(c.Cost, 1)
			if c.CostOf != nil {
				cost = c.CostOf(r)
			}
			switch {
			case cost < 0 || cost > limiter.MaxMax:
				return nil, nil, errCost
			case cost == 0:
				continue
			}
			for i, p := range policies {
				if p == c.policy {
					charges[i].Cost = max(charges[i].Cost, cost)
					continue next
				}
			}
			charges = append(charges, limiter.Charge{Policy: c.Policy, Cost: cost})
			policies = append(policies, c.policy)
		}
	}
	return charges, policies, nil
}

// identify makes a joint request of charges. errMixedSlots aside, an error means
// that the client has no name.
func (m *Middleware) identify(r *http.Request, charges []limiter.Charge) (limiter.Joint, error) {
	j := limiter.Joint{Charges: charges}
	for i := range charges {
		name, err := m.config.Identify(r, charges[i].Policy)
		switch {
		case err != nil:
			return j, err
		case name.Key == "":
			return j, errNoKey
		case i > 0 && name.Slot != j.Slot:
			return j, errMixedSlots
		}
		j.Slot = name.Slot
		charges[i].Key, charges[i].Also = name.Key, name.Also
	}
	return j, nil
}

// shared is the joint request of a client without a name.
func (m *Middleware) shared(charges []limiter.Charge) (limiter.Joint, []int) {
	policy := m.config.OnUnidentified.Policy
	charge := limiter.Charge{Policy: policy, Key: "unidentified"}
	for _, c := range charges {
		charge.Cost = max(charge.Cost, c.Cost)
	}
	return limiter.Joint{Charges: []limiter.Charge{charge}}, []int{policyIndex(m.config.Policies, policy)}
}

func names(charges []limiter.Charge) []string {
	s := make([]string, len(charges))
	for i, c := range charges {
		s[i] = c.Policy
	}
	return s
}
