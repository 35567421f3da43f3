//go:build race

package stats

// raced is that the race detector watches, which makes everything many times slower: what has
// one goroutine is tried less often, and as often as it should be without it, by "make thorough".
const raced = true
