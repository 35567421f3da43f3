//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package identity

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestNoUpdateIsLost: many writers of one file, each adding one. Who waited for
// a file that was replaced meanwhile must not take it for the current one.
func TestNoUpdateIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := Create(path, Config{Overlap: time.Minute}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 50
	add := func(r ratchet) (ratchet, error) {
		r.seen++
		return r, nil
	}
	var wg sync.WaitGroup
	for range writers {
		k := &keyFile{path: path, period: 86400}
		wg.Go(func() {
			for done := 0; done < each; {
				_, err := k.update(add)
				switch {
				case err == nil:
					done++
				case !errors.Is(err, errBusy):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	k := &keyFile{path: path, period: 86400}
	r, err := k.update(func(r ratchet) (ratchet, error) { return r, nil })
	if err != nil || r.seen != writers*each {
		t.Errorf("%d of %d updates are in the file, %v", r.seen, writers*each, err)
	}
}
