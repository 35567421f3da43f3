//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package identity_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/identity"
)

// TestTwoInstances share a file: they name alike, neither moves it back, and
// the one that comes second adopts what the first one did.
func TestTwoInstances(t *testing.T) {
	path := create(t)
	a, b := openFile(t, path), openFile(t, path)
	busy(t, a)
	after := content(t, path)
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{noon, T, erased.Add(-time.Hour - us)} {
		named(t, b, "s", who, at) // still has the former key in memory
	}
	if content(t, path) != after {
		t.Error("the second instance moved the file back")
	}
	if x, y := named(t, a, "s", who, erased), named(t, b, "s", who, erased); x != y {
		t.Errorf("named %v and %v", x, y)
	}
	if got := b.Status(); !got.Oldest.Equal(T) || got.Err != nil {
		t.Errorf("the second instance did not adopt what the first one did: %+v", got)
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(file, again) {
		t.Errorf("the second instance replaced the file by the same: %v", err)
	}
}

// TestRestoredBackup under a running service is brought forward again.
func TestRestoredBackup(t *testing.T) {
	path := create(t)
	backup := content(t, path)
	n := openFile(t, path)
	busy(t, n)
	if err := os.WriteFile(path, []byte(backup), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.Maintain(erased.Add(us)); err != nil {
		t.Fatal(err)
	}
	if content(t, path) == backup {
		t.Error("the former key is back on disk")
	}
}

// TestOverlapRaised after the former key was erased: it cannot be read any
// more, and that is no reason to refuse names. An instant before the erasure
// still is.
func TestOverlapRaised(t *testing.T) {
	path := create(t)
	busy(t, openFile(t, path))
	n, err := identity.Open(path, identity.Config{Overlap: 12 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if got := named(t, n, "s", who, erased.Add(time.Minute)); got.Also != "" || got.Key == "" {
		t.Errorf("got %+v, want one name", got)
	}
	if _, err := n.Name("s", client(t, who), erased.Add(-time.Minute)); !errors.Is(err, identity.ErrPast) {
		t.Errorf("before the erasure: got error %v, want ErrPast", err)
	}
}

// TestTrouble with the file keeps no name from being given, and is reported.
func TestTrouble(t *testing.T) {
	for _, row := range []struct {
		why   string
		do    func(path string) error
		fault string
	}{
		{"removed", os.Remove, "no such file"},
		{"opened to others", func(p string) error { return os.Chmod(p, 0o644) }, "others can read"},
		{"damaged", func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }, "no key file"},
		{"no place for its successor", func(p string) error {
			return errors.Join(os.Mkdir(p+".new", 0o700), os.WriteFile(filepath.Join(p+".new", "x"), nil, 0o600))
		}, "directory not empty"},
		{"replaced by another key", func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return identity.Create(p, usual, noon)
		}, "other origin"},
	} {
		path := create(t)
		n := openFile(t, path)
		before := named(t, n, "s", who, noon)
		if err := row.do(path); err != nil {
			t.Fatal(err)
		}
		busy(t, n)
		if err := n.Status().Err; err == nil || !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: reported %v, want an error with %q", row.why, err, row.fault)
		}
		if got := named(t, n, "s", who, T); got.Also != before.Key {
			t.Errorf("%s: the name changed from %v to %v", row.why, before, got)
		}
	}
}

// TestTroubleIsTriedAgain, but not with every request.
func TestTroubleIsTriedAgain(t *testing.T) {
	path := create(t)
	n := openFile(t, path)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	busy(t, n)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	named(t, n, "s", who, erased.Add(time.Minute-us))
	if n.Status().Err == nil {
		t.Error("tried again within a minute")
	}
	named(t, n, "s", who, erased.Add(time.Minute))
	named(t, n, "s", who, erased.Add(2*time.Hour))
	if got := n.Status(); got.Err != nil || !got.Oldest.Equal(T) {
		t.Errorf("after the trouble was over: %+v", got)
	}
}

// TestManyInstances rotate one file at the same time.
func TestManyInstances(t *testing.T) {
	path := create(t)
	var wg sync.WaitGroup
	names := make([]identity.Name, 8)
	me := client(t, who)
	var instances []*identity.Namer
	for range names {
		instances = append(instances, openFile(t, path))
	}
	for i, n := range instances {
		wg.Go(func() {
			for m := range 24 * 60 {
				at := T.Add(time.Duration(m) * time.Minute)
				name, err := n.Name("s", me, at)
				if err != nil {
					t.Errorf("at %s: %v", at, err)
					return
				}
				names[i] = name
			}
			if err := n.Status().Err; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		if name != names[0] {
			t.Errorf("named %v and %v", names[0], name)
		}
	}
	if got := openFile(t, path).Status().Oldest; !got.Equal(T) {
		t.Errorf("the file has keys from %s on, want from %s on", got, T)
	}
}
