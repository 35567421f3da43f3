package oracle

import (
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// ttlSlack is what reading a time to live can be off by: Redis counts in
// milliseconds, and expires a little late.
const ttlSlack = 2 * time.Millisecond

// ttl looks at how long keys live. Without a model only keys that never expire
// are known to be wrong; a long life is no more than a warning.
func ttl(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	e := c.Examined
	if e == nil {
		return nil
	}
	for _, k := range e.Keys {
		if k.TTL == scenarios.NoTTL {
			return failed("ttl", fmt.Sprintf("%s left a key that never expires", c.Name), "key "+k.Name)
		}
	}
	if found := shortLived(c); found != nil {
		return found
	}
	if found := aged(c); found != nil {
		return found
	}
	for _, k := range e.Keys {
		if c.LongestTTL > 0 && k.TTL > c.LongestTTL+ttlSlack {
			found := failed("ttl", fmt.Sprintf("%s keeps a key for %s; at most %s are of use", c.Name, k.TTL.Round(time.Second), limiter.FormatDuration(c.LongestTTL)), "key "+k.Name)
			found[0].Warn = c.Algorithm == nil
			return found
		}
	}
	if len(e.Keys) == 0 {
		return nil
	}
	return passed("ttl", "%s in time", expire(len(e.Keys)))
}

// shortLived finds an identity whose state is gone while it still matters by the
// model. With several clocks nobody knows until when it does.
func shortLived(c *Case) []scenarios.Finding {
	if c.Algorithm == nil || c.Plan.Skewed() || c.Examined.Incomplete != "" || !c.Tells.At {
		return nil
	}
	type life struct{ ttl, read time.Duration }
	longest := map[scenarios.Identity]life{}
	for _, k := range c.Examined.Keys {
		if l := longest[k.Identity]; k.TTL >= l.ttl {
			longest[k.Identity] = life{k.TTL, k.Read}
		}
	}
	h := names(c)
	for _, id := range c.Examined.Sample {
		ops, exact := lives(c, h.of(id))
		if h.doubtful[id] || !exact {
			continue
		}
		reset, since, ok := needed(c, ops[len(ops)-1])
		if !ok {
			continue
		}
		l, exists := longest[id]
		if !exists {
			l.read = c.Examined.Read
		}
		if missing := reset - (l.ttl + l.read - since); missing > ttlSlack {
			return failed("ttl", fmt.Sprintf("%s lets the state of an identity expire %s too early", c.Name, missing.Round(time.Millisecond)),
				fmt.Sprintf("client %d, pseudonym %d: it matters for %s, and %s later it had %s to live",
					id.Key, id.Pseudonym, wait(reset), (l.read-since).Round(time.Microsecond), l.ttl))
		}
	}
	return nil
}

// aged finds an identity whose keys are not given a longer life as it goes on. In
// virtual time no key grows old by itself.
func aged(c *Case) []scenarios.Finding {
	if c.Algorithm == nil {
		return nil
	}
	for _, i := range c.Examined.Interviews {
		if i.Aged == nil {
			continue
		}
		model, first, second := c.Algorithm.Model, i.Aged.First, i.Aged.Second
		state, d := model.Step(i.Limit, model.Init(), limiter.Request{At: first.At, Cost: 1})
		if d.Allowed {
			_, d = model.Step(i.Limit, state, limiter.Request{At: second.At, Cost: 1})
		}
		if missing := d.ResetAfter - i.Aged.Life; d.Allowed && missing > ttlSlack+timeOfCall {
			return failed("ttl", fmt.Sprintf("%s does not renew the time to live: state expires %s too early", c.Name, missing.Round(time.Millisecond)),
				fmt.Sprintf("client %d, pseudonym %d: a request after silence, and another one %s later; then the state matters for %s, and has %s to live",
					i.Identity.Key, i.Identity.Pseudonym, wait(second.At.Sub(first.At)), wait(d.ResetAfter), i.Aged.Life))
		}
	}
	return nil
}

// timeOfCall is how long a busy machine may take between a call and the look at
// its keys; keys grow older by that.
const timeOfCall = 250 * time.Millisecond

// members bounds the entries of a log: what claims to be one needs no more than
// its limit.
func members(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	if c.Examined == nil || c.Algorithm == nil || c.Algorithm.Name != limiter.Log.Name {
		return nil
	}
	most := int64(0)
	bound := loosest(c.Plan).Max
	for _, k := range c.Examined.Keys {
		most = max(most, k.Elements)
		if k.Collection && k.Elements > bound {
			return failed("members", fmt.Sprintf("%s keeps %d entries of one identity; the limit is %d", c.Name, k.Elements, bound), "key "+k.Name)
		}
	}
	if len(c.Examined.Keys) == 0 {
		return nil
	}
	return passed("members", "no key holds more than %d entries", most)
}

func keys(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	e := c.Examined
	switch {
	case e == nil:
		return nil
	case len(e.Undeclared) > 0:
		return failed("keys", fmt.Sprintf("%s touched a key that it does not name; Redis Cluster cannot find it", c.Name), "key "+e.Undeclared[0])
	case len(e.Split) > 0:
		return failed("keys", fmt.Sprintf("%s uses keys of different slots in one call; Redis Cluster refuses that", c.Name), e.Split...)
	case e.Total == 0:
		return nil
	}
	return passed("keys", "%s, all of them named", scenarios.Counted(e.Total, "key"))
}

// identity demands that no address is at rest. Senders have invented names, so
// any address is the limiter's own doing.
func identity(c *Case, _ *scenarios.Judgement) []scenarios.Finding {
	if c.Examined == nil {
		return nil
	}
	for _, k := range c.Examined.Keys {
		if k.Address != "" {
			return failed("identity", fmt.Sprintf("%s keeps an IP address in Redis", c.Name), fmt.Sprintf("%s in key %s", k.Address, k.Name))
		}
	}
	if len(c.Examined.Keys) == 0 {
		return nil
	}
	return passed("identity", "no address in %s", scenarios.Counted(len(c.Examined.Keys), "key"))
}

func expire(keys int) string {
	if keys == 1 {
		return "1 key expires"
	}
	return scenarios.Counted(keys, "key") + " expire"
}
