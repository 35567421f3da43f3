package trace

import "bytes"

// routeOf is what a request is for: its method, and its path without the query, in which
// whatever looks like a name or a number of something is a star. /users/42/feed?page=2 is
// GET /users/*/feed.
func routeOf(dst, method, target []byte) []byte {
	const deepest = 6
	if len(target) == 0 {
		return append(dst, "(no request)"...)
	}
	if plain(method) && len(method) <= 12 {
		dst = append(dst, method...)
		dst = append(dst, ' ')
	} else {
		dst = append(dst, "* "...)
	}
	if i := bytes.IndexAny(target, "?#;"); i >= 0 {
		target = target[:i]
	}
	if len(target) == 0 || target[0] != '/' {
		return append(dst, '*')
	}
	for depth := 0; len(target) > 0; depth++ {
		target = target[1:]
		end := bytes.IndexByte(target, '/')
		if end < 0 {
			end = len(target)
		}
		part := target[:end]
		dst = append(dst, '/')
		switch {
		case depth == deepest:
			return append(dst, "..."...)
		case plain(part):
			dst = append(dst, part...)
		default:
			dst = append(dst, '*')
		}
		target = target[end:]
	}
	return dst
}

// plain parts of a path are words, or a version as in /v1: short, of letters, dots and
// dashes. Numbers, hashes, addresses and what is escaped are of something or somebody.
func plain(part []byte) bool {
	const longest = 32
	if len(part) > longest {
		return false
	}
	if len(part) >= 2 && len(part) <= 3 && part[0]|0x20 == 'v' {
		if _, ok := digits(part[1:]); ok {
			return true
		}
	}
	for _, c := range part {
		if !letter(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
