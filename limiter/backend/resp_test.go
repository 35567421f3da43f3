package backend

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFramer(t *testing.T) {
	for _, row := range []struct {
		name, stream string
		values       int
	}{
		{"nothing", "", 0},
		{"a status", "+OK\r\n", 1},
		{"half a line", "+O", 0},
		{"CR without LF", "+OK\r", 0},
		{"a null of each kind in RESP2", "$-1\r\n*-1\r\n", 2},
		{"an empty bulk and an empty array", "$0\r\n\r\n*0\r\n", 2},
		{"a bulk that looks like RESP", "$8\r\n*1\r\n:1\r\n\r\n", 1},
		{"a bulk without its end", "$2\r\nab\r", 0},
		{"arrays within arrays", "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n$-1\r\n:7\r\n", 2},
		{"an array that lacks one", "*2\r\n:1\r\n", 0},
		{"RESP3 leaves", "_\r\n#t\r\n,1.5\r\n(123\r\n!3\r\nERR\r\n=7\r\ntxt:abc\r\n", 6},
		{"the reply to HELLO", "%2\r\n$5\r\nproto\r\n:3\r\n$7\r\nmodules\r\n*0\r\n", 1},
		{"a push between replies", "+OK\r\n>2\r\n+a\r\n+b\r\n:1\r\n", 3},
		{"attributes belong to their value", "|1\r\n+ttl\r\n:9\r\n*1\r\n:1\r\n", 1},
		{"attributes inside an array", "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n", 1},
		{"no attributes", "|0\r\n:1\r\n", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := count(row.stream, 1); got != row.values || err != nil {
				t.Errorf("%d values, %v; want %d", got, err, row.values)
			}
		})
	}
}

func TestFramerRefuses(t *testing.T) {
	for _, stream := range []string{
		"\r\n", "PING\r\n", "+OK\n", "$-2\r\n", "$x\r\n", "$\r\n", "$+1\r\n", "*?\r\n", "$99999999999999999999\r\n",
		"*1\r\nx\r\n", "%-1\r\n", "|-1\r\n", strings.Repeat("*1\r\n", depthMost+1), "+" + strings.Repeat("a", lineMost),
	} {
		if n, err := count(stream, 7); err == nil {
			t.Errorf("%.20q: %d values", stream, n)
		}
	}
}

// count feeds pieces of that many bytes.
func count(stream string, piece int) (values int, err error) {
	var f framer
	for b := []byte(stream); len(b) > 0; {
		n, ended, err := f.next(b[:min(piece, len(b))])
		if err != nil {
			return values, err
		}
		if b = b[n:]; ended {
			values++
			if !f.between() {
				return values, errNotRESP
			}
		}
	}
	return values, nil
}

// A tree of values is written out; it must end where it ends, whatever the pieces.
func TestFramerFollowsGeneratedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		values := rapid.IntRange(0, 8).Draw(t, "values")
		for range values {
			stream = write(t, stream, 3)
		}
		piece := rapid.IntRange(1, len(stream)+1).Draw(t, "piece")
		if got, err := count(string(stream), piece); got != values || err != nil {
			t.Fatalf("%d values of %d, %v: %q", got, values, err, stream)
		}
	})
}

func write(t *rapid.T, to []byte, depth int) []byte {
	kinds := "+-:_#,($=!"
	if depth > 0 {
		kinds += "*~>%|"
	}
	kind := rapid.SampledFrom([]byte(kinds)).Draw(t, "kind")
	to = append(to, kind)
	switch kind {
	case '$', '=', '!':
		content := rapid.SliceOfN(rapid.SampledFrom([]byte("a\r\n$*:")), 0, 20).Draw(t, "content")
		to = append(strconv.AppendInt(to, int64(len(content)), 10), "\r\n"...)
		return append(append(to, content...), "\r\n"...)
	case '*', '~', '>', '%', '|':
		n := rapid.IntRange(0, 3).Draw(t, "size")
		to = append(strconv.AppendInt(to, int64(n), 10), "\r\n"...)
		switch kind {
		case '%':
			n *= 2
		case '|':
			n = 2*n + 1
		}
		for range n {
			to = write(t, to, depth-1)
		}
		return to
	}
	return append(to, "12\r\n"...)
}

// reference is the same grammar by recursion over the whole text. It returns
// what follows one value; ok is false if the value is cut off.
func reference(b []byte, depth int) (rest []byte, ok bool, err error) {
	line, rest, found := bytes.Cut(b, []byte("\n"))
	switch {
	case found && len(line) >= lineMost, len(line) > lineMost:
		return nil, false, errNotRESP
	case !found:
		return nil, false, nil
	case len(line) < 2 || line[len(line)-1] != '\r':
		return nil, false, errNotRESP
	}
	kind, digits := line[0], string(line[1:len(line)-1])
	if strings.ContainsRune("+-:_#,(", rune(kind)) {
		return rest, true, nil
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < -1 || n > bulkMost || digits[0] == '+' || !strings.ContainsRune("$=!*~>%|", rune(kind)) {
		return nil, false, errNotRESP
	}
	if n < 0 && kind != '$' && kind != '*' {
		return nil, false, errNotRESP
	}
	switch kind {
	case '$', '=', '!':
		if n < 0 {
			return rest, true, nil
		}
		if int64(len(rest)) < n+2 {
			return nil, false, nil
		}
		return rest[n+2:], true, nil
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1
	}
	if n > 0 && depth > depthMost {
		return nil, false, errNotRESP
	}
	for range max(n, 0) {
		if rest, ok, err = reference(rest, depth+1); !ok {
			return nil, false, err
		}
	}
	return rest, true, nil
}

// FuzzFramer: however a stream is cut, the framer takes every byte once, and
// ends values where the reference does.
func FuzzFramer(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n:1\r\n", "*2\r\n$1\r\na\r\n*-1\r\n", "%1\r\n+a\r\n|1\r\n+b\r\n:2\r\n_\r\n", ">1\r\n+x\r\n", "$5\r\nab", "*3\r\n$7\r\nEVALSHA\r\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		var want []int // where values end
		var refused error
		for rest := stream; len(rest) > 0; {
			after, ok, err := reference(rest, 1)
			if refused = err; !ok {
				break
			}
			want = append(want, len(stream)-len(after))
			rest = after
		}
		cut := rand.New(rand.NewPCG(seed, 0))
		var framer framer
		var got []int
		var err error
		at := 0
		for at < len(stream) && err == nil {
			var n int
			var ended bool
			piece := stream[at : at+1+cut.IntN(len(stream)-at)]
			n, ended, err = framer.next(piece)
			if n < 1 || n > len(piece) || !ended && err == nil && n != len(piece) {
				t.Fatalf("took %d of %d bytes, ended %t", n, len(piece), ended)
			}
			if at += n; ended {
				got = append(got, at)
			}
		}
		if len(got) != len(want) || (err == nil) != (refused == nil) {
			t.Fatalf("ends %v, %v; want %v, %v", got, err, want, refused)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("ends %v, want %v", got, want)
			}
		}
	})
}

func TestWords(t *testing.T) {
	for _, row := range []struct {
		command, first, second string
		ok                     bool
	}{
		{"*1\r\n$4\r\nping\r\n", "PING", "", true},
		{"*2\r\n$6\r\nscript\r\n$4\r\nload\r\n", "SCRIPT", "LOAD", true},
		{"*1\r\n$0\r\n\r\n", "", "", true},
		{"*0\r\n", "", "", false},
		{"*-1\r\n", "", "", false},
		{"+OK\r\n", "", "", false},
		{"*1\r\n:1\r\n", "", "", false},
		{"*2\r\n$4\r\nping\r\n*0\r\n", "PING", "", false},
	} {
		first, second, ok := words([]byte(row.command))
		if ok != row.ok || ok && (first != row.first || second != row.second) {
			t.Errorf("%q: %q %q %t", row.command, first, second, ok)
		}
	}
}
