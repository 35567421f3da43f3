package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	v4    = netip.MustParseAddr("203.0.113.7")
	v6    = netip.MustParseAddr("2001:db8::cafe:1")
	today = time.Date(2026, 7, 31, 23, 0, 0, 0, time.UTC)
)

func matcher(t testing.TB, given ...netip.Addr) *Matcher {
	t.Helper()
	m, err := NewMatcher(given, today)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sha(text string) []byte { sum := sha256.Sum256([]byte(text)); return sum[:] }

func mac(secret, text string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// disguise is one way to write v4 or v6.
type disguise struct {
	item string
	code Code
	form string
	why  string
}

func disguises() []disguise {
	raw := v6.As16()
	md5sum, sha1sum := md5.Sum([]byte(v4.String())), sha1.Sum([]byte(v4.String()))
	return []disguise{
		{"rl:{203.0.113.7}:1", AddressText, "ipv4", "in a hash tag"},
		{"203%2E0%2E113%2E7", AddressText, "ipv4, percent-encoded", "escaped as in a URL"},
		{"a=2001%3Adb8%3A%3Acafe%3A1&b", AddressText, "ipv6, percent-encoded", "escaped as browsers do"},
		{"2001%253adb8%253a%253acafe%253a1", AddressText, "ipv6, percent-encoded", "escaped twice"},
		{"7.113.0.203.in-addr.arpa", AddressText, "in-addr.arpa", "a reverse name"},
		{"1.0.0.0.e.f.a.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", AddressText, "ip6.arpa", "a reverse name of IPv6"},
		{"ip-203-0-113-7.local", AddressPacked, "four numbers", "in the name of a host"},
		{"1764590400.203.0.113.7", AddressPacked, "four numbers", "behind a fifth number"},
		{"rl:203_0_113_7", AddressPacked, "four numbers", "with underscores"},
		{"7.113.0.203", AddressText, "ipv4", "reversed is an address too"},
		{"7-113-0-203", AddressPacked, "reversed", "reversed with another separator"},
		{"2001-db8--cafe-1.ipv6-literal.net", AddressText, "ipv6 with -", "in the name of a share"},
		{"rl:cb007107:1", AddressPacked, "hex", "hexadecimal"},
		{"0xCB007107", AddressPacked, "hex", "in capitals, as in C"},
		{"077100cb", AddressPacked, "reversed hex", "in the order of Intel"},
		{"20010db80000000000000000cafe0001", AddressPacked, "hex", "IPv6 without colons"},
		{"rl:3405803783", AddressPacked, "decimal", "as INET_ATON writes it"},
		{"42540766411282592856903984955059470337", AddressPacked, "decimal", "IPv6 as a number"},
		{"rl:{ywBxBw}", AddressPacked, "base64", "base64 without padding"},
		{"ywBxBw==", AddressPacked, "base64", "and with it"},
		{"u_ywBxBw", AddressPacked, "base64", "behind an underscore, which is of the alphabet of URLs"},
		{base64.StdEncoding.EncodeToString([]byte(v4.String())), AddressPacked, "base64 of its text", "base64 of the text"},
		{"\xcb\x00\x71\x07", AddressPacked, "binary", "four bytes"},
		{"rl:{\xcb\x00\x71\x07}", AddressPacked, "binary", "four bytes in a key"},
		{"rl:" + string(raw[:]), AddressPacked, "binary", "sixteen bytes"},
		{hex.EncodeToString(md5sum[:]), AddressHashed, "md5 in hex", "MD5"},
		{"rl:" + strings.ToUpper(hex.EncodeToString(sha1sum[:])) + ":x", AddressHashed, "sha1 in hex", "SHA-1 in capitals"},
		{hex.EncodeToString(sha(v4.String()))[:16], AddressHashed, "sha256 in hex", "cut to 16 digits"},
		{hex.EncodeToString(sha(v4.String()))[48:], AddressHashed, "sha256 in hex", "the last 16 digits"},
		{hex.EncodeToString(sha("::ffff:203.0.113.7"))[:24], AddressHashed, "sha256 in hex", "mapped"},
		{base64.RawURLEncoding.EncodeToString(sha(v6.String())), AddressHashed, "sha256 in base64", "base64 of URLs"},
		{base64.StdEncoding.EncodeToString(sha(v6.String())[:12]), AddressHashed, "sha256 in base64", "base64 of a part"},
		{string(sha(v4.String())), AddressHashed, "sha256, binary", "as bytes"},
		{"m\x00" + string(sha(v4.String())[:10]), AddressHashed, "sha256, binary", "as some bytes in a record"},
		{hex.EncodeToString(sha("203.0.113.7|2026-07-31")), AddressHashed, "sha256 with a date in hex", "today"},
		{hex.EncodeToString(sha("20260730:203.0.113.7")), AddressHashed, "sha256 with a date in hex", "yesterday, the other way round"},
		{hex.EncodeToString(sha("203.0.113.7-2026-08-01")), AddressHashed, "sha256 with a date in hex", "where it is tomorrow already"},
		{hex.EncodeToString(sha("2001:db8::/64")), AddressHashed, "sha256 in hex", "a network of IPv6"},
		{hex.EncodeToString(sha("2001:DB8::CAFE:1")), AddressHashed, "sha256 in hex", "IPv6 in capitals"},
		{hex.EncodeToString(sha("2001:0db8:0000:0000:0000:0000:cafe:0001")), AddressHashed, "sha256 in hex", "IPv6 in full"},
		{hex.EncodeToString(sha("\xcb\x00\x71\x07")), AddressHashed, "sha256 in hex", "of its bytes"},
		{hex.EncodeToString(sha("3405803783")), AddressHashed, "sha256 in hex", "of its number"},
		{hex.EncodeToString(sha("203.0.113.7\n")), AddressHashed, "sha256 in hex", "by echo | sha256sum"},
		{hex.EncodeToString(mac("fallback-not-for-prod", "203.0.113.7|2026-07-31"))[:24], KnownSecret, `hmac-sha256 with a date under "fallback-not-for-prod" in hex`, "the article's, without its secret"},
		{hex.EncodeToString(mac("", "203.0.113.7")), KnownSecret, "hmac-sha256 under an empty secret in hex", "an empty secret"},
		{base64.RawURLEncoding.EncodeToString(mac("changeme", v6.String())), KnownSecret, `hmac-sha256 under "changeme" in base64`, "a guess"},
		{hex.EncodeToString(sha("secret:203.0.113.7")), KnownSecret, `sha256 salted with "secret" in hex`, "a salt that is one"},
	}
}

func TestDisguises(t *testing.T) {
	m := matcher(t, v4, v6)
	stranger := matcher(t, netip.MustParseAddr("198.51.100.77"), netip.MustParseAddr("2001:db8:1::2"))
	for _, row := range disguises() {
		found := m.Find([]byte(row.item))
		if len(found) != 1 || found[0].Code != row.code || found[0].Form != row.form {
			t.Errorf("%q: found %+v, want one %s, %s (%s)", row.item, found, row.code, row.form, row.why)
			continue
		}
		if found := stranger.Find([]byte(row.item)); row.code != AddressText && len(found) > 0 {
			t.Errorf("%q: found %+v, and the address is not given (%s)", row.item, found, row.why)
		}
		shown := m.Redact(row.item)
		if again := m.Find([]byte(shown)); len(again) > 0 {
			t.Errorf("%q is redacted as %q, which still holds %+v", row.item, shown, again)
		}
	}
}

// What looks a little like a given address, and is none.
func TestNoDisguise(t *testing.T) {
	m := matcher(t, v4, v6, netip.MustParseAddr("49.50.51.52"))
	for _, row := range []struct{ item, why string }{
		{"1234", "four bytes of text, which are 49.50.51.52"},
		{"rl:3405803783123", "the start of a longer number"},
		{"x3405803783", "the end of a word"},
		{"acb0071073", "hexadecimal inside a word"},
		{"facecb007107", "the end of a longer hexadecimal number"},
		{"aywBxBwX", "base64 inside a word"},
		{"203-0_113-7", "numbers with changing separators"},
		{"203-0-113-77", "another last number"},
		{"ff203a0a113a7f", "letters between numbers, as in a digest"},
		{"\xff\xcb\x00\x71\x07\xff", "four bytes inside a binary"},
		{hex.EncodeToString(sha(v4.String()))[:15], "15 digits of a hash"},
		{hex.EncodeToString(sha("203.0.113.7|2026-07-01")), "a date long ago"},
		{hex.EncodeToString(mac("a real secret with entropy 7f8a", "203.0.113.7")), "a pseudonym"},
		{"rl:fixed:default:60000000:{k0-1}", "a key of ours"},
		{"29453760 17 3", "a window and two counts"},
		{"1764590400123456 17 100", "an instant, a remainder and a limit"},
	} {
		if found := m.Find([]byte(row.item)); len(found) > 0 {
			t.Errorf("%q: found %+v (%s)", row.item, found, row.why)
		}
	}
}

// Pseudonyms, stamps and counters in the keys and values of limiters raise
// nothing, a hundred thousand of most.
func TestNothingInPseudonyms(t *testing.T) {
	given := []netip.Addr{v4, v6}
	for i := range 6 {
		given = append(given, netip.AddrFrom4([4]byte{byte(90 + i), byte(i * 7), byte(i * 3), byte(i)}))
	}
	m := matcher(t, given...)
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	h := hmac.New(sha256.New, secret)
	for i := range 100_000 {
		h.Reset()
		fmt.Fprintf(h, "203.0.113.%d|%d", i%256, i)
		sum := h.Sum(nil)
		now := 1_767_225_600_000_000 + int64(i)*7_777_777
		items := []string{
			"rl:log:default:60000000:{" + hex.EncodeToString(sum)[:24] + "}",
			base64.RawURLEncoding.EncodeToString(sum),
			strconv.FormatInt(now, 10),
			strconv.FormatInt(int64(i), 10),
			fmt.Sprintf("%d %d %d", now/60_000_000, i%1000, i%777),
		}
		if i%10 == 0 {
			items = append(items, []string{
				"rl:counter:default:60000000:{" + hex.EncodeToString(sum) + "}",
				"rl:gcra:api.v1:3600000000:{" + base64.RawURLEncoding.EncodeToString(sum[:16]) + "}",
				base64.StdEncoding.EncodeToString(sum),
				base64.RawURLEncoding.EncodeToString(sum[:6]) + strconv.FormatInt(int64(i), 36),
				string(sum[:16]),
				time.UnixMicro(now).UTC().Format(time.RFC3339Nano),
				fmt.Sprintf("%d.%06d", now/1_000_000, now%1_000_000),
			}...)
		}
		for _, item := range items {
			if found := m.Find([]byte(item)); len(found) > 0 {
				t.Fatalf("%q: found %+v", item, found)
			}
		}
	}
}

// Wherever an address is put, it is found and not shown.
func TestEveryAddressIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		octets := [4]byte(rapid.SliceOfN(rapid.ByteRange(1, 255), 4, 4).Draw(t, "octets"))
		bits := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bits"))
		bits[0], bits[1] = 0x2a, 0x01
		a4, a6 := netip.AddrFrom4(octets), netip.AddrFrom16(bits)
		before := rapid.StringMatching(`[a-z]{0,5}[:|{/ ]`).Draw(t, "before")
		after := rapid.StringMatching(`[:|}/ ][a-z]{0,5}`).Draw(t, "after")
		for _, text := range []string{
			a4.String(), "::ffff:" + a4.String(), netip.AddrFrom16(a4.As16()).StringExpanded(),
			a6.String(), a6.StringExpanded(), strings.ToUpper(a6.String()), "[" + a6.String() + "]:443", a6.String() + "%eth0",
			strings.ReplaceAll(a6.String(), ":", "%3A"),
		} {
			item := before + text + after
			var m Matcher
			if found := m.Find([]byte(item)); len(found) == 0 {
				t.Errorf("nothing found in %q", item)
			}
			for _, shown := range []string{m.Redact(item), m.Show(item)} {
				if strings.Contains(shown, text) || len(m.Find([]byte(shown))) > 0 {
					t.Errorf("%q is shown as %q", item, shown)
				}
			}
		}
	})
}

func TestTooManyAddresses(t *testing.T) {
	if _, err := NewMatcher(make([]netip.Addr, MaxAddresses+1), today); err == nil {
		t.Error("accepted")
	}
}

// Matches are in the item, in order, apart; and once they are taken out nothing is
// left to find.
func FuzzFind(f *testing.F) {
	for _, row := range disguises() {
		f.Add([]byte(row.item))
	}
	f.Add([]byte("rl:{1.2.3.4}:1.2.3.4.5%31.2.3.4 [::1] ::ffff:1.2.3.4%25"))
	with := matcher(f, v4, v6)
	f.Fuzz(func(t *testing.T, item []byte) {
		for _, m := range []*Matcher{{}, with} {
			end := 0
			for _, match := range m.Find(item) {
				if match.Start < end || match.End <= match.Start || match.End > len(item) {
					t.Fatalf("%q: %+v after %d", item, match, end)
				}
				end = match.End
				if KindOf(match.Code).Doc == "" || match.Form == "" {
					t.Fatalf("%q: %+v is of no kind", item, match)
				}
			}
			if shown := m.Show(string(item)); len([]rune(shown)) > clipped+1 {
				t.Fatalf("%q is shown as %q", item, shown)
			}
			// Note: it is not true of everything that a second look finds nothing. Once a
			// match is gone, escapes around it can come together.
			shown := m.Redact(string(item))
			if found := m.Find([]byte(shown)); len(found) > 0 && !bytes.ContainsRune(item, '%') {
				t.Fatalf("%q is redacted as %q, which holds %+v", item, shown, found)
			}
		}
	})
}
