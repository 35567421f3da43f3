//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package identity

import (
	"errors"
	"os"
	"syscall"
)

// flock locks a file until it is closed.
func flock(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errBusy
		case !errors.Is(err, syscall.EINTR):
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// sameOwner gives f to the owner of former: root may maintain the file of a
// service.
func sameOwner(f, former *os.File) error {
	info, err := former.Stat()
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(s.Uid), int(s.Gid))
	}
	return nil
}
