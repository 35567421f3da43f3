package identity

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Namer gives clients their pseudonyms. It is safe for concurrent use and needs
// no closing. It prints as a placeholder.
type Namer struct {
	schedule schedule
	slotBits int
	slots    *macs
	view     atomic.Pointer[view]

	mu      sync.Mutex // guards all below, and who replaces view
	ratchet ratchet
	file    *keyFile // nil: the key is in memory only
	failed  error    // of the last attempt to erase
}

// view is what names are made with, without a lock. It does not change.
type view struct {
	oldest, begun int64 // of the ratchet
	epochs        []epoch
	quiet         [2]int64 // from, to: between them keys stay as they are
}

// epoch is a period and its name key.
type epoch struct {
	index int64
	names *macs
}

// New makes names with a key that the caller keeps, such as one from a secrets
// manager. The key is that of the period that since is in, and all servers need the
// same since: the day on which the key was made will do.
//
// Whoever keeps the key can compute the names of every period from since on, so
// what a Namer erases in memory is no gain until the key itself is replaced.
// Use Open for that gain.
//
// When a Namer is first asked for a name, since is at most MaxAhead periods ago.
func New(key Key, since time.Time, c Config) (*Namer, error) {
	c = c.withDefaults()
	t, err := micros(since)
	if len(key.secret) == 0 {
		err = errors.Join(errors.New("no key: make one with NewKey or ParseKey"), err)
	}
	if err := errors.Join(err, c.validate()); err != nil {
		return nil, fmt.Errorf("new namer: %w", err)
	}
	s := c.schedule()
	return newNamer(c, s.first(s.index(t), derive(key.secret, labelRoot))), nil
}

// newNamer takes a valid configuration.
func newNamer(c Config, r ratchet) *Namer {
	n := &Namer{schedule: c.schedule(), slotBits: c.SlotBits, slots: &macs{key: r.slot}, ratchet: r}
	n.publish(nil)
	return n
}

// Name is the pseudonyms of a client at an instant. Its fields are those of
// limiter.Request.
type Name struct {
	// Key is the pseudonym: 16 characters of base64url.
	Key string
	// Also is the pseudonym on the other side of a rotation that is near; empty
	// if none is.
	Also string
	// Slot is a decimal number below 2^SlotBits; empty if SlotBits is 0.
	Slot string
}

// Name is the name of a client in a scope. The scope is the policy or endpoint
// whose budget is charged, or "" for budgets that span all: a client's names in
// two scopes cannot be linked without the key, other than by Slot.
//
// Once or twice in a period it also writes the key file, as Maintain does. A
// failure to do so does not keep a name from being given; Status tells.
//
// Errors: a client who is nobody, a scope or an account that is too long, an
// instant before 1970, ErrPast and ErrFuture. No error shows the client.
func (n *Namer) Name(scope string, c Client, at time.Time) (Name, error) {
	t, err := micros(at)
	if err == nil {
		err = c.validate()
	}
	if err == nil && len(scope) > MaxScope {
		err = fmt.Errorf("scope of %d bytes, want at most %d", len(scope), MaxScope)
	}
	if err != nil {
		return Name{}, fmt.Errorf("name a client: %w", err)
	}
	name, err := n.name(scope, c, t)
	if err != nil {
		return Name{}, fmt.Errorf("name a client at %s: %w", at.UTC().Format(time.RFC3339Nano), err)
	}
	return name, nil
}

func (n *Namer) name(scope string, c Client, t int64) (Name, error) {
	key, also, err := n.keys(t)
	if err != nil {
		return Name{}, err
	}
	var room [64]byte // for both pseudonyms and the slot: one string holds all
	text, ok := key.appendName(room[:0], scope, c)
	first, second := len(text), len(text)
	if also != nil && ok {
		text, ok = also.appendName(text, scope, c)
		second = len(text)
	}
	if !ok {
		return Name{}, ErrPast // erased since keys looked
	}
	if n.slotBits > 0 {
		text = strconv.AppendUint(text, n.slots.shard(c, n.slotBits), 10)
	}
	s := string(text)
	return Name{Key: s[:first], Also: s[first:second], Slot: s[second:]}, nil
}

// keys are the name keys of an instant; also is nil if there is one only.
func (n *Namer) keys(t int64) (key, also *macs, err error) {
	v, index, other := n.view.Load(), n.schedule.index(t), n.schedule.other(t)
	if index-v.oldest > MaxAhead {
		return nil, nil, ErrFuture
	}
	if t < v.quiet[0] || t >= v.quiet[1] {
		v = n.tryMaintain(t)
	}
	if other == v.oldest-1 && index == v.oldest && t >= v.begun {
		other = -1 // nothing of use was ever written under it, or it is too long ago
	}
	if index < v.oldest || other != -1 && other < v.oldest {
		return nil, nil, ErrPast
	}
	if key, also = v.find(index), v.find(other); key != nil && (also != nil || other == -1) {
		return key, also, nil
	}
	return n.reach(index, other)
}

func (v *view) find(index int64) *macs {
	for _, e := range v.epochs {
		if e.index == index {
			return e.names
		}
	}
	return nil
}

// reach makes the name keys around a period, from a copy of the oldest key.
func (n *Namer) reach(index, other int64) (key, also *macs, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if index < n.ratchet.index || other != -1 && other < n.ratchet.index {
		return nil, nil, ErrPast
	}
	old := n.view.Load()
	var epochs []epoch
	r := n.ratchet
	for i := max(index-1, r.index); i <= index+1; i++ {
		names := old.find(i)
		if names == nil {
			r = r.forward(i)
			names = &macs{key: derive(r.key[:], labelName)}
		}
		epochs = append(epochs, epoch{i, names})
	}
	n.publish(epochs)
	v := n.view.Load()
	return v.find(index), v.find(other), nil
}

// publish shows the ratchet and these epochs to callers of Name, except for
// those that are erased. The caller holds mu, if anybody else knows n.
func (n *Namer) publish(epochs []epoch) {
	v := &view{oldest: n.ratchet.index, begun: n.ratchet.begun}
	for _, e := range epochs {
		if e.index < v.oldest {
			e.names.erase()
			continue
		}
		v.epochs = append(v.epochs, e)
	}
	v.quiet[0], v.quiet[1] = n.schedule.watch(n.ratchet)
	n.view.Store(v)
}

// Format prints a placeholder for every verb, so that keys stay out of logs.
func (n *Namer) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "identity.Namer(secret)")
}
