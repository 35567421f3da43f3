package limiter

import (
	"time"
)

// Policy is one budget of a Set.
type Policy struct {
	// Name is part of every key and how charges refer to the policy.
	Name      string
	Algorithm Algorithm
	Limit     Limit
	// Shadow policies are decided and charged as if they were in force, but a
	// denial of theirs denies nothing.
	Shadow bool
}

// Charge is what a request takes of one policy.
type Charge struct {
	Policy string // its name
	// Key, Also and Cost are those of a Request.
	Key, Also string
	Cost      int64
}

// Joint is a request that several budgets have to admit.
type Joint struct {
	// At and Slot are those of a Request.
	At      time.Time
	Slot    string
	Charges []Charge // at least one, each of another policy
}

// Allowed reports whether every decision of a joint request admits, those of
// shadow policies aside.
func Allowed(decisions []Decision) bool {
	for _, d := range decisions {
		if !d.Allowed && !d.Shadow {
			return false
		}
	}
	return true
}
