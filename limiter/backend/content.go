package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// contentMax is how many bytes of a key's content are kept.
const contentMax = 64 << 10

// reading is how values of one type are read. DUMP would not do: it differs
// between encodings of equal values, and embedded servers have none.
type reading struct {
	kind  string
	verb  string // what reads it
	args  []any  // after the key
	width int    // items of the reply that make an element
	free  bool   // the order of elements means nothing
}

var readings = []reading{
	{kind: "string", verb: "GET", width: 1},
	{kind: "list", verb: "LRANGE", args: []any{0, -1}, width: 1},
	{kind: "set", verb: "SMEMBERS", width: 1, free: true},
	{kind: "hash", verb: "HGETALL", width: 2, free: true},
	{kind: "zset", verb: "ZRANGE", args: []any{0, -1, "WITHSCORES"}, width: 2},
	{kind: "stream", verb: "XRANGE", args: []any{"-", "+"}, width: 1},
}

// readingOf is nil for a type that nothing here can read.
func readingOf(kind string) *reading {
	for i := range readings {
		if readings[i].kind == kind {
			return &readings[i]
		}
	}
	return nil
}

func (r *reading) command(key string) []any { return append([]any{r.verb, key}, r.args...) }

// hold takes over what was read. It returns false if that is an empty
// collection, which is what a key that is gone looks like. A stream may be
// empty and exist.
func (k *KeyState) hold(r *reading, value any) bool {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	if len(items) == 0 && r.kind != "stream" {
		return false
	}
	lines := r.lines(items)
	if k.Collection = isList; isList {
		k.Elements = int64(len(lines))
	}
	content := strings.Join(lines, "\n")
	sum := sha256.Sum256([]byte(k.Type + "\n" + content))
	k.Digest = hex.EncodeToString(sum[:])
	if len(content) > contentMax {
		content = strings.Clone(strings.ToValidUTF8(content[:contentMax], "")) // the cut may split a character
	}
	k.Content = content
	return true
}

// lines are the elements, one a line.
func (r *reading) lines(items []any) []string {
	lines := make([]string, 0, len(items)/r.width)
	for element := range slices.Chunk(items, r.width) {
		if r.kind == "zset" && len(element) == r.width {
			element[1] = score(element[1])
		}
		var line []byte
		for _, item := range element {
			line = appendItem(line, item)
		}
		lines = append(lines, string(line))
	}
	if r.free {
		slices.Sort(lines)
	}
	return lines
}

// score reads one of the ways in which servers write the same number.
func score(item any) any {
	if number, err := strconv.ParseFloat(fmt.Sprint(item), 64); err == nil {
		return number
	}
	return item
}

// appendItem appends an item of a reply, after a space if it is not the first.
func appendItem(line []byte, item any) []byte {
	if list, isList := item.([]any); isList {
		for _, inner := range list {
			line = appendItem(line, inner)
		}
		return line
	}
	if len(line) > 0 {
		line = append(line, ' ')
	}
	if number, isNumber := item.(float64); isNumber {
		return strconv.AppendFloat(line, number, 'f', -1, 64)
	}
	return strconv.AppendQuote(line, fmt.Sprint(item))
}
