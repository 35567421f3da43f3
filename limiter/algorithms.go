package limiter

import (
	"strconv"
	"strings"
	"time"
)

// Algorithm is one way to limit, stated twice here: as the Lua that Redis runs
// and as a Model that shares no code with it.
type Algorithm struct {
	// Name is what users write and what the keys carry.
	Name string
	// Doc is one line for a list.
	Doc string
	// DecidesAs names the algorithm whose decisions these are, one by one: its
	// vectors and the checks of scenarios about it hold here too. Empty is itself.
	DecidesAs string
	// Script is Lua that follows the convention of package scripts.
	Script string
	// Model is the specification.
	Model Model
	// Worst is the most units that any trailing window can hold, given one
	// clock and an unchanged limit. docs/algorithms.md derives it.
	Worst func(Limit) int64
	// AfterEdge is the most units admitted by an instant e into a window by a
	// full burst that began so long before its edge and saturation from the edge
	// on. Before and e together are less than a window.
	AfterEdge func(l Limit, before, e time.Duration) int64
	// Excess says in one sentence why a trailing window can hold more than the
	// limit; empty if it cannot.
	Excess string
	// TTL is the longest time to live that a key may have, up to the
	// millisecond that Redis rounds to.
	TTL func(Limit) time.Duration
	// Check refuses limits that the algorithm cannot compute exactly; nil
	// accepts every valid limit.
	Check func(Limit) error
	// nonce says that the script stores the request's nonce.
	nonce bool
}

// Algorithms is the table of all algorithms, in the order in which lists show
// them. To add one, add its row.
var Algorithms = []Algorithm{Fixed, Log, LogPacked, Counter, CounterStrict, GCRA}

// Names are the names of all algorithms.
func Names() []string {
	names := make([]string, len(Algorithms))
	for i, a := range Algorithms {
		names[i] = a.Name
	}
	return names
}

// Named finds an algorithm by its name.
func Named(name string) (Algorithm, bool) {
	for _, a := range Algorithms {
		if a.Name == name {
			return a, true
		}
	}
	return Algorithm{}, false
}

// Is reports whether something that is said of an algorithm by its name is said of
// this one: it is called that, or decides as that one does.
func (a Algorithm) Is(name string) bool { return name == a.Name || name == a.Family() }

// Family is the name of the algorithm whose decisions these are.
func (a Algorithm) Family() string {
	if a.DecidesAs != "" {
		return a.DecidesAs
	}
	return a.Name
}

// Model is an algorithm as a pure specification. Step must not change the
// state it is given: the oracle keeps old states and returns to them.
type Model struct {
	// Init is the state of a key that was never used.
	Init func() any
	// Step decides a valid request with a non-zero At.
	Step func(Limit, any, Request) (any, Decision)
}

// Validate checks the limit for this algorithm.
func (a Algorithm) Validate(l Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if a.Check == nil {
		return nil
	}
	return a.Check(l)
}

// keyHead is everything of a key up to the identity, which a hash tag wraps so
// that Redis Cluster puts all keys of one identity into one slot. The window is part of it,
// so that policies of different windows never share state; the limit is not, so
// that a changed limit keeps what was used.
func (a Algorithm) keyHead(prefix, policy string, window time.Duration) string {
	return prefix + ":" + a.Name + ":" + policy + ":" + strconv.FormatInt(window.Microseconds(), 10) + ":{"
}

// tagEscape keeps a closing brace in an identity from ending the hash tag early,
// and different identities different.
var tagEscape = strings.NewReplacer("%", "%25", "}", "%7D")

func tagged(identity string) string {
	if !strings.ContainsAny(identity, "%}") {
		return identity
	}
	return tagEscape.Replace(identity)
}
