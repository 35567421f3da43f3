package target

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// convention is how a foreign script is called and what its reply means.
type convention struct {
	model string // what it claims to be: the name of an algorithm, or NoModel
	keys  []template
	args  []template
	clock string // one of the callerClocks
	reply replyForm
	// untilInstant says that the script lets keys expire at an instant.
	untilInstant bool
}

// The clocks of a script.
const (
	callerClock = "caller" // it is given the time
	serverClock = "server" // it reads the server's
	blankClock  = "blank"  // it reads the server's where now is empty
)

// conventionVersion is what the key version may say.
const conventionVersion = 1

// Bounds of what a mapping can ask for.
const (
	maxKeysOfCall = 16
	maxArguments  = 64
)

// defaultConvention is that of a script without a mapping.
func defaultConvention() *convention {
	c := &convention{model: NoModel, reply: defaultReply}
	c.keys = must(parseTemplate, "{id}")
	c.args = must(parseArgument, "now_us", "window_us", "limit", "member")
	c.clock = callerClock
	return c
}

// must parses constants.
func must(parse func(string) (template, error), texts ...string) []template {
	list := make([]template, len(texts))
	for i, text := range texts {
		t, err := parse(text)
		if err != nil {
			panic(err)
		}
		list[i] = t
	}
	return list
}

// readConvention reads a mapping. What it leaves out is as without one. The
// error is a scenarios.Problems.
func readConvention(d scenarios.Document) (*convention, error) {
	c := defaultConvention()
	c.clock = ""
	err := d.Read(func(root scenarios.Value) {
		clockAt := root
		root.Fields([]scenarios.Field{
			{Name: "version", Read: func(v scenarios.Value) { v.Whole(conventionVersion, conventionVersion) }},
			{Name: "description", Read: func(v scenarios.Value) { v.Text() }},
			{Name: "model", Read: func(v scenarios.Value) { c.model, _ = v.OneOf(append(limiter.Names(), NoModel)...) }},
			{Name: "keys", Read: func(v scenarios.Value) { c.keys = templates(v, maxKeysOfCall, "{id}", parseKey) }},
			{Name: "args", Read: func(v scenarios.Value) { c.args = templates(v, maxArguments, "rl:{id}", parseArgument) }},
			{Name: "reply", Read: func(v scenarios.Value) { c.reply = readReply(v) }},
			{Name: "clock", Read: func(v scenarios.Value) {
				c.clock, _ = v.OneOf(callerClock, serverClock, blankClock)
				clockAt = v
			}},
		})
		if root.Sound() {
			c.settle(clockAt, root)
		}
	})
	return c, err
}

// templates reads a list of them.
func templates(v scenarios.Value, most int, example string, parse func(string) (template, error)) []template {
	list := []template{}
	v.Items(most, func(item scenarios.Value) {
		if !item.IsSingle() {
			item.Report("braces at the start have to be in quotes, such as %q", example)
			return
		}
		text, ok := item.Text()
		if !ok {
			return
		}
		t, err := parse(text)
		if err != nil {
			item.Report("%v", err)
			return
		}
		list = append(list, t)
	})
	return list
}

// parseKey reads the template of a key. Every key has to be of one identity and
// of this run, or it could not be found again and removed.
func parseKey(text string) (template, error) {
	t, err := parseTemplate(text)
	switch {
	case err != nil:
		return t, err
	case !t.names("id"):
		return t, fmt.Errorf("key %q has no {id}: all identities and all runs would share it", text)
	case t.uses(perCall):
		return t, fmt.Errorf("key %q differs with every request: {cost} and {member} are for args", text)
	}
	return t, nil
}

// settle decides whose clock it is, and reports what contradicts it.
func (c *convention) settle(clockAt, root scenarios.Value) {
	if len(c.keys) == 0 && !slices.ContainsFunc(c.args, func(t template) bool { return t.names("id") }) {
		root.Report("neither keys nor args hold {id}: the script could not tell identities apart")
	}
	var given []string // what tells the time
	for _, t := range slices.Concat(c.keys, c.args) {
		if t.uses(timed) {
			given = append(given, t.text)
		}
	}
	switch {
	case c.clock == "" && len(given) > 0:
		c.clock = callerClock
	case c.clock == "":
		c.clock = serverClock
	case c.clock == callerClock && len(given) == 0:
		clockAt.Report("clock is caller, but neither keys nor args tell the time; pass now_us, or write clock: server")
	case c.clock == serverClock && len(given) > 0:
		clockAt.Report("clock is server, but %s is the caller's time; leave it out, or write clock: caller", strings.Join(given, ", "))
	case c.clock == blankClock && !c.canBeBlank():
		clockAt.Report("clock is blank, but what tells the time is not just one of now_s, now_ms, now_us, now_ns and now_s_float as an argument of its own")
	}
	if c.reply.resetAt && c.reply.now.none() && c.clock != callerClock {
		root.Report("reset_at_ is an instant; to make a wait of it, the reply has to tell now_us, or the script needs clock: caller")
	}
}

// canBeBlank reports whether an empty now is all that a call without an instant
// needs.
func (c *convention) canBeBlank() bool {
	blank := false
	for _, t := range c.args {
		if t.uses(timed) {
			if len(t.parts) != 1 || !t.uses(now) {
				return false
			}
			blank = true
		}
	}
	return blank && !slices.ContainsFunc(c.keys, func(t template) bool { return t.uses(timed) })
}

// takesCosts reports whether the script is told what a request costs.
func (c *convention) takesCosts() bool {
	return slices.ContainsFunc(c.args, func(t template) bool { return t.names("cost") })
}

// ttlFloor is what keys live at least, if the script is told.
func (c *convention) ttlFloor(clock scenarios.Clock) time.Duration {
	told := slices.ContainsFunc(c.args, func(t template) bool { return t.names("ttl_floor_ms") })
	if clock == scenarios.Virtual && told {
		return virtualTTL
	}
	return 0
}
