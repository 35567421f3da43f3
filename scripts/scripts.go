// Package scripts embeds the Lua of every algorithm, so that the same files
// serve Go programs and people who use no Go at all.
//
// # Calling convention
//
//	EVALSHA sha 1 KEY now_us window_us max cost nonce ttl_floor_ms
//	EVALSHA sha 2 KEY ALSO now_us window_us max cost nonce ttl_floor_ms
//
//	KEYS[1]  the only key that is written; it carries one identity's hash tag
//	KEYS[2]  if given, the key of another name of the same identity, such as its
//	         pseudonym before a rotation: its use counts too, and it is only read
//	ARGV[1]  now_us: microseconds since the Unix epoch, or "" to let the
//	         script read the server's TIME (once)
//	ARGV[2]  window_us: length of the window in microseconds
//	ARGV[3]  max: how much one window admits; 0 denies everything
//	ARGV[4]  cost: how much this request takes, at least 1; a peek may ask about
//	         0, which tells what there is
//	ARGV[5]  nonce: a name for this request that is unique under the key;
//	         "" is a peek: the same answer, and nothing is written
//	ARGV[6]  ttl_floor_ms: the shortest time to live of the key, for callers
//	         whose clock is not real time; "0" for everybody else
//
// The reply is five integers:
//
//	{allowed, remaining, retry_after_us, reset_after_us, now_us}
//
// allowed is 1 or 0. remaining is what is left after this request.
// retry_after_us is the exact earliest wait after which the same request is
// admitted if nobody else uses the key: 0 when allowed, -1 when no wait helps
// (cost above max). reset_after_us is the wait after which remaining equals
// max again.
//
// # Rules that every script keeps
//
//   - Integers only, all products below 2^53: Lua numbers are doubles.
//   - Numbers that become text go through string.format('%.0f'): tostring and
//     the .. operator keep 14 digits on Redis, and a microsecond time has 16.
//   - A trailing window is half open, (now-window, now]: what is exactly one
//     window old has left.
//   - A denial writes nothing. It only restores a time to live that was lost.
//   - The first write is one that Redis refuses when it is out of memory, so a
//     script is refused as a whole and never half done.
//   - A stamp from the past never rolls the state back.
//   - What cannot be decided is an error also of a peek, so that whoever peeks
//     first never writes half of something.
//
// # Several budgets, several requests
//
// Several makes one script of several algorithms that charges all budgets of a
// request or none. Its convention is in several.lua. Batch makes one of an algorithm
// that decides many requests in one call; its convention is in batch.lua.
package scripts

import (
	_ "embed"
	"strings"
)

// The sources, one algorithm each.
var (
	//go:embed fixed.lua
	Fixed string
	//go:embed log.lua
	Log string
	//go:embed log-packed.lua
	logPacked string
	//go:embed log-packed-rest.lua
	logPackedRest string
	//go:embed counter.lua
	Counter string
	//go:embed gcra.lua
	GCRA string

	//go:embed several.lua
	several string
	//go:embed batch.lua
	batch string
)

// LogPacked is in two files, of which the first decides nearly everything.
var LogPacked = logPacked + logPackedRest

// CounterStrict is Counter with its one switch turned: what is carried over is
// rounded up, and so the estimate itself never exceeds max.
var CounterStrict = strings.Replace(Counter, "local strict = false", "local strict = true", 1)

// Part is an algorithm that takes part in Several.
type Part struct{ Name, Source string }

// Several is a script that decides budgets of these algorithms together.
func Several(parts []Part) string {
	var b strings.Builder
	b.WriteString("local algorithms = {}\n")
	for _, p := range parts {
		b.WriteString("algorithms['" + p.Name + "'] = " + function(p.Source))
	}
	return b.String() + several
}

// Batch is a script that decides many requests by one of an algorithm.
func Batch(source string) string { return "local decide = " + function(source) + batch }

// function makes a Lua function of a script. A script's KEYS and ARGV are globals, so
// with parameters of these names it runs unchanged on keys and arguments of our choice,
// unless it uses the arguments of the chunk itself (...).
func function(source string) string { return "function(KEYS, ARGV)\n" + source + "\nend\n" }
