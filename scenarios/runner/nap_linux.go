package runner

import (
	"syscall"
	"time"
)

// nap sleeps for less than two milliseconds. The runtime's own timers end on
// whole milliseconds when nothing else happens, because epoll_wait counts in
// them; the system call is accurate to some 50 µs, and costs a thread that long.
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil) // woken early by a signal: the caller looks at the clock anyway
}
