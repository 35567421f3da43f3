package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/rlbench/rlbench/limiter/identity"
)

// lineAt is a line of nginx, written at a second of 28 February 2024.
func lineAt(at int, client string) string {
	stamp := time.Unix(1709164800+int64(at), 0).UTC().Format("02/Jan/2006:15:04:05 -0700")
	return fmt.Sprintf(`%s - - [%s] "GET / HTTP/1.1" 200 0 "-" "-"`+"\n", client, stamp)
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}

// readAll is everything that a reader gives for the contents of some files.
func readAll(t *testing.T, o Options, contents ...string) ([]Request, Summary, error) {
	t.Helper()
	var names []string
	for i, content := range contents {
		names = append(names, filepath.Join(t.TempDir(), fmt.Sprintf("log.%d", i)))
		if err := os.WriteFile(names[i], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(names, o)
	if err != nil {
		return nil, Summary{}, err
	}
	defer r.Close()
	var all []Request
	for {
		q, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, r.Summary(), nil
		}
		if err != nil {
			return all, r.Summary(), err
		}
		all = append(all, q)
	}
}

func TestReaderReadsFiles(t *testing.T) {
	a, b, c := lineAt(0, "192.0.2.1")+lineAt(1, "192.0.2.2"), lineAt(2, "192.0.2.1"), lineAt(3, "192.0.2.3")+"\r\n\n"
	want := []uint32{0, 1, 0, 2}
	for name, files := range map[string][]string{
		"one":                {a + b + c},
		"no newline at last": {strings.TrimSpace(a + b + c)},
		"plain":              {a, b, c},
		"compressed":         {zipped(t, a), zstandard(t, b), c},
		"members of gzip":    {zipped(t, a) + zipped(t, b+c)},
		"an empty one":       {a, "", b + c},
	} {
		all, s, err := readAll(t, Options{}, files...)
		var got []uint32
		for _, q := range all {
			got = append(got, q.Client)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v; clients (-want +got):\n%s", name, err, diff)
		}
		if s.Format != "combined" || s.Lines != 4 || s.Requests != 4 || s.Bad != 0 || !s.Seconds || s.Arrivals || s.To-s.From != 3*second {
			t.Errorf("%s: %+v", name, s)
		}
	}
	r, err := Open([]string{"-"}, Options{Stdin: strings.NewReader(a), Format: "combined"})
	if err != nil {
		t.Fatal(err)
	}
	if q, err := r.Next(); err != nil || q.Client != 0 {
		t.Errorf("standard input: %+v, %v", q, err)
	}
}

// Bad input ends with words, and with what could be read.
func TestReaderOfBadInput(t *testing.T) {
	good := lineAt(0, "192.0.2.1") + lineAt(1, "192.0.2.2")
	many := strings.Repeat(good, 5000)
	noise := make([]byte, 100_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for _, row := range []struct {
		name, content string
		requests      int
		bad           int64
		err           string
	}{
		{"empty", "", 0, 0, "the log is empty$"},
		{"blank", "\n\n\r\n", 0, 0, "the log is empty"},
		{"binary", string(noise), 0, 0, "log.0: this is no access log: it is binary, 0 of the first 64 lines are of a known format$"},
		{"text", "Hello\nworld\n", 0, 0, "this is no access log: 0 of the first 2 lines are of a known format (caddy, cloudflare, alb, envoy, combined, common)$"},
		{"broken lines", good + "x\n" + good, 4, 1, ""},
		{"a long line", good + strings.Repeat("x", 3*LongestLine) + "\n" + good, 4, 1, ""},
		{"a long line that begins well", good + strings.TrimSpace(lineAt(1, "192.0.2.9")) + strings.Repeat("x", 2*LongestLine) + "\n" + good, 4, 1, ""},
		{"gzip that was cut", zipped(t, many)[:len(zipped(t, many))-20], 10_000, 0, "unexpected EOF"},
		{"no gzip", "\x1f\x8b\x00\x00 and so on", 0, 0, "log.0: gzip: invalid header$"},
		{"no zstd", "\x28\xb5\x2f\xfd and so on", 0, 0, "read "},
	} {
		all, s, err := readAll(t, Options{MaxBad: 1}, row.content)
		if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error()+"$", row.err)) {
			t.Errorf("%s: %v, want %q", row.name, err, row.err)
		}
		if len(all) < row.requests*9/10 || len(all) > row.requests || row.requests < 1000 && len(all) != row.requests || s.Bad != row.bad || len(s.Examples) != int(min(row.bad, 5)) {
			t.Errorf("%s: %d requests, %+v", row.name, len(all), s)
		}
	}
	if _, err := Open([]string{filepath.Join(t.TempDir(), "none")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open([]string{"-"}, Options{}); err == nil || err.Error() != "read standard input: there is none" {
		t.Error(err)
	}
	if _, err := Open([]string{"-"}, Options{Stdin: strings.NewReader(good), Mask: identity.Mask{IPv4: 99}}); err == nil {
		t.Error("a mask of 99 bits is fine")
	}
}

// What is said about broken lines has nothing of what is in them.
func TestReaderTellsNothing(t *testing.T) {
	secrets := []string{"203.0.113.77", "alice"}
	text := lineAt(0, "192.0.2.1") + lineAt(1, "192.0.2.1")
	for _, line := range []string{
		`203.0.113.77 - alice [x] "GET / HTTP/1.1" 200 0 "-" "-"`, "203.0.113.77", `192.0.2.1 - - [203.0.113.77 alice`,
		`192.0.2.1 - - [28/Feb/2024:23:59:59 +0000] "GET / HTTP/1.1" alice 0 "-" "-"`, `192.0.2.1 - - [28/Feb/2024:23:59:59 +0000] "GET /alice`,
	} {
		text += line + "\n" + lineAt(2, "192.0.2.1")
	}
	_, s, err := readAll(t, Options{MaxBad: 1}, text)
	if err != nil || s.Bad != 5 || s.Examples[0].Line != 3 || s.Examples[0].Why == "" {
		t.Fatalf("%v, %+v", err, s)
	}
	for _, secret := range secrets {
		if strings.Contains(fmt.Sprintf("%+v", s), secret) {
			t.Errorf("%q is in %+v", secret, s)
		}
	}
}

// Lines are written at the end of requests; where the duration is known, they arrive
// when they came.
func TestReaderTakesDurationsOff(t *testing.T) {
	text := "1709164800.500 192.0.2.1 0.100\n1709164801.000 192.0.2.2 0.800\n1709164801.100 192.0.2.3 -\n"
	all, s, err := readAll(t, Options{Format: "$msec $remote_addr $request_time"}, text)
	want := []Request{
		{At: 1709164800_200000, Line: 2, Client: 1},
		{At: 1709164800_400000, Line: 1, Client: 0},
		{At: 1709164801_100000, Line: 3, Client: 2},
	}
	if diff := cmp.Diff(want, all); diff != "" || err != nil || s.Seconds || s.Arrivals {
		t.Errorf("%v, %+v; requests (-want +got):\n%s", err, s, diff)
	}
}

// Whatever the order, all that is read is in the order of arrival.
func TestReaderOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(lineAt(i/10+random.IntN(50), "192.0.2.1"))
	}
	all, s, err := readAll(t, Options{}, text.String())
	if err != nil || len(all) != 3000 || s.Late != 0 || !slices.IsSortedFunc(all, func(a, b Request) int { return int(a.At - b.At) }) {
		t.Errorf("%d requests, %+v, %v", len(all), s, err)
	}
	_, s, err = readAll(t, Options{Reorder: 5 * time.Second}, text.String())
	if err != nil || s.Late == 0 || s.Requests+s.Late != 3000 {
		t.Errorf("%+v, %v", s, err)
	}
}

func BenchmarkReader(b *testing.B) {
	var text bytes.Buffer
	for i := range 100_000 {
		text.WriteString(lineAt(i/100, fmt.Sprintf("10.%d.%d.1", i%50, i%7)))
	}
	b.SetBytes(int64(text.Len()) / 100_000)
	b.ResetTimer()
	for n := 0; n < b.N; {
		r, err := Open([]string{"-"}, Options{Stdin: bytes.NewReader(text.Bytes())})
		if err != nil {
			b.Fatal(err)
		}
		for ; n < b.N; n++ {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
