package identity_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter/identity"
)

func TestNewKeyRefuses(t *testing.T) {
	half := testSecret()[:16]
	for _, row := range []struct {
		why    string
		secret []byte
		fault  string // empty: none
	}{
		{"random", testSecret(), ""},
		{"longer is fine", append(testSecret(), 1, 2, 3), ""},
		{"nothing", nil, "0 bytes, want at least 32"},
		{"a byte short", testSecret()[:31], "31 bytes"},
		{"zeros", make([]byte, 32), "repeats"},
		{"the same half twice is 16 random bytes", append(append([]byte{}, half...), half...), "repeats"},
		{"counting", []byte("\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f"), "evenly"},
		{"few values", []byte("\x01\xff\x80\x01\x80\xff\xff\x01\x01\x80\x01\xff\x01\x01\x80\x80\x80\xff\xff\xff\x01\x01\x01\x80\xff\x01\x80\x80\x80\xff\x01\x80"), "only 3 different"},
		{"a passphrase", []byte("correct horse battery staple, correct horse"), "it is text"},
		{"one with other letters", []byte("Falsches Üben von Xylophonmusik quält jeden"), "it is text"},
		{"hex that was not decoded", []byte(hex.EncodeToString(testSecret())), "ParseKey decodes"},
		{"the fallback of a tutorial", []byte("fallback-not-for-prod"), "21 bytes"},
	} {
		_, err := identity.NewKey(row.secret)
		switch {
		case row.fault == "" && err != nil:
			t.Errorf("%s: got error %v", row.why, err)
		case row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)):
			t.Errorf("%s: got error %v, want one with %q", row.why, err, row.fault)
		case err != nil && len(row.secret) > 0 && strings.Contains(err.Error(), string(row.secret)):
			t.Errorf("%s: the error shows the key: %v", row.why, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	s := testSecret()
	for _, row := range []struct{ why, text, fault string }{
		{"hex", hex.EncodeToString(s), ""},
		{"upper-case hex, and the newline of a file", strings.ToUpper(hex.EncodeToString(s)) + "\n", ""},
		{"base64", base64.StdEncoding.EncodeToString(s), ""},
		{"base64url", base64.URLEncoding.EncodeToString(s), ""},
		{"without padding", base64.RawURLEncoding.EncodeToString(s), ""},
		{"nothing", " \n", "it is empty"},
		{"too little hex", hex.EncodeToString(s[:31]), "31 bytes"},
		{"odd hex", hex.EncodeToString(s) + "0", "odd number"},
		{"too little base64", base64.StdEncoding.EncodeToString(s[:31]), "31 bytes"},
		{"a passphrase with spaces", "correct horse battery staple, correct horse", "neither hex nor base64"},
		{"a passphrase that happens to be base64", "correcthorsebatterystaplecorrecthorsebatteryst", "looks like a passphrase"},
		{"hex of text is still text", hex.EncodeToString([]byte("correct horse battery staple, correct horse")), "it is text"},
		{"hex of zeros", strings.Repeat("00", 32), "repeats"},
	} {
		key, err := identity.ParseKey(row.text)
		switch {
		case row.fault == "" && err != nil:
			t.Errorf("%s: got error %v", row.why, err)
		case row.fault == "":
			n, err := identity.New(key, birth, usual)
			if err != nil {
				t.Fatal(err)
			}
			if got := named(t, n, "search", "203.0.113.7", noon).Key; got != "ggojpd1fXpWseItc" {
				t.Errorf("%s: is another key: got name %s", row.why, got)
			}
		case err == nil || !strings.Contains(err.Error(), row.fault):
			t.Errorf("%s: got error %v, want one with %q", row.why, err, row.fault)
		case strings.TrimSpace(row.text) != "" && strings.Contains(err.Error(), strings.TrimSpace(row.text)):
			t.Errorf("%s: the error shows the key: %v", row.why, err)
		}
	}
}

// TestKeysAreCopied: a caller may blank its own copy.
func TestKeysAreCopied(t *testing.T) {
	secret := testSecret()
	key, err := identity.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	clear(secret)
	n, err := identity.New(key, birth, usual)
	if err != nil {
		t.Fatal(err)
	}
	if got := named(t, n, "search", "203.0.113.7", noon).Key; got != "ggojpd1fXpWseItc" {
		t.Errorf("got %s", got)
	}
}

// FuzzParseKey: no text makes it panic, or gets into its error.
func FuzzParseKey(f *testing.F) {
	f.Add(hex.EncodeToString(testSecret()))
	f.Add(base64.StdEncoding.EncodeToString(testSecret()))
	f.Add("=")
	f.Add("correct horse battery staple")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := identity.ParseKey(text)
		if err != nil && len(text) > 40 && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the key: %v", err)
		}
	})
}

// TestRandomKeysAreAccepted: the rules refuse next to no random key.
func TestRandomKeysAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		secret := hash(testSecret(), time.UnixMicro(int64(seed)).String())
		for _, text := range []string{hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret)} {
			if _, err := identity.ParseKey(text); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestConfigRefuses(t *testing.T) {
	for _, row := range []struct {
		why    string
		c      identity.Config
		faults []string
	}{
		{"the usual", usual, nil},
		{"no overlap, on purpose", identity.Config{Overlap: identity.NoOverlap}, nil},
		{"a period may be short", identity.Config{Period: 4 * time.Second, Overlap: 2 * time.Second}, nil},
		{"overlap and skew fill the period", identity.Config{Period: time.Hour, Overlap: time.Hour - 2*time.Second}, nil},
		{"every bit of a slot", identity.Config{Overlap: 1, SlotBits: 14}, nil},

		{"overlap is not defaulted", identity.Config{}, []string{"overlap is not chosen"}},
		{"a negative overlap that is no constant", identity.Config{Overlap: -2}, []string{"overlap -2ns is negative"}},
		{"more than fits", identity.Config{Period: time.Hour, Overlap: time.Hour - 2*time.Second + 1}, []string{"do not fit into the period 1h"}},
		{"sums that overflow", identity.Config{Overlap: 1<<63 - 1, Skew: 1<<63 - 1}, []string{"do not fit"}},
		{"half seconds", identity.Config{Period: 1500 * time.Millisecond, Overlap: 1}, []string{"period 1.5s: want whole seconds"}},
		{"more than a year", identity.Config{Period: identity.MaxPeriod + time.Second, Overlap: 1}, []string{"want whole seconds, 1s to 366d"}},
		{"a negative skew", identity.Config{Overlap: 1, Skew: -1}, []string{"skew -1ns is negative"}},
		{"more slots than a cluster has", identity.Config{Overlap: 1, SlotBits: 15}, []string{"slot bits 15: want 0 to 14"}},
		{"everything at once", identity.Config{Period: -1, Skew: -1, SlotBits: -1}, []string{"period", "overlap is not", "skew", "slot bits"}},
	} {
		_, err := identity.New(testKey(t), birth, row.c)
		if (err == nil) != (row.faults == nil) {
			t.Errorf("%s: got error %v, want %q", row.why, err, row.faults)
			continue
		}
		for _, fault := range row.faults {
			if !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: got error %v, want one with %q", row.why, err, fault)
			}
		}
	}
	if _, err := identity.New(identity.Key{}, birth, usual); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("without a key: got error %v", err)
	}
	if _, err := identity.New(testKey(t), time.Time{}, usual); err == nil || !strings.Contains(err.Error(), "before 1970") {
		t.Errorf("without a beginning: got error %v", err)
	}
}
