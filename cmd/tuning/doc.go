// Package tuning asks an access log which policy is right for its traffic: it plays the log
// through many at once and recommends one, with what each would have done as evidence.
package tuning
