package audit

import "unicode/utf8"

func (d *digests) find(b []byte, add adder) {
	d.findHex(b, add)
	d.findBase64(b, add)
	if !utf8.Valid(b) {
		d.findBinary(b, add)
	}
}

// told adds what 64 bits of a digest are known to be, with its first characters.
func (d *digests) told(bits uint64, encoding string, head []byte, start, end int, add adder) bool {
	r, ok := d.knows(bits)
	if ok {
		add(r.code, r.form+encoding, string(head), start, end)
	}
	return ok
}

// findHex looks at each place of each run of hexadecimal digits. What it tells
// ends with the run: how much belongs to the digest does not matter.
func (d *digests) findHex(b []byte, add adder) {
	const digits = 16 // of 64 bits
	runs(b, isHex, func(start, end int) {
		var bits uint64
		for i := start; i < end; i++ {
			bits = bits<<4 | uint64(unhex(b[i]))
			from := i + 1 - digits
			if from >= start && d.told(bits, " in hex", b[from:from+2], from, end, add) {
				return
			}
		}
	})
}

// findBase64 reads eleven characters at each place of each run, which hold 66
// bits.
func (d *digests) findBase64(b []byte, add adder) {
	const characters = 11
	runs(b, is64, func(start, end int) {
		for from := start; from+characters <= end; from++ {
			var bits uint64
			for _, c := range b[from : from+characters-1] {
				bits = bits<<6 | uint64(value64(c))
			}
			bits = bits<<4 | uint64(value64(b[from+characters-1])>>2)
			if d.told(bits, " in base64", b[from:from+2], from, end, add) {
				return
			}
		}
	})
}

// findBinary looks at each place of an item that is no text. A digest of which
// only a part is there is told with all that follows.
func (d *digests) findBinary(b []byte, add adder) {
	var bits uint64
	for i, c := range b {
		bits = bits<<8 | uint64(c)
		if i >= 7 && d.told(bits, ", binary", nil, i-7, len(b), add) {
			return
		}
	}
}

// value64 is the value of a character in either alphabet of base64.
func value64(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c - 'A'
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26
	case isDigit(c):
		return c - '0' + 52
	case c == '+' || c == '-':
		return 62
	}
	return 63
}
