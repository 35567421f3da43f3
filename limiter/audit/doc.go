// Package audit sweeps a Redis for what a rate limiter should not leave there:
// keys that never expire, IP addresses in any spelling, and what is as good as
// an address because anybody can compute it. It only reads.
//
//	result, err := audit.Run(ctx, client, audit.Options{Now: time.Now(), Addresses: known})
//
// Without addresses it finds those that are written out. With some that are known
// to have been served, it also finds these packed into numbers or bytes, hashed
// without a secret, and hashed with secrets that everybody knows.
//
// What it returns is fit to be printed: addresses are cut down to their first
// part, whatever they were found in.
package audit
