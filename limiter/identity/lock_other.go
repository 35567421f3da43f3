//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package identity

import (
	"errors"
	"os"
)

// flock has no counterpart here that is as simple, and modes of files do not
// protect keys everywhere.
func flock(*os.File, bool) error {
	return errors.New("key files need Linux, macOS or a BSD: keep the key elsewhere and use New")
}

func sameOwner(_, _ *os.File) error { return nil }
