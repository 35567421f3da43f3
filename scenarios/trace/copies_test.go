package trace

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A rotated log beside its compressed copy would count twice; logs of servers that are alike
// are no copies.
func TestReaderRefusesCopies(t *testing.T) {
	log, other := "", ""
	for i := range 30 {
		log += lineAt(i, "192.0.2.1")
		other += lineAt(i, fmt.Sprintf("192.0.2.%d", 1+i/3))
	}
	for name, files := range map[string][]string{
		"compressed": {log, zipped(t, log)}, "longer": {log, other, log + lineAt(31, "192.0.2.9")}, "shorter": {log, strings.Join(strings.SplitAfter(log, "\n")[:20], "")},
		"torn": {log, zipped(t, log)[:len(zipped(t, log))-9]},
	} {
		_, _, err := readAll(t, Options{}, files...)
		if !errors.Is(err, ErrTwice) || !strings.Contains(err.Error(), "all of ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, files := range map[string][]string{
		"a burst before others": {log + lineAt(40, "192.0.2.7"), log + lineAt(41, "192.0.2.8")}, "few lines": {lineAt(0, "192.0.2.1"), lineAt(0, "192.0.2.1")},
	} {
		if all, _, err := readAll(t, Options{}, files...); err != nil || len(all) != strings.Count(strings.Join(files, ""), "\n") {
			t.Errorf("%s: %d requests, %v", name, len(all), err)
		}
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(lineAt(0, "192.0.2.1")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open([]string{path, path}, Options{}); !errors.Is(err, ErrTwice) {
		t.Errorf("a file twice: %v", err)
	}
	if all, s, err := readAll(t, Options{}, log, other); err != nil || len(all) != 60 || s.Late != 0 {
		t.Errorf("of two servers: %d requests, %+v, %v", len(all), s, err)
	}
}

// What is too late says how far, so that there can be room for it; and the longest gap is told.
func TestReaderTellsHowLate(t *testing.T) {
	log := ""
	for i := range 400 {
		log += lineAt(i, "192.0.2.1")
	}
	log += lineAt(4000, "192.0.2.1") + lineAt(4001, "192.0.2.1") + lineAt(900, "192.0.2.2")
	all, s, err := readAll(t, Options{}, log)
	if err != nil || len(all) != 403 || s.Late != 0 || s.Gap != 3100*second || s.GapFrom != all[400].At {
		t.Errorf("%d requests, late %d, gap of %d µs from %d, %v", len(all), s.Late, s.Gap, s.GapFrom, err)
	}
	_, s, err = readAll(t, Options{}, log+lineAt(100, "192.0.2.3"))
	if err != nil || s.Late != 1 || s.Latest != 3900*second {
		t.Errorf("late %d, by %d µs, %v", s.Late, s.Latest, err)
	}
}

// bzipped is two lines of lineAt(0, "192.0.2.1") and lineAt(1, "192.0.2.2"), made by bzip2.
const bzipped = "QlpoOTFBWSZTWQERLdAAADHfAEAQUAv0MAPARAoSACAAYCqmptU9NTTRiNohQaNGgyA0ukhhplHry5Ss1SpZoUkzpVFkuXTdKUU2Q4zZN1aKq0TTVuyuhdLw6Zmqr6hhZsu4codKsO3b+LuSKcKEgAiJboA="

func TestReaderKnowsCompressions(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	if all, _, err := readAll(t, Options{}, string(data)); err != nil || len(all) != 2 {
		t.Errorf("bzip2: %d requests, %v", len(all), err)
	}
	xz := append([]byte{0xfd, '7', 'z', 'X', 'Z', 0}, bytes.Repeat([]byte{7}, 100)...)
	if _, _, err := readAll(t, Options{}, string(xz)); !errors.Is(err, ErrXZ) {
		t.Errorf("xz: %v", err)
	}
}
