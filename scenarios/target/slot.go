package target

import (
	"net/netip"
	"regexp"
	"strings"
)

// oneSlot reports whether Redis Cluster would find all keys in one place.
func oneSlot(keys []string) bool {
	for _, key := range keys {
		if slot(key) != slot(keys[0]) {
			return false
		}
	}
	return true
}

// slot is the Redis Cluster slot of a key: CRC16 (XMODEM) of its hash tag, if it
// has one that is not empty, modulo 16384. Source: Redis cluster specification.
func slot(key string) uint16 {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

var (
	ipv4 = regexp.MustCompile(`(?:^|[^0-9.])((?:\d{1,3}\.){3}\d{1,3})(?:[^0-9.]|$)`)
	// Of IPv6 what is in use: global unicast, unique and link local addresses.
	// Anything shorter is more likely a key with colons in it.
	ipv6 = regexp.MustCompile(`(?i)(?:^|[^0-9a-z:])((?:[23][0-9a-f]{3}|f[cde][0-9a-f]{2}):[0-9a-f:]{2,34})(?:[^0-9a-z:]|$)`)
)

// address is an IP address that a text holds, or "".
func address(text string) string {
	for _, form := range []*regexp.Regexp{ipv4, ipv6} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			if a, err := netip.ParseAddr(m[1]); err == nil {
				return a.String()
			}
		}
	}
	return ""
}
