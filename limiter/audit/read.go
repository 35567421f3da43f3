package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// reading is how keys of one type are read, page by page.
type reading struct {
	kind, verb string
	// places of the items of an element, in turn.
	places []Place
	// args after the key, for a page that begins at a position; "" is the start.
	args func(at string, o *Options) []any
	// unpack takes a reply apart. next is where another page begins, "" if this was
	// the last.
	unpack func(reply any, at string, o *Options) (items []string, next string)
}

var readings = []reading{
	{"string", "GETRANGE", []Place{InValue}, pieceArgs, piece},
	{"hash", "HSCAN", []Place{InField, InValue}, scanArgs, scanned},
	{"set", "SSCAN", []Place{InMember}, scanArgs, scanned},
	{"zset", "ZSCAN", []Place{InMember, InScore}, scanArgs, scanned},
	{"list", "LRANGE", []Place{InValue}, rangeArgs, ranged},
	{"stream", "XRANGE", []Place{InField, InValue}, streamArgs, streamed},
}

const (
	elementPage = 200      // elements that are asked for at once
	bytePage    = 64 << 10 // bytes of a string
	// overlap is how much of a page the next one repeats, so that nothing is cut
	// in two.
	overlap = 256
)

func readingOf(kind string) *reading {
	for i := range readings {
		if readings[i].kind == kind {
			return &readings[i]
		}
	}
	return nil
}

// contents reads the first page of each key in one pipeline, and more of those
// that have more.
func (s *sweep) contents(ctx context.Context, keys []keyOf) error {
	first := make([]*redis.Cmd, len(keys))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, key := range keys {
			if r := readingOf(key.kind); r != nil {
				first[i] = p.Do(ctx, r.command(key.name, "", &s.options)...)
			}
		}
		return nil
	})
	for i, key := range keys {
		if first[i] == nil {
			s.tally.gap(Gap{Code: "type-unreadable", Message: fmt.Sprintf("keys of type %s cannot be read here", s.matcher.Show(key.kind)), Hint: "look at one with the module's own commands", Keys: 1})
			continue
		}
		if err := s.content(ctx, key, first[i]); err != nil {
			return err
		}
	}
	return nil
}

// content looks at the first page of a key, and then at the others until it is
// over or enough.
func (s *sweep) content(ctx context.Context, key keyOf, page *redis.Cmd) error {
	r := readingOf(key.kind)
	var elements, bytes int64
	for at := ""; ; {
		reply, err := page.Result()
		if err != nil {
			return s.refused(r.verb, "what keys of type "+r.kind+" hold", 1, err)
		}
		items, next := r.unpack(reply, at, &s.options)
		for i, item := range items {
			bytes += int64(len(item))
			s.result.Bytes += int64(len(item))
			s.tally.matches(r.places[i%len(r.places)], key.name, []byte(item))
		}
		elements += int64(len(items) / len(r.places))
		s.result.Elements += int64(len(items) / len(r.places))
		if next == "" {
			return nil
		}
		if elements >= s.options.MaxElements || bytes > s.options.MaxBytes {
			s.tally.gap(Gap{Code: "key-too-big", Message: "of some keys only the beginning was read", Hint: "raise --max-elements or --max-bytes", Keys: 1})
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at = next
		page = s.client.Do(ctx, r.command(key.name, at, &s.options)...)
	}
}

func (r *reading) command(key, at string, o *Options) []any {
	return append([]any{r.verb, key}, r.args(at, o)...)
}

// pieceArgs asks for one byte more than is to be looked at, which tells whether
// the value ends there.
func pieceArgs(at string, o *Options) []any {
	from := offset(at)
	return []any{from, from + pieceSize(o) - 1}
}

func pieceSize(o *Options) int64 { return min(bytePage, max(o.MaxBytes+1, 2*overlap)) }

func piece(reply any, at string, o *Options) (items []string, next string) {
	item := text(reply)
	if int64(len(item)) == pieceSize(o) {
		next = strconv.FormatInt(offset(at)+pieceSize(o)-overlap, 10)
	}
	return []string{item}, next
}

func offset(at string) int64 {
	n, _ := strconv.ParseInt(at, 10, 64) // 0 at the start
	return n
}

func scanArgs(at string, _ *Options) []any {
	if at == "" {
		at = "0"
	}
	return []any{at, "COUNT", elementPage}
}

func scanned(reply any, _ string, _ *Options) (items []string, next string) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return nil, ""
	}
	if next = text(parts[0]); next == "0" {
		next = ""
	}
	return texts(parts[1]), next
}

func rangeArgs(at string, _ *Options) []any {
	return []any{offset(at), offset(at) + elementPage - 1}
}

func ranged(reply any, at string, _ *Options) (items []string, next string) {
	items = texts(reply)
	if len(items) == elementPage {
		next = strconv.FormatInt(offset(at)+elementPage, 10)
	}
	return items, next
}

func streamArgs(at string, _ *Options) []any {
	if at == "" {
		at = "-"
	}
	return []any{at, "+", "COUNT", elementPage}
}

// streamed is the fields and values of all entries. The next page begins with
// the number that follows the last one's.
func streamed(reply any, _ string, _ *Options) (items []string, next string) {
	entries, _ := reply.([]any)
	last := ""
	for _, entry := range entries {
		if parts, _ := entry.([]any); len(parts) == 2 {
			last = text(parts[0])
			items = append(items, texts(parts[1])...)
		}
	}
	ms, number, _ := strings.Cut(last, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if len(entries) == elementPage && err == nil {
		next = ms + "-" + strconv.FormatUint(n+1, 10)
	}
	return items, next
}

func texts(reply any) []string {
	parts, _ := reply.([]any)
	items := make([]string, len(parts))
	for i, part := range parts {
		items[i] = text(part)
	}
	return items
}

func text(reply any) string {
	if s, ok := reply.(string); ok {
		return s
	}
	if reply == nil {
		return ""
	}
	return fmt.Sprint(reply)
}
