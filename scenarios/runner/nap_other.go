//go:build !linux

package runner

import "time"

// nap sleeps for less than two milliseconds.
func nap(d time.Duration) { time.Sleep(d) }
