// Package target opens what is under test. A target is only a way to get a
// limiter.Limiter; everything behind it is judged alike.
package target

import (
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
	Limiter   limiter.Limiter
	// Keys are the names of all keys that an identity has in Redis.
	Keys func(identity string) []string
}

// Options are what every target needs to know.
type Options struct {
	Limit limiter.Limit
	Clock scenarios.Clock
	// Prefix starts every key of this target.
	Prefix string
}

// A kind of target is chosen by the form of its name.
type kind struct {
	name, doc string
	matches   func(name string) bool
	check     func(name string, l limiter.Limit) error
	open      func(s *backend.Server, name string, o Options) (*Target, error)
}

// kinds is the table of all kinds of target. To add one, add its row.
var kinds = []kind{
	{"ALGORITHM", "a bundled algorithm by its name", isAlgorithm, checkAlgorithm, openAlgorithm},
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
		if _, err := kindOf(name); err != nil {
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

// Check reports whether a target can enforce a limit, without opening it.
func Check(name string, l limiter.Limit) error {
	k, err := kindOf(name)
	if err != nil {
		return err
	}
	return k.check(name, l)
}

// Open opens a target on a server. The server stays the caller's.
func Open(s *backend.Server, name string, o Options) (*Target, error) {
	k, err := kindOf(name)
	if err != nil {
		return nil, err
	}
	return k.open(s, name, o)
}

func kindOf(name string) (kind, error) {
	for _, k := range kinds {
		if k.matches(name) {
			return k, nil
		}
	}
	return kind{}, scenarios.UnknownName("limiter", name, append(limiter.Names(), "all"))
}

func isAlgorithm(name string) bool {
	_, ok := limiter.Named(name)
	return ok
}

func checkAlgorithm(name string, l limiter.Limit) error {
	a, _ := limiter.Named(name)
	if err := a.Validate(l); err != nil {
		return fmt.Errorf("algorithm %s: %w", name, err)
	}
	return nil
}

// virtualTTL is how long keys live when instants are virtual and say nothing
// about real time. It only matters for keys of a run that was killed.
const virtualTTL = time.Hour

func openAlgorithm(s *backend.Server, name string, o Options) (*Target, error) {
	a, _ := limiter.Named(name)
	config := limiter.Config{
		Algorithm: a, Limit: o.Limit, Prefix: o.Prefix, Policy: "rlbench",
		// The tester wants to see errors, not what a policy makes of them.
		OnFailure: limiter.FailError,
	}
	if o.Clock == scenarios.Virtual {
		config.TTLFloor = virtualTTL
	}
	l, err := limiter.New(s.Client(), config)
	if err != nil {
		return nil, fmt.Errorf("open target %s: %w", name, err)
	}
	return &Target{Name: name, Algorithm: &a, Limiter: l, Keys: l.Keys}, nil
}
