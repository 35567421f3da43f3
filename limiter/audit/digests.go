package audit

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math/big"
	"math/bits"
	"net/netip"
	"strings"
	"time"
)

// digests knows the hashes that anybody can make of given addresses, by 64 bits
// of them: what is cut shorter is not looked for, and as many bits of something
// else are not equal by chance.
type digests struct {
	made  map[uint64]uint16 // the first 8 bytes, or of a bare hash the last -> recipe
	about []recipe
	// sieve has a bit for the first bits of each, which spares most lookups: the
	// map is far larger than caches.
	sieve []uint64
	shift int // of 64 bits to the place of their bit
}

// recipe is how a digest was made.
type recipe struct {
	code Code
	form string
}

var hashes = []struct {
	name string
	make func() hash.Hash
}{{"md5", md5.New}, {"sha1", sha1.New}, {"sha256", sha256.New}}

// secrets are values that stand in for a secret that was never set.
var secrets = []string{
	"", "secret", "changeme", "fallback-not-for-prod", "change-me", "password", "salt", "pepper", "default", "test", "dev",
	"key", "secret-key", "your-secret-key", "ratelimit", "rate-limit",
}

// newDigests hashes everything that people hash when they mean an address.
func newDigests(g given, today time.Time) digests {
	d := digests{made: map[uint64]uint16{}}
	dates := datesAround(today)
	for _, a := range g.order {
		bare := spellings(a)
		d.plain(bare, "")
		for _, secret := range secrets {
			d.salted(bare, secret)
		}
		for _, name := range names(a) {
			dated := withDates(name, dates)
			d.plain(dated, " with a date")
			for _, secret := range secrets {
				d.keyed(dated, secret, " with a date")
			}
		}
	}
	d.makeSieve()
	return d
}

func (d *digests) makeSieve() {
	const sparse = 16 // bits for each digest
	size := max(bits.Len(uint(sparse*len(d.made))), 6)
	d.shift = 64 - size
	d.sieve = make([]uint64, 1<<(size-6))
	for sum := range d.made {
		place := sum >> d.shift
		d.sieve[place/64] |= 1 << (place % 64)
	}
}

// knows is the recipe of a digest by 64 bits of it.
func (d *digests) knows(sum uint64) (recipe, bool) {
	place := sum >> d.shift
	if d.sieve[place/64]&(1<<(place%64)) == 0 {
		return recipe{}, false
	}
	n, ok := d.made[sum]
	return d.about[n], ok
}

// plain adds hashes without a secret.
func (d *digests) plain(messages []string, what string) {
	for _, h := range hashes {
		r := d.recipe(AddressHashed, h.name+what)
		for _, message := range messages {
			sum := h.make()
			sum.Write([]byte(message))
			d.add(sum.Sum(nil), r, true)
		}
	}
}

// salted adds HMACs, and hashes that hold the secret before or after the address.
func (d *digests) salted(messages []string, secret string) {
	d.keyed(messages, secret, "")
	if secret == "" {
		return
	}
	for _, h := range hashes {
		r := d.recipe(KnownSecret, fmt.Sprintf("%s salted with %q", h.name, secret))
		for _, message := range messages {
			for _, between := range []string{"", ":", "|", "-", "_", "."} {
				for _, text := range []string{secret + between + message, message + between + secret} {
					sum := h.make()
					sum.Write([]byte(text))
					d.add(sum.Sum(nil), r, false)
				}
			}
		}
	}
}

// keyed adds HMACs.
func (d *digests) keyed(messages []string, secret, what string) {
	for _, h := range hashes {
		r := d.recipe(KnownSecret, fmt.Sprintf("hmac-%s%s under %s", h.name, what, quoted(secret)))
		mac := hmac.New(h.make, []byte(secret))
		for _, message := range messages {
			mac.Reset()
			mac.Write([]byte(message))
			d.add(mac.Sum(nil), r, false)
		}
	}
}

func quoted(secret string) string {
	if secret == "" {
		return "an empty secret"
	}
	return fmt.Sprintf("%q", secret)
}

// recipe is the number of a recipe, which is added if it is new.
func (d *digests) recipe(code Code, form string) uint16 {
	r := recipe{code, form}
	for i, known := range d.about {
		if known == r {
			return uint16(i)
		}
	}
	d.about = append(d.about, r)
	return uint16(len(d.about) - 1)
}

// add keeps the start of a digest, and the end if it may be cut there.
func (d *digests) add(sum []byte, recipe uint16, end bool) {
	d.made[binary.BigEndian.Uint64(sum)] = recipe
	if end {
		d.made[binary.BigEndian.Uint64(sum[len(sum)-8:])] = recipe
	}
}

// names are the usual texts of an address: its canonical one, and for IPv6 also
// that of its network.
func names(a netip.Addr) []string {
	all := []string{a.String()}
	if a.Is6() {
		for _, bits := range []int{64, 56, 48} {
			network, _ := a.Prefix(bits) // bits fit
			all = append(all, network.String(), network.Addr().String())
		}
	}
	return all
}

// spellings are all that an address may be for a hash function: its names, other
// texts, its bytes, its number.
func spellings(a netip.Addr) []string {
	all := names(a)
	number := new(big.Int).SetBytes(a.AsSlice()).String()
	if a.Is4() {
		as16 := a.As16()
		all = append(all, "::ffff:"+a.String(), string(as16[:]))
	} else {
		all = append(all, strings.ToUpper(a.String()), a.StringExpanded(), strings.ToUpper(a.StringExpanded()))
	}
	return append(all, a.String()+"\n", string(a.AsSlice()), number)
}

// datesAround are the days that it is or was somewhere on earth since yesterday,
// as texts.
func datesAround(today time.Time) (texts []string) {
	for day := -1; day <= 1; day++ {
		date := today.UTC().AddDate(0, 0, day)
		texts = append(texts, date.Format("2006-01-02"), date.Format("20060102"))
	}
	return texts
}

func withDates(name string, dates []string) (messages []string) {
	for _, date := range dates {
		for _, between := range []string{"|", ":", "-", "_", "/", ".", " ", ""} {
			messages = append(messages, name+between+date, date+between+name)
		}
	}
	return messages
}
