// Package target opens what is under test. A target is only a way to get a
// limiter.Limiter; everything behind it is judged alike.
package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// Target is an opened limiter under test.
type Target struct {
	// Name is what users wrote, and Algorithm what it claims to be: nil if it
	// claims nothing.
	Name      string
	Algorithm *limiter.Algorithm
	// Tells is what its decisions say.
	Tells scenarios.Tells
	// Limiter enforces a limit. Limiters of one target share budgets, as those of
	// a service do whose limit is changed.
	Limiter func(limiter.Limit) (limiter.Limiter, error)
	// Keys are the names of the keys that a call for an identity at an instant
	// may touch. Timed says that they depend on the instant.
	Keys  func(identity string, at time.Time) []string
	Timed bool
	// LongestTTL is the longest time that a key may live.
	LongestTTL func(limiter.Limit) time.Duration
	// Strict says that it claims more than its algorithm: it gives back a time to
	// live that a key has lost, and a late stamp never turns its time back.
	Strict bool
	// TTLFloor is the least time that keys live however short the window is.
	TTLFloor time.Duration
	// Costs says that requests may cost more than one unit.
	Costs bool
	// Foreign says that others wrote it: it may keep Redis busy for ever.
	Foreign bool
}

// Options are what every target needs to know.
type Options struct {
	// Limit is the scenario's own; a phase can have another.
	Limit limiter.Limit
	Clock scenarios.Clock
	// Prefix starts every key, or every identity where keys have other names.
	Prefix string
	// Model is what a foreign limiter claims to be, if it is not what is written
	// beside it: the name of an algorithm, "none", or "" for what is written.
	Model string
	// OnFailure is what to do when Redis cannot answer, one of
	// scenarios.FailurePolicies; "" returns the error, which testers want to see.
	OnFailure string
	// Timeout bounds a decision; 0 leaves that to the client of the server.
	Timeout time.Duration
}

// Needs are what traffic asks of a target.
type Needs struct {
	Limits  []limiter.Limit
	Clock   scenarios.Clock
	Costs   bool   // some requests cost more than one unit
	Waits   bool   // clients obey the wait that they are told
	Policy  string // what to do when Redis cannot answer, if it is not to return the error
	Service bool   // it stands in front of a service
	Names   bool   // some requests tell a second name of the client
	Faults  bool   // something is broken on purpose
	Skewed  bool   // clocks disagree
}

// A kind of target is chosen by the form of its name.
type kind struct {
	name, doc string
	matches   func(name string) bool
	// check reports what of the needs a target cannot meet, before it is opened.
	check func(name string, n Needs, model string) error
	// claims is what a target claims to be; nil if nothing.
	claims func(name, model string) *limiter.Algorithm
	open   func(ctx context.Context, s *backend.Server, name string, o Options) (*Target, error)
	// claimable targets can be told what they claim to be.
	claimable bool
}

// kinds is the table of all kinds of target. To add one, add its row.
var kinds = []kind{
	{
		name: "ALGORITHM", doc: "a bundled algorithm by its name",
		matches: isAlgorithm, check: checkAlgorithm, claims: claimsAlgorithm, open: openAlgorithm,
	},
	variantKind(denying, "the same with a cache of denials in this process", func(v variant) bool { return v.denying }),
	variantKind(pipelined, "the same with the requests of concurrent callers sent together", func(v variant) bool { return !v.denying }),
	luaKind,
	faultyKind,
}

// NoModel is the model of a target that claims nothing.
const NoModel = "none"

// Claims is what a target claims to be, given the model that it was told to; nil
// if it claims nothing.
func Claims(name, model string) *limiter.Algorithm {
	k, err := kindOf(name)
	if err != nil {
		return nil
	}
	return k.claims(name, model)
}

// Claimable reports whether a target can be told what it claims to be.
func Claimable(name string) bool {
	k, err := kindOf(name)
	return err == nil && k.claimable
}

// Listed are the kinds of target with a line each.
func Listed() [][2]string {
	rows := make([][2]string, len(kinds))
	for i, k := range kinds {
		rows[i] = [2]string{k.name, k.doc}
	}
	return rows
}

// Names splits a list of targets, replaces "all" by every bundled algorithm and
// drops repetitions. It refuses what Open could not open.
func Names(list []string) ([]string, error) {
	var names []string
	for _, name := range list {
		name = strings.TrimSpace(name)
		if name == "all" {
			names = append(names, limiter.Names()...)
			continue
		}
		k, err := kindOf(name)
		if err == nil {
			err = k.check(name, Needs{}, "")
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no limiter is named; known: %s, all", strings.Join(limiter.Names(), ", "))
	}
	var distinct []string
	for _, name := range names {
		if !slices.Contains(distinct, name) {
			distinct = append(distinct, name)
		}
	}
	return distinct, nil
}

// Check reports whether a target can meet what traffic needs, without opening
// it.
func Check(name string, n Needs, model string) error {
	k, err := kindOf(name)
	if err != nil {
		return err
	}
	return k.check(name, n, model)
}

// Open opens a target on a server. The server stays the caller's.
func Open(ctx context.Context, s *backend.Server, name string, o Options) (*Target, error) {
	k, err := kindOf(name)
	if err != nil {
		return nil, err
	}
	t, err := k.open(ctx, s, name, o)
	if err == nil && o.Timeout > 0 && t.Foreign {
		t.Limiter = hurried(t.Limiter, o.Timeout)
	}
	return t, err
}

func kindOf(name string) (kind, error) {
	for _, k := range kinds {
		if k.matches(name) {
			return k, nil
		}
	}
	return kind{}, scenarios.UnknownName("limiter", name, append(limiter.Names(), "all", "ALGORITHM+"+denying, "ALGORITHM+"+pipelined, "lua:PATH", "faulty:NAME"))
}

// bundledOnly refuses what only limiters of this repository do.
func (n Needs) bundledOnly(name string) error {
	switch {
	case scenarios.FallsBack(n.Policy):
		return fmt.Errorf("limiter %s: it has no failure policy %q; only bundled algorithms have", name, n.Policy)
	case n.Service:
		return fmt.Errorf("limiter %s: it cannot stand in front of a service; only bundled algorithms can", name)
	case n.Names:
		return fmt.Errorf("limiter %s: it knows no second name of a client; only bundled algorithms do", name)
	}
	return nil
}
