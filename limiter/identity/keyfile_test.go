//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package identity_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/identity"
)

// erased is when the key that ends at T is erased in a busy service.
var erased = T.Add(usual.Overlap + 2*usual.Skew + time.Hour)

func create(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "identity.key")
	if err := identity.Create(path, usual, noon); err != nil {
		t.Fatal(err)
	}
	return path
}

func openFile(t *testing.T, path string) *identity.Namer {
	t.Helper()
	n, err := identity.Open(path, usual)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// value is a line of a key file.
func value(t *testing.T, path, name string) string {
	t.Helper()
	for line := range strings.Lines(content(t, path)) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatalf("no line %q in %s", name, content(t, path))
	return ""
}

// busy goes through the instants at which a busy service would have noticed the
// end of the period at T.
func busy(t *testing.T, n *identity.Namer) {
	t.Helper()
	for _, at := range []time.Time{T.Add(-time.Hour), T, erased.Add(-time.Hour), erased} {
		named(t, n, "s", who, at)
	}
}

// TestKeyFileFormat: the file is what it is documented to be, computed here
// without the package.
func TestKeyFileFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	key := hash(testSecret(), "rlbench/identity/v1 root")
	slot := hash(key, "rlbench/identity/v1 slot")
	body := fmt.Sprintf("rlbench identity key, version 1\nperiod 86400\nindex %d\nbegun %d\nseen 0\nslot %x\nkey %x\n",
		birth.Unix()/86400, birth.UnixMicro(), slot, key)
	text := body + fmt.Sprintf("check %x\n", hash(key, "rlbench/identity/v1 file", body))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := usual
	c.SlotBits = 14
	n, err := identity.Open(path, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := named(t, n, "search", "203.0.113.7", noon); got != (identity.Name{Key: "ggojpd1fXpWseItc", Slot: "1565"}) {
		t.Errorf("got %+v", got)
	}
	busy(t, n)
	next := hash(key, "rlbench/identity/v1 next")
	if got := value(t, path, "key"); got != hex.EncodeToString(next) {
		t.Errorf("the file holds key %s after the rotation, want %x", got, next)
	}
	if got := value(t, path, "slot"); got != hex.EncodeToString(slot) {
		t.Errorf("the slot key changed")
	}
}

// TestCreate makes a secret that only the owner reads, and only once.
func TestCreate(t *testing.T) {
	path := create(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	before := content(t, path)
	if err := identity.Create(path, usual, noon); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second time: got error %v, want that the file exists", err)
	}
	if content(t, path) != before {
		t.Error("the second Create changed the file")
	}
	if other := create(t); value(t, other, "key") == value(t, path, "key") {
		t.Error("two files have the same key")
	}
	if err := identity.Create(filepath.Join(t.TempDir(), "x"), identity.Config{}, noon); err == nil ||
		!strings.Contains(err.Error(), "overlap is not chosen") {
		t.Errorf("with a bad configuration: got error %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	good := content(t, create(t))
	change := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for _, row := range []struct {
		why, text string
		mode      os.FileMode
		c         identity.Config
		fault     string // empty: none
	}{
		{"as it was created", good, 0o600, usual, ""},
		{"its period by name", good, 0o600, identity.Config{Period: day, Overlap: 1}, ""},
		{"the group reads it", good, 0o640, usual, "others can read or write it (mode 0640)"},
		{"everybody writes it", good, 0o602, usual, "others can read or write it"},
		{"empty", "", 0o600, usual, "no key file"},
		{"something else", "-----BEGIN PRIVATE KEY-----\n", 0o600, usual, "no key file"},
		{"a later version", change("version 1", "version 2"), 0o600, usual, `it has version "2"`},
		{"cut off", good[:len(good)-1], 0o600, usual, "damaged"},
		{"cut in the middle", good[:len(good)/2], 0o600, usual, "damaged"},
		{"something after it", good + "x", 0o600, usual, "damaged"},
		{"moved back a period", change(fmt.Sprintf("index %d", birth.Unix()/86400), fmt.Sprintf("index %d", birth.Unix()/86400-1)), 0o600, usual, "check does not match"},
		{"another key", change("key ", "key 0")[:len(good)], 0o600, usual, "damaged"},
		{"another spelling", change("seen 0", "seen +0"), 0o600, usual, "damaged"},
		{"another period than configured", good, 0o600, identity.Config{Period: time.Hour, Overlap: 1}, "its period is 24h0m0s"},
		{"a bad configuration", good, 0o600, identity.Config{}, "overlap is not chosen"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, row.mode); err != nil {
			t.Fatal(err)
		}
		_, err := identity.Open(path, row.c)
		switch {
		case row.fault == "" && err != nil:
			t.Errorf("%s: got error %v", row.why, err)
		case row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)):
			t.Errorf("%s: got error %v, want one with %q", row.why, err, row.fault)
		}
	}
	if _, err := identity.Open(filepath.Join(t.TempDir(), "none"), usual); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got error %v", err)
	}
	path := create(t)
	if err := os.Symlink(path, path+".link"); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Open(path+".link", usual); err == nil || !strings.Contains(err.Error(), "a link would leave") {
		t.Errorf("a link: got error %v", err)
	}
}

// TestForwardSecrecyOnDisk: after the overlap the folder has no trace of the
// former key, and a restart names as before.
func TestForwardSecrecyOnDisk(t *testing.T) {
	path := create(t)
	former := value(t, path, "key")
	n := openFile(t, path)
	busy(t, n)
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("files in the folder: %v, %v, want the key file alone", files, err)
	}
	if strings.Contains(content(t, path), former) {
		t.Error("the former key is still in the file")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	again := openFile(t, path)
	if a, b := named(t, n, "s", who, erased), named(t, again, "s", who, erased); a != b {
		t.Errorf("named %v before the restart and %v after it", a, b)
	}
	if _, err := again.Name("s", client(t, who), T.Add(-us)); !errors.Is(err, identity.ErrPast) {
		t.Errorf("a name of the former period: got error %v, want ErrPast", err)
	}
}

// TestFormerFileIsBlanked: who still has the former file open reads no key.
func TestFormerFileIsBlanked(t *testing.T) {
	path := create(t)
	former := value(t, path, "key")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	busy(t, openFile(t, path))
	data := make([]byte, 4096)
	if n, _ := f.ReadAt(data, 0); strings.Contains(string(data[:n]), former) {
		t.Error("the former file still has its key")
	}
}

// TestRestarts at every stage of a rotation change no name and lose no
// progress: a service that is restarted at every request erases as well.
func TestRestarts(t *testing.T) {
	path := create(t)
	steady := openFile(t, path)
	want := map[time.Time]identity.Name{}
	instants := []time.Time{
		noon, T.Add(-us), T, T.Add(time.Minute), T.Add(usual.Overlap), erased.Add(-time.Hour),
		erased.Add(-us), erased, T.Add(day),
	}
	for _, at := range instants {
		want[at] = named(t, steady, "s", who, at)
	}
	// Its own copy of the file as it was: what the first one did may not matter.
	other := filepath.Join(t.TempDir(), "copy")
	copied := create(t)
	data := content(t, copied)
	if err := os.WriteFile(other, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	former := value(t, other, "key")
	steady = openFile(t, copied)
	for _, at := range instants {
		if a, b := named(t, steady, "s", who, at), named(t, openFile(t, other), "s", who, at); a != b {
			t.Errorf("at %s: named %v, and %v after a restart", at, a, b)
		}
	}
	if value(t, other, "key") == former {
		t.Error("restarts kept the former key from being erased")
	}
	if want[T].Also != want[noon].Key || want[T].Key != want[T.Add(-us)].Also {
		t.Errorf("names do not overlap: %v", want)
	}
}

// TestCrash between the two steps of a replacement: what is left is ignored and
// removed, whole or not.
func TestCrash(t *testing.T) {
	for _, left := range []string{"", "rlbench identity key, version 1\nperiod 864", "whole"} {
		path := create(t)
		before := content(t, path)
		if left == "whole" {
			copied := create(t)
			busy(t, openFile(t, copied))
			left = content(t, copied)
		}
		if err := os.WriteFile(path+".new", []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		n := openFile(t, path)
		if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what the crash left is still there: %v", err)
		}
		if content(t, path) != before {
			t.Error("opening changed the file")
		}
		busy(t, n)
		if err := n.Status().Err; err != nil || content(t, path) == before {
			t.Errorf("it did not rotate: %v", err)
		}
	}
}
