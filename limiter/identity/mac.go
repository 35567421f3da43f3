package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"sync"
)

// The labels keep the uses of a key apart.
const (
	labelAddress = "rlbench/identity/v1 address"
	labelAccount = "rlbench/identity/v1 account"
	labelShard   = "rlbench/identity/v1 shard"
	labelRoot    = "rlbench/identity/v1 root"
	labelNext    = "rlbench/identity/v1 next"
	labelName    = "rlbench/identity/v1 name"
	labelSlot    = "rlbench/identity/v1 slot"
	labelFile    = "rlbench/identity/v1 file"
)

// nameBytes is how much of a digest becomes a name; doc.go says why.
const nameBytes = 12

// secret is a key of ours.
type secret [sha256.Size]byte

// field appends x with its length before it, so that no two lists of fields are
// the same bytes. The callers keep x below 2^16 bytes.
func field[T ~string | ~[]byte](dst []byte, x T) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(x)))
	return append(dst, x...)
}

// derive makes a key for one use from another key.
func derive(key []byte, label string) (s secret) {
	mac := hmac.New(sha256.New, key)
	mac.Write(field(nil, label))
	mac.Sum(s[:0])
	return s
}

// macs computes HMACs with one key, for any number of callers at a time. It
// reuses states: to make one costs more than a digest.
type macs struct {
	mu     sync.Mutex // guards key and erased
	key    secret
	erased bool
	free   sync.Pool // of *mac
}

// mac is the state of one computation.
type mac struct {
	hash    hash.Hash
	message []byte
}

// borrow is nil if the key was erased.
func (m *macs) borrow() *mac {
	if s, ok := m.free.Get().(*mac); ok {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.erased {
		return nil
	}
	return &mac{hash: hmac.New(sha256.New, m.key[:])}
}

// digest leaves the digest of s.message there, and nothing of the message. It is
// valid until s is put back.
func (s *mac) digest() []byte {
	s.hash.Reset()
	s.hash.Write(s.message)
	clear(s.message)
	s.message = s.hash.Sum(s.message[:0])
	return s.message
}

// appendName appends the pseudonym of a client in a scope, or says that the key
// was erased.
func (m *macs) appendName(dst []byte, scope string, c Client) ([]byte, bool) {
	s := m.borrow()
	if s == nil {
		return dst, false
	}
	s.message = c.appendTo(field(field(s.message[:0], c.label()), scope))
	dst = base64.RawURLEncoding.AppendEncode(dst, s.digest()[:nameBytes])
	m.free.Put(s)
	return dst, true
}

// shard is the first bits of the digest of what a client shares a slot with.
func (m *macs) shard(c Client, bits int) uint64 {
	s := m.borrow()
	s.message = c.shardOf().appendTo(field(s.message[:0], labelShard))
	top := binary.BigEndian.Uint64(s.digest())
	m.free.Put(s)
	return top >> (64 - bits)
}

// erase overwrites the key. The states that crypto/hmac made of it are left to
// the garbage collector.
func (m *macs) erase() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.key[:])
	m.erased = true
}
