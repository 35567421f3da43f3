package identity

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// keyFile is a ratchet on disk. Every change of it happens under a lock of the
// file itself, and replaces the file as a whole.
type keyFile struct {
	path   string
	period int64 // in seconds
}

// Create writes a key file with a fresh random key, readable and writable by
// its owner only. It never overwrites. now is the instant at which the key
// begins; names before its period are refused. Pass the Config that Open will
// get.
//
// Several processes of one host may open the same file. Several hosts start
// from copies of it: copies, because a link would keep the former file alive.
func Create(path string, c Config, now time.Time) error {
	c = c.withDefaults()
	t, err := micros(now)
	if err := errors.Join(err, c.validate()); err != nil {
		return fmt.Errorf("create key file: %w", err)
	}
	var key secret
	_, _ = rand.Read(key[:]) // never fails: it ends the program instead
	s := c.schedule()
	period := int64(c.Period / time.Second)
	if err := write(path, format(s.first(s.index(t), key), period), nil); err != nil {
		return fmt.Errorf("create key file: %w", err)
	}
	return nil
}

// Open makes names with the key in a file that Create wrote. The file is
// replaced when keys are erased, so that the keys of former periods are no
// longer in it; it has to be writable, and so does its folder.
//
// It refuses files that others than the owner can read or write, links, damaged
// files and those of a later version. A Period other than the file's is
// refused too; zero takes the file's.
func Open(path string, c Config) (*Namer, error) {
	k := &keyFile{path: path}
	n, err := k.open(c)
	if err != nil {
		return nil, fmt.Errorf("open key file: %w", err)
	}
	return n, nil
}

func (k *keyFile) open(c Config) (*Namer, error) {
	f, err := k.lock(true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// What a crash left would keep a key that is to be erased some day.
	if err := os.Remove(k.next()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r, seconds, err := read(f)
	if err != nil {
		return nil, err
	}
	k.period = seconds
	period := time.Duration(seconds) * time.Second
	if c.Period == 0 {
		c.Period = period
	}
	c = c.withDefaults()
	if c.Period != period {
		return nil, fmt.Errorf("its period is %s, the configuration's is %s", period, c.Period)
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	n := newNamer(c, r)
	n.file = k
	return n, nil
}

var errBusy = errors.New("another process is changing the key file")

// update replaces the ratchet in the file by what change makes of it. Nothing is
// written if nothing changes.
func (k *keyFile) update(change func(ratchet) (ratchet, error)) (ratchet, error) {
	f, err := k.lock(false)
	if err != nil {
		return ratchet{}, err
	}
	defer f.Close()
	before, period, err := read(f)
	if err != nil {
		return ratchet{}, err
	}
	if period != k.period {
		return ratchet{}, errOtherKey
	}
	after, err := change(before)
	if err != nil || after == before {
		return after, err
	}
	return after, k.replace(f, after)
}

// replace puts a new file in the place of f, and blanks f.
func (k *keyFile) replace(f *os.File, r ratchet) error {
	if err := os.Remove(k.next()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := write(k.next(), format(r, k.period), f); err != nil {
		return err
	}
	if err := os.Rename(k.next(), k.path); err != nil {
		return errors.Join(err, os.Remove(k.next()))
	}
	if err := syncFolder(k.path); err != nil {
		return err
	}
	// Nobody can open the former file any more. If it cannot be blanked, it is
	// still removed.
	if info, err := f.Stat(); err == nil {
		_, _ = f.WriteAt(make([]byte, info.Size()), 0)
		_ = f.Sync()
	}
	return nil
}

// next is where the successor of the file is written.
func (k *keyFile) next() string { return k.path + ".new" }

// write creates a file, with the owner of a former one if there is one, and
// waits until it is on disk.
func write(path, text string, former *os.File) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := flock(f, true); err != nil { // nobody reads half of it
		return err
	}
	if former != nil {
		if err := sameOwner(f, former); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return syncFolder(path)
}

func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lock opens the file and keeps others from changing it until it is closed.
// Without wait it fails with errBusy if somebody else has it.
func (k *keyFile) lock(wait bool) (*os.File, error) {
	for range 100 {
		if err := k.inspect(); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(k.path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = flock(f, wait)
		if err == nil && k.holds(f) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the file is replaced again and again")
}

// holds reports whether f is still the file, and not its predecessor.
func (k *keyFile) holds(f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(k.path)
	return err == nil && os.SameFile(held, there)
}

func (k *keyFile) inspect() error {
	info, err := os.Lstat(k.path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file; a link would leave former keys where it points")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others can read or write it (mode %04o): chmod 600", info.Mode().Perm())
	}
	return nil
}
