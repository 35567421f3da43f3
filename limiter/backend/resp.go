package backend

import (
	"bytes"
	"errors"
	"strconv"
)

const (
	lineMost  = 64 << 10 // bytes of a line that is no bulk string; Redis has the same bound
	depthMost = 512      // arrays within arrays
	bulkMost  = 1 << 40  // bytes; more than any server lets through, and far from overflow
)

var errNotRESP = errors.New("not RESP")

// framer finds where values end in a stream of RESP2 or RESP3, however it is
// cut into pieces. It keeps no content, only the line that a piece broke off.
// Streamed types of RESP3, which no server sends, are errors. The zero value
// stands before the first value; after an error it is of no more use.
//
// Source: https://redis.io/docs/latest/develop/reference/protocol-spec/.
type framer struct {
	kind  byte    // the type of the value that is under way, or was last: '+', '*', ...
	line  []byte  // the beginning of a line
	bulk  int64   // bytes of a bulk string still to come, with its CRLF
	lacks []int64 // how many values each open array lacks, the innermost last
	begun bool
}

// next takes in b up to the end of a value. It returns how many bytes that is,
// or all, and whether the value has ended.
func (f *framer) next(b []byte) (n int, ended bool, err error) {
	for n < len(b) && !ended {
		if f.bulk > 0 {
			some := min(f.bulk, int64(len(b)-n))
			n += int(some)
			if f.bulk -= some; f.bulk == 0 {
				ended = f.close()
			}
			continue
		}
		end := bytes.IndexByte(b[n:], '\n')
		if end < 0 {
			end = len(b) - n - 1
		}
		f.line = append(f.line, b[n:n+end+1]...)
		n += end + 1
		if len(f.line) > lineMost {
			return n, false, errNotRESP
		}
		if f.line[len(f.line)-1] == '\n' {
			ended, err = f.head(f.line)
			f.line = f.line[:0]
			if err != nil {
				return n, false, err
			}
		}
	}
	return n, ended, nil
}

// between says that no value is under way.
func (f *framer) between() bool { return !f.begun && len(f.line) == 0 }

// head takes in the line that a value begins with, and is for most types.
func (f *framer) head(line []byte) (ended bool, err error) {
	text, whole := bytes.CutSuffix(line, []byte("\r\n"))
	if !whole || len(text) == 0 {
		return false, errNotRESP
	}
	if !f.begun {
		f.kind, f.begun = text[0], true
	}
	switch text[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return f.close(), nil
	case '$', '=', '!':
		length, null, err := size(text[1:], bulkMost)
		switch {
		case err != nil, null && text[0] != '$':
			return false, errNotRESP
		case null:
			return f.close(), nil
		}
		f.bulk = length + 2
		return false, nil
	case '*', '~', '>', '%', '|':
		return f.open(text)
	}
	return false, errNotRESP
}

// open begins a value that consists of others.
func (f *framer) open(text []byte) (ended bool, err error) {
	n, null, err := size(text[1:], bulkMost)
	if err != nil || null && text[0] != '*' {
		return false, errNotRESP
	}
	switch text[0] {
	case '%':
		n *= 2
	case '|': // attributes, and then the value that they are about
		n = 2*n + 1
	}
	if null || n == 0 {
		return f.close(), nil
	}
	if len(f.lacks) == depthMost {
		return false, errNotRESP
	}
	f.lacks = append(f.lacks, n)
	return false, nil
}

// close counts a value that has ended, and says whether that was the last one.
func (f *framer) close() (ended bool) {
	for i := len(f.lacks) - 1; i >= 0; i-- {
		if f.lacks[i]--; f.lacks[i] > 0 {
			return false
		}
		f.lacks = f.lacks[:i]
	}
	f.begun = false
	return true
}

// size reads a length or a count. -1 is how RESP2 writes null.
func size(digits []byte, most int64) (n int64, null bool, err error) {
	n, err = strconv.ParseInt(string(digits), 10, 64)
	switch {
	case err != nil || n < -1 || n > most || digits[0] == '+':
		return 0, false, errNotRESP
	case n == -1:
		return 0, true, nil
	}
	return n, false, nil
}

// words returns the first words of a whole command, at most two, in upper case.
// It is false for what no client library writes: a command is an array of bulk
// strings.
func words(command []byte) (first, second string, ok bool) {
	line, rest, _ := bytes.Cut(command, []byte("\r\n"))
	if len(line) < 2 || line[0] != '*' {
		return "", "", false
	}
	n, null, err := size(line[1:], bulkMost)
	if err != nil || null || n == 0 {
		return "", "", false
	}
	if first, rest, ok = bulk(rest); !ok || n == 1 {
		return first, "", ok
	}
	second, _, ok = bulk(rest)
	return first, second, ok
}

// bulk takes a bulk string off b. A long one is no name, so it is cut.
func bulk(b []byte) (text string, rest []byte, ok bool) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if len(line) < 2 || line[0] != '$' {
		return "", nil, false
	}
	n, null, err := size(line[1:], int64(len(rest)))
	if err != nil || null || n+2 > int64(len(rest)) {
		return "", nil, false
	}
	const nameMost = 32
	return string(bytes.ToUpper(rest[:min(n, nameMost)])), rest[n+2:], true
}
