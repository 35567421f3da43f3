package identity

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// TestForwardSecrecyInMemory looks into the memory of a Namer: after the overlap no
// key of the former period is in any of its fields, and none of it can be
// computed from what is there.
func TestForwardSecrecyInMemory(t *testing.T) {
	rotation := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	raw := derive([]byte("seed"), "test")
	key, err := NewKey(raw[:])
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(key, rotation.Add(-time.Hour), Config{Overlap: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	who := Account("c")
	name := func(at time.Time) {
		if _, err := n.Name("s", who, at); err != nil {
			t.Fatal(err)
		}
	}
	name(rotation.Add(-time.Minute))
	name(rotation)

	former := n.ratchet.key
	formerNames := n.view.Load().find(n.ratchet.index)
	formerName := formerNames.key
	if formerName != derive(former[:], labelName) {
		t.Fatal("the test does not look at the former name key")
	}
	for _, s := range []secret{former, formerName} {
		if !holds(n, s) {
			t.Fatal("before the erasure a former key is not where the test looks for it")
		}
	}

	name(rotation.Add(time.Minute + 2*time.Second))
	name(rotation.Add(time.Minute + 2*time.Second + time.Hour))
	for _, s := range []secret{former, formerName} {
		if holds(n, s) {
			t.Error("a former key is still in memory")
		}
	}
	if formerNames.key != (secret{}) || !formerNames.erased {
		t.Error("the former name key is not overwritten")
	}
	if n.ratchet.key != derive(former[:], labelNext) {
		t.Error("the key that is left is not the former one's successor")
	}
	// A caller that still holds the erased keys makes no wrong name with them.
	for range 10 {
		formerNames.free.Get()
	}
	if _, ok := formerNames.appendName(nil, "s", who); ok {
		t.Error("an erased key made a name")
	}
}

// TestBuffersForgetClients: what is kept for the next name has no address or
// account in it.
func TestBuffersForgetClients(t *testing.T) {
	m := &macs{key: derive([]byte("seed"), "test")}
	account := strings.Repeat("account of somebody ", 10)
	for range 100 { // with the race detector a pool forgets at times
		m.appendName(nil, "s", Account(account))
		s, ok := m.free.Get().(*mac)
		if !ok {
			continue
		}
		if bytes.Contains(s.message[:cap(s.message)], []byte("somebody")) {
			t.Fatal("the account is still in the buffer")
		}
		return
	}
	t.Fatal("the pool kept nothing")
}

// holds looks for a key in the bytes of the Namer and of all name keys that it
// can reach.
func holds(n *Namer, s secret) bool {
	if bytes.Contains(unsafe.Slice((*byte)(unsafe.Pointer(n)), unsafe.Sizeof(*n)), s[:]) {
		return true
	}
	for _, e := range n.view.Load().epochs {
		if bytes.Contains(e.names.key[:], s[:]) {
			return true
		}
	}
	return false
}
