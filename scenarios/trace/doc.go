// Package trace reads access logs as arrivals: who came when, for what, and how it was
// answered. Clients are pseudonyms from the first moment on, under a key that nobody has
// after the run.
//
// A log is not a record of arrivals. Lines are written when a response is complete, so
// that they are out of order; many stamps are of whole seconds; and what was refused
// came back, or did not. A Reader puts lines in order again, takes durations off where
// they were logged, and says what it could not know: Summary.
package trace
