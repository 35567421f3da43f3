package audit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
)

// packings are what given addresses look like as numbers and bytes. As 32 bits
// are few, only whole words count, and not what is a part of a longer one.
type packings struct {
	words  map[string]string // letters and digits in lower case -> form
	base64 map[string]string // in the alphabet of URLs, without padding -> form
	binary map[string]string // 4 or 16 bytes -> form
	quads  map[uint32]string // four numbers, in either order -> form
}

func newPackings(g given) packings {
	p := packings{map[string]string{}, map[string]string{}, map[string]string{}, map[uint32]string{}}
	for _, a := range g.order {
		bits := a.AsSlice()
		p.bytes(bits, "")
		p.base64[base64.RawURLEncoding.EncodeToString([]byte(a.String()))] = "base64 of its text"
		if a.Is4() {
			as16 := a.As16()
			p.bytes(as16[:], "")
			number := binary.BigEndian.Uint32(bits)
			p.quads[number] = "four numbers"
			slices.Reverse(bits)
			p.bytes(bits, "reversed ")
			if reversed := binary.BigEndian.Uint32(bits); reversed != number {
				p.quads[reversed] = "reversed"
			}
		}
	}
	return p
}

// bytes adds the bytes of an address and what they look like as text. Four bytes
// that could be text are left out, or every "1234" would be 49.50.51.52.
func (p *packings) bytes(bits []byte, order string) {
	p.words[hex.EncodeToString(bits)] = order + "hex"
	if decimal := new(big.Int).SetBytes(bits).String(); len(decimal) >= 8 { // less is anybody's number
		p.words[decimal] = order + "decimal"
	}
	p.base64[base64.RawURLEncoding.EncodeToString(bits)] = order + "base64"
	if len(bits) > 4 || slices.ContainsFunc(bits, func(b byte) bool { return b < ' ' || b >= 0x7f }) {
		p.binary[string(bits)] = order + "binary"
	}
}

func (p *packings) find(b []byte, add adder) {
	p.findWords(b, add)
	p.findBase64(b, add)
	p.findQuads(b, add)
	p.findBinary(b, add)
}

// runs calls f for each longest run of bytes that belong.
func runs(b []byte, belongs func(byte) bool, f func(start, end int)) {
	for i := 0; i < len(b); i++ {
		if !belongs(b[i]) {
			continue
		}
		start := i
		for i < len(b) && belongs(b[i]) {
			i++
		}
		f(start, i)
	}
}

func (p *packings) findWords(b []byte, add adder) {
	const longest = 39 // 128 bits as a decimal number
	runs(b, isWord, func(start, end int) {
		word := b[start:end]
		if len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x' {
			word = word[2:]
		}
		if len(word) > longest {
			return
		}
		if form, ok := p.words[strings.ToLower(string(word))]; ok {
			add(AddressPacked, form, string(word[:2]), end-len(word), end)
		}
	})
}

var urlAlphabet = strings.NewReplacer("+", "-", "/", "_")

// findBase64 looks up whole runs, and what is left of them between the characters
// that people also put between words.
func (p *packings) findBase64(b []byte, add adder) {
	const longest = 52 // the text of an address in full
	runs(b, is64, func(start, end int) {
		look := func(start, end int) {
			if end-start > longest {
				return
			}
			text := urlAlphabet.Replace(string(b[start:end]))
			if form, ok := p.base64[text]; ok {
				add(AddressPacked, form, string(b[start:start+2]), start, end)
			}
		}
		look(start, end)
		for _, separator := range []byte("-_/+") {
			runs(b[start:end], func(c byte) bool { return c != separator }, func(from, to int) {
				if to-from < end-start {
					look(start+from, start+to)
				}
			})
		}
	})
}

// findQuads finds four numbers that have the same sign between them, also in a
// longer row of numbers. A letter is no sign, or digests would be full of rows.
func (p *packings) findQuads(b []byte, add adder) {
	var row []octet
	runs(b, isDigit, func(start, end int) {
		n, ok := octetOf(b, start, end)
		if row = following(b, row, start); !ok {
			row = row[:0]
			return
		}
		if row = append(row, n); len(row) < 4 {
			return
		}
		four := row[len(row)-4:]
		quad := four[0].value<<24 | four[1].value<<16 | four[2].value<<8 | four[3].value
		if form, ok := p.quads[quad]; ok {
			add(AddressPacked, form, string(b[four[0].start:four[0].end+1]), four[0].start, four[3].end)
		}
		row = append(row[:0], four[1:]...)
	})
}

// octet is a number up to 255 in bytes [start, end).
type octet struct {
	value      uint32
	start, end int
}

func octetOf(b []byte, start, end int) (octet, bool) {
	if end-start > 3 {
		return octet{}, false
	}
	o := octet{start: start, end: end}
	for _, digit := range b[start:end] {
		o.value = o.value*10 + uint32(digit-'0')
	}
	return o, o.value <= 255
}

// following is as much of a row as a number that starts there continues: all of
// it if one sign is between them and it is the same as before, the last number if
// it is another sign, else nothing.
func following(b []byte, row []octet, start int) []octet {
	switch n := len(row); {
	case n == 0 || row[n-1].end != start-1 || isWord(b[start-1]):
		return row[:0]
	case n > 1 && b[start-1] != b[row[n-1].start-1]:
		return append(row[:0], row[n-1])
	}
	return row
}

// findBinary finds the bytes of an address where something ends before them and
// begins after them.
func (p *packings) findBinary(b []byte, add adder) {
	for i := range b {
		if i > 0 && !isDelimiter(b[i-1]) {
			continue
		}
		for _, n := range []int{16, 4} {
			if i+n > len(b) || i+n < len(b) && !isDelimiter(b[i+n]) {
				continue
			}
			if form, ok := p.binary[string(b[i:i+n])]; ok {
				add(AddressPacked, form, "", i, i+n)
			}
		}
	}
}

func isDelimiter(c byte) bool { return strings.IndexByte(":|/,;{}\"' \t\n", c) >= 0 }

// is64 reports whether a byte is of either alphabet of base64.
func is64(c byte) bool { return isWord(c) || c == '+' || c == '/' || c == '-' || c == '_' }
