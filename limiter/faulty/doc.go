// Package faulty holds limiters with one known bug each. They prove that a test
// of limiters would notice the bug: whoever judges a specimen and finds nothing
// has a blind eye.
//
// Most specimens are a bundled script with one place changed; some have a script
// of their own, and some do without, because going without is the bug. Apart from
// it a specimen is as sound as the algorithm that it was copied from.
//
//	s, ok := faulty.Named("bare-timestamp-member")
//	...
//	l, err := s.Open(client, faulty.Options{Limit: limit})
//
// Never limit anything with one.
package faulty
