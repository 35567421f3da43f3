package faulty

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// Specimen is a limiter with one known bug.
type Specimen struct {
	// Name says the bug in kebab case.
	Name string
	// Doc is one line: what is wrong.
	Doc string
	// Seen is the address of a public report of it; "" if there is none.
	Seen string
	// Claims is the algorithm that it says it is, by which it is judged. The zero
	// Algorithm claims nothing: only what holds for every limiter is asked of it.
	Claims limiter.Algorithm
	// Limit is the limit at which the bug shows; zero if it shows at the
	// scenario's own.
	Limit limiter.Limit
	// Scenario is a built-in scenario under which it is caught, and Check the
	// name of a check that has to catch it there.
	Scenario, Check string
	// Only says that no other check may find anything.
	Only bool

	// base is the algorithm of which it is a copy.
	base limiter.Algorithm
	// source replaces the script of base, and edits change it.
	source string
	edits  []edit
	// rename changes identities before they become keys.
	rename func(identity string) string
	// names are the keys that it declares, made of the one that base has.
	names func(key string) []string
	// build makes a limiter that is no bare script.
	build func(setting) (limiter.Limiter, error)
	// policy says that it can be told what to do when Redis cannot answer, and
	// secondNames that it can be told a second name of a client.
	policy, secondNames bool
}

// Client is what a specimen sends its commands through.
type Client = redis.UniversalClient

// Options say what a specimen enforces. They mean what they do in
// limiter.Config; Limit is required.
type Options struct {
	Limit          limiter.Limit
	Prefix, Policy string
	TTLFloor       time.Duration
	// OnFailure is what it is told to do when Redis cannot answer; "" tells nothing,
	// and errors are returned. Only of interest to those that TakesPolicy.
	OnFailure limiter.Failure
}

// Specimens is the table of all specimens, by family. To add one, add its row to
// its family.
var Specimens = slices.Concat(
	races, logs, counters, windows, buckets, lives, waits, remainders, requests, namings, rests, troubles,
)

// Names are the names of all specimens.
func Names() []string {
	names := make([]string, len(Specimens))
	for i, s := range Specimens {
		names[i] = s.Name
	}
	return names
}

// Named finds a specimen by its name.
func Named(name string) (Specimen, bool) {
	i := slices.IndexFunc(Specimens, func(s Specimen) bool { return s.Name == name })
	if i < 0 {
		return Specimen{}, false
	}
	return Specimens[i], true
}

// TakesPolicy reports whether it can be told what to do when Redis cannot answer;
// the others return the error.
func (s Specimen) TakesPolicy() bool { return s.policy }

// TakesSecondNames reports whether it can be told a second name of a client.
func (s Specimen) TakesSecondNames() bool { return s.secondNames }

// Validate reports whether the algorithm that it was copied from can enforce a
// limit.
func (s Specimen) Validate(l limiter.Limit) error { return s.base.Validate(l) }
