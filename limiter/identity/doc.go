// Package identity names clients without naming people: it finds the address of
// an HTTP client, brings it into one form, and turns it into a pseudonym that
// is safe to use as limiter.Request.Key.
//
//	proxies := identity.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
//	names, err := identity.Open("/var/lib/shop/identity.key", identity.Config{Overlap: 2 * window})
//	...
//	addr, err := proxies.Client(r)
//	client, _, err := identity.Tiers{}.Clients(addr)
//	name, err := names.Name("search", client, now)
//	limiter.Request{Key: name.Key, Also: name.Also, Slot: name.Slot, At: now}
//
// # The pseudonym
//
// With enc(x) the length of x in two bytes, most significant first, and then x:
//
//	digest = HMAC-SHA-256(name key of the period, enc(label) enc(scope) enc(client))
//	label  = "rlbench/identity/v1 address" or "rlbench/identity/v1 account"
//	client = an address: 4 or 16 bytes and one byte with the length of its prefix; or the account's name
//	Key    = the first 12 bytes of the digest in base64url, 16 characters
//
// 96 bits suffice: among n names in use the chance of any two being equal is
// n²/2^97, which is 6·10⁻¹⁸ for a million and 6·10⁻¹² for a billion. Nobody
// can look for equal names on purpose without the key. 128 bits would cost six
// more characters in every Redis key and protect nobody better: length is not
// what keeps a pseudonym from being reversed, the key is.
//
// # The ratchet
//
// Time is cut into periods counted from 1970-01-01 00:00 UTC: an instant is in
// period floor(Unix seconds / Period), so periods of 24 hours begin at midnight
// UTC. Each has its own key, and a key leads to the next one but not back:
//
//	period key d+1     = HMAC-SHA-256(period key d, enc("rlbench/identity/v1 next"))
//	name key d         = HMAC-SHA-256(period key d, enc("rlbench/identity/v1 name"))
//	slot key           = HMAC-SHA-256(first period key, enc("rlbench/identity/v1 slot"))
//	first period key   = random in a key file; HMAC-SHA-256(Key, enc("rlbench/identity/v1 root")) with New
//
// # The rotation
//
// At T a period ends. From T-Skew until T+Overlap+Skew, exclusive, a name has
// both pseudonyms: the one of the instant's period as Key, and the other one as
// Also. So two servers whose clocks are at most Skew apart always read what the
// other one writes, and what was used before T still counts after it.
//
// # Erasure
//
// A period key is erased once the clock has been past T+Overlap+2·Skew for
// Period/24 (an hour for a day), counted in the instants that are passed in.
// Until then later names come from copies. The delay is there because erasing
// is for ever, and clocks are sometimes wrong: a clock that jumps ahead and
// is put right within Period/24 costs nothing. If periods were skipped, by a
// jump or by a long pause, it has to stay there for a whole Period. An
// instant more than MaxAhead periods ahead is refused and changes nothing.
// Namer.Advance is for those who know that the clock is right and do not want
// to wait.
//
// Erasing is best effort in memory: our copies are overwritten, but the Go
// runtime and crypto/hmac keep copies that we cannot reach until the garbage
// collector reuses them. It is best effort on disk too: the former file is
// overwritten and removed, but journals, flash cells, snapshots and backups
// may keep it.
package identity
