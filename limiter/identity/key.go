package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MinKey is the length of the shortest key, in bytes.
const MinKey = 32

// minDistinct is how many different bytes a key has at least: fewer than one
// random key of 32 bytes in 10^15 has not.
const minDistinct = 16

// Key is a secret from which all pseudonyms follow. The zero value is refused.
// It prints as a placeholder.
type Key struct{ secret []byte }

// NewKey takes a copy of at least MinKey random bytes, such as crypto/rand
// makes.
//
// It refuses what is obviously not random: bytes that repeat a pattern or that
// go up or down evenly, fewer than 16 different ones, and anything that can be
// read as text. Fewer than one random key in 10^10 is refused by mistake. The
// converse is no promise: a bad key may look random. Errors never show the key.
func NewKey(secret []byte) (Key, error) {
	if err := inspect(secret); err != nil {
		return Key{}, fmt.Errorf("key: %w", err)
	}
	return Key{bytes.Clone(secret)}, nil
}

var (
	hexForm    = regexp.MustCompile(`^[0-9A-Fa-f]+$`)
	base64Form = regexp.MustCompile(`^[0-9A-Za-z+/_-]+={0,2}$`)
)

// ParseKey reads a key that was written as hex or as base64, with either
// alphabet and with or without padding; space around it is ignored:
//
//	openssl rand -hex 32
//
// Text with only hex digits is hex. Base64 of one case only is refused,
// because that is what a passphrase looks like. Errors never show the key.
func ParseKey(text string) (Key, error) {
	secret, err := decode(strings.TrimSpace(text))
	if err != nil {
		return Key{}, fmt.Errorf("parse key: %w", err)
	}
	if err := inspect(secret); err != nil {
		return Key{}, fmt.Errorf("parse key: %w", err)
	}
	return Key{secret}, nil
}

// decode keeps the decoders' own errors out: they quote the text.
func decode(text string) ([]byte, error) {
	switch {
	case text == "":
		return nil, errors.New("it is empty")
	case hexForm.MatchString(text):
		secret, err := hex.DecodeString(text)
		if err != nil {
			return nil, errors.New("an odd number of hex digits")
		}
		return secret, nil
	case !base64Form.MatchString(text):
		return nil, errors.New("it is neither hex nor base64; make one with: openssl rand -hex 32")
	case text == strings.ToLower(text) || text == strings.ToUpper(text):
		return nil, errors.New("base64 of one case only: it looks like a passphrase; make a key with: openssl rand -hex 32")
	}
	text = strings.NewReplacer("-", "+", "_", "/", "=", "").Replace(text)
	secret, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("it is no complete base64")
	}
	return secret, nil
}

// inspect says why a key cannot be random.
func inspect(secret []byte) error {
	seen := map[byte]bool{}
	for _, b := range secret {
		seen[b] = true
	}
	switch {
	case len(secret) < MinKey:
		return fmt.Errorf("%d bytes, want at least %d random ones", len(secret), MinKey)
	case readable(secret):
		return errors.New("it is text, want random bytes: ParseKey decodes hex and base64, and a passphrase is no key")
	case repeats(secret):
		return errors.New("it repeats a shorter pattern, want random bytes")
	case even(secret):
		return errors.New("its bytes go up or down evenly, want random ones")
	case len(seen) < minDistinct:
		return fmt.Errorf("only %d different bytes, want random ones", len(seen))
	}
	return nil
}

func readable(secret []byte) bool {
	return utf8.Valid(secret) && bytes.IndexFunc(secret, func(r rune) bool {
		return !unicode.IsPrint(r) && !unicode.IsSpace(r)
	}) < 0
}

func repeats(secret []byte) bool {
	for n := 1; n <= len(secret)/2; n++ {
		if bytes.Equal(secret[n:], secret[:len(secret)-n]) {
			return true
		}
	}
	return false
}

func even(secret []byte) bool {
	for i := 2; i < len(secret); i++ {
		if secret[i]-secret[i-1] != secret[1]-secret[0] {
			return false
		}
	}
	return true
}

// Format prints a placeholder for every verb, so that keys stay out of logs.
func (k Key) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "identity.Key(secret)")
}
