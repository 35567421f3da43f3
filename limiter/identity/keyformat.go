package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// maxFile is more than any key file has, in bytes.
const maxFile = 4096

func read(f *os.File) (r ratchet, period int64, err error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxFile))
	if err != nil {
		return ratchet{}, 0, err
	}
	return parse(string(text))
}

const (
	fileHead = "rlbench identity key, version "
	fileForm = fileHead + "1\nperiod %d\nindex %d\nbegun %d\nseen %d\nslot %x\nkey %x\n"
)

// format is the whole file. The check at its end finds damage, and changes by those
// who do not know the key.
func format(r ratchet, period int64) string {
	text := fmt.Sprintf(fileForm, period, r.index, r.begun, r.seen, r.slot[:], r.key[:])
	return text + fmt.Sprintf("check %x\n", check(r.key, text))
}

func check(key secret, text string) []byte {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(field(field(nil, labelFile), text))
	return mac.Sum(nil)
}

// parse reads what format writes, and nothing else. Its errors show nothing of
// the text but the version.
func parse(text string) (r ratchet, period int64, err error) {
	version, _, _ := strings.Cut(strings.TrimPrefix(text, fileHead), "\n")
	switch {
	case !strings.HasPrefix(text, fileHead):
		return ratchet{}, 0, errors.New("it is no key file")
	case version != "1":
		return ratchet{}, 0, fmt.Errorf("it has version %.10q, and this program knows version 1", version)
	}
	var slot, key, sum []byte
	_, err = fmt.Sscanf(text, fileForm+"check %x\n", &period, &r.index, &r.begun, &r.seen, &slot, &key, &sum)
	if err != nil || len(slot) != len(r.slot) || len(key) != len(r.key) {
		return ratchet{}, 0, errors.New("it is damaged")
	}
	copy(r.slot[:], slot)
	copy(r.key[:], key)
	if subtle.ConstantTimeCompare([]byte(text), []byte(format(r, period))) != 1 {
		return ratchet{}, 0, errors.New("it is damaged or was changed: its check does not match")
	}
	if period < 1 || period > int64(MaxPeriod/time.Second) || r.index < 0 || r.index > lastSecond/period || r.seen < 0 {
		return ratchet{}, 0, errors.New("its numbers are out of range")
	}
	return r, period, nil
}
