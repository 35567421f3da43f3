package target

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

const luaScheme = "lua:"

// luaKind opens Redis scripts of other people.
var luaKind = kind{
	name: "lua:PATH", doc: "a Redis Lua script of your own; see docs/your-own-lua.md", claimable: true,
	matches: func(name string) bool { return strings.HasPrefix(name, luaScheme) },
	check:   checkLua,
	claims: func(name, model string) *limiter.Algorithm {
		_, c, err := loadNamed(name)
		if err != nil {
			return nil
		}
		a, _ := c.algorithm(model)
		return a
	},
	open: openLua,
}

// loadNamed reads the script that a name says.
func loadNamed(name string) (source string, c *convention, err error) {
	path := luaPath(name)
	if path == "" {
		return "", nil, errors.New("target lua: names no file; write lua:PATH, such as lua:./mine.lua")
	}
	source, c, err = loadLua(path)
	if err == nil {
		c.untilInstant = untilInstant.MatchString(source)
	}
	return source, c, err
}

// untilInstant finds the words of Redis for an expiry at an instant.
var untilInstant = regexp.MustCompile(`(?i)['"](p?expireat|pxat|exat)['"]`)

func luaPath(name string) string { return strings.TrimPrefix(name, luaScheme) }

// checkLua reads the script and its mapping, and reports everything that keeps
// it from taking the traffic.
func checkLua(name string, n Needs, model string) error {
	_, c, err := loadNamed(name)
	if err != nil {
		return err
	}
	return c.check(printable(name), n, model)
}

// check compares what is needed with what the convention can give.
func (c *convention) check(name string, n Needs, model string) error {
	var wrong []error
	a, err := c.algorithm(model)
	if err != nil {
		wrong = append(wrong, err)
	}
	for _, l := range n.Limits {
		wrong = append(wrong, c.checkLimit(a, l)...)
	}
	if err := c.checkClock(n.Clock); err != nil {
		wrong = append(wrong, err)
	}
	if err := n.bundledOnly(name); err != nil {
		return err
	}
	if n.Costs && !c.takesCosts() {
		wrong = append(wrong, errors.New("requests cost more than one unit, and the script is not told: no argument is {cost}"))
	}
	if n.Clock == scenarios.Virtual && c.untilInstant {
		wrong = append(wrong, errors.New("clock virtual: the script lets keys expire at an instant, and those of the virtual clock are past; use --clock client"))
	}
	if n.Waits && (c.reply.loose || c.reply.retry.none()) {
		wrong = append(wrong, errors.New("clients obey the wait that they are told, and no retry_after is in the reply of its mapping"))
	}
	for i, err := range wrong {
		wrong[i] = fmt.Errorf("target %s: %w", name, err)
	}
	return errors.Join(wrong...)
}

// algorithm is what the script claims to be; nil if nothing.
func (c *convention) algorithm(model string) (*limiter.Algorithm, error) {
	if model == "" {
		model = c.model
	}
	if model == NoModel {
		return nil, nil
	}
	a, ok := limiter.Named(model)
	if !ok {
		return nil, scenarios.UnknownName("model", model, append(limiter.Names(), NoModel))
	}
	return &a, nil
}

func (c *convention) checkLimit(a *limiter.Algorithm, l limiter.Limit) []error {
	validate := l.Validate
	if a != nil {
		validate = func() error { return a.Validate(l) }
	}
	if err := validate(); err != nil {
		return []error{err}
	}
	var wrong []error
	seen := map[string]bool{}
	for _, t := range slices.Concat(c.keys, c.args) {
		for _, p := range t.parts {
			if p.unit != 0 && l.Window%p.unit != 0 && !seen[p.name] {
				seen[p.name] = true
				wrong = append(wrong, fmt.Errorf("limit %s: the window is not a whole number of %s, which is what %s says; use a finer unit, such as %s",
					l, limiter.FormatDuration(p.unit), p.name, p.name[:strings.LastIndex(p.name, "_")]+"_us"))
			}
		}
	}
	return wrong
}

func (c *convention) checkClock(clock scenarios.Clock) error {
	switch {
	case c.clock == callerClock && clock == scenarios.Server:
		return fmt.Errorf("clock server: the script is given the time by its caller; use --clock %s or --clock %s", scenarios.Virtual, scenarios.Client)
	case c.clock == serverClock && (clock == scenarios.Virtual || clock == scenarios.Client):
		return fmt.Errorf("clock %s: the script reads the time of the server; use --clock %s", clock, scenarios.Server)
	}
	return nil
}

// openLua opens a script with the server. The Tells of the target are complete
// when a run is over: a script without a mapping tells what its replies hold.
func openLua(ctx context.Context, s *backend.Server, name string, o Options) (*Target, error) {
	source, c, err := loadNamed(name)
	if err != nil {
		return nil, err
	}
	if err := c.check(printable(name), Needs{Clock: o.Clock}, o.Model); err != nil {
		return nil, err
	}
	if !limiter.ValidPrefix(o.Prefix) {
		return nil, fmt.Errorf("open target %s: key prefix %q: want letters, digits, '.', '_', '-' and ':'", printable(name), o.Prefix)
	}
	path := printable(luaPath(name))
	if err := s.Compile(ctx, source); err != nil {
		if script, ok := errors.AsType[*backend.ScriptError](err); ok && script.Line > 0 {
			err = fmt.Errorf("%s:%d: %w", path, script.Line, err)
		}
		return nil, fmt.Errorf("open target %s: %w", printable(name), err)
	}
	a, _ := c.algorithm(o.Model)
	t := &Target{Name: name, Algorithm: a, Costs: c.takesCosts(), TTLFloor: c.ttlFloor(o.Clock), Foreign: true}
	t.Tells = c.reply.tells(o.Clock != scenarios.Server)
	t.Timed = slices.ContainsFunc(c.keys, func(k template) bool { return k.uses(timed) })
	t.LongestTTL = func(l limiter.Limit) time.Duration { return max(longestTTL(a, l), t.TTLFloor) }
	script := &script{
		name: path, convention: c, lua: limiter.NewScript(s.Client(), sound(s, source)),
		prefix: o.Prefix + ":", ttlFloor: t.TTLFloor, instance: instance(),
		seen: seen{tells: &t.Tells, loose: c.reply.loose},
	}
	if o.Limit != (limiter.Limit{}) {
		script.limits = append(script.limits, o.Limit)
	}
	t.Limiter, t.Keys = script.limiter, script.touched
	return t, nil
}

// longestTTL is two windows and a second in whole seconds, as EXPIRE counts, or
// what the model has if that is longer.
func longestTTL(a *limiter.Algorithm, l limiter.Limit) time.Duration {
	longest := (call{limit: l}.ttl() + time.Second - 1).Truncate(time.Second)
	if a != nil {
		longest = max(longest, a.TTL(l))
	}
	return longest
}

// script is an opened script.
type script struct {
	*convention
	name     string
	lua      *limiter.Script
	prefix   string
	ttlFloor time.Duration
	instance string // makes members unique among processes
	requests atomic.Uint64
	seen     seen

	mu     sync.Mutex
	limits []limiter.Limit // of all limiters so far
}

// limiter makes one for a limit.
func (s *script) limiter(l limiter.Limit) (limiter.Limiter, error) {
	if err := s.check(luaScheme+s.name, Needs{Limits: []limiter.Limit{l}}, NoModel); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.limits, l) {
		s.limits = append(s.limits, l)
	}
	return &luaLimiter{script: s, limit: l}, nil
}

// touched are the keys of an identity at an instant, under every limit.
func (s *script) touched(identity string, at time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, l := range s.limits {
		for _, key := range s.keysOf(call{limit: l, identity: s.prefix + identity, at: at.UnixMicro(), timed: !at.IsZero()}) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// keysOf are the keys of a call; none if they depend on an instant that the
// call does not have.
func (s *script) keysOf(c call) []string {
	keys := make([]string, len(s.keys))
	for i, t := range s.keys {
		if t.uses(timed) && !c.timed {
			return nil
		}
		keys[i] = t.fill(c)
	}
	return keys
}
