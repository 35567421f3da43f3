package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Rotated files are read in the order of time, whatever the order of their names.
func TestReaderOrdersFiles(t *testing.T) {
	newest, middle, oldest := lineAt(1000, "192.0.2.3"), zipped(t, lineAt(500, "192.0.2.2")), zstandard(t, lineAt(0, "192.0.2.1"))
	all, s, err := readAll(t, Options{}, newest, "", middle, oldest)
	if err != nil || len(all) != 3 || s.Late != 0 || !s.Sorted {
		t.Errorf("%d requests, %v, %+v", len(all), err, s)
	}
	var order []string
	for _, name := range s.Files {
		order = append(order, filepath.Base(name))
	}
	if diff := cmp.Diff([]string{"log.3", "log.2", "log.0", "log.1"}, order); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, s, err = readAll(t, Options{Format: "combined"}, oldest, newest); err != nil || s.Sorted || s.Late != 0 {
		t.Errorf("in order already: %v, %+v", err, s)
	}
	// A pipe is read once: what is given stays in its order.
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte(lineAt(0, "192.0.2.1")), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{"-", name}, Options{Stdin: strings.NewReader(newest + newest)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if s := r.Summary(); s.Sorted || cmp.Diff([]string{"-", name}, s.Files) != "" || s.Sampled < 2 || s.Agreed != s.Sampled {
		t.Errorf("%+v", s)
	}
}

// A format is that of most lines, not of the first; what else is there is called by its name.
func TestReaderOfMixedFormats(t *testing.T) {
	strange := "Log of a server\n" + lines[6].line + "\n"
	all, s, err := readAll(t, Options{MaxBad: 0.5}, strange+strings.Repeat(lineAt(0, "192.0.2.1"), 20)+lines[7].line+"\n")
	if err != nil || len(all) != 20 || s.Format != "combined" || s.Sampled != 23 || s.Agreed != 20 {
		t.Fatalf("%v, %+v", err, s)
	}
	var why []string
	for _, b := range s.Examples {
		why = append(why, fmt.Sprintf("%d: %s", b.Line, b.Why))
	}
	if diff := cmp.Diff([]string{`1: no " - " after $remote_addr, from byte 1 on`, "2: looks like envoy", "23: looks like caddy"}, why); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
}

// A line has the number that an editor shows, in its file.
func TestReaderNumbersLines(t *testing.T) {
	good := lineAt(0, "192.0.2.1")
	_, s, err := readAll(t, Options{MaxBad: 1}, good+"\n\r\n"+good+"bad\n", strings.Repeat("\n", 3)+good+"bad", strings.Repeat(good, 70)+"bad\nbad\nbad\nbad\n")
	var places []string
	for _, b := range s.Examples {
		places = append(places, fmt.Sprintf("%s %d", filepath.Base(b.File), b.Line))
	}
	if diff := cmp.Diff([]string{"log.0 5", "log.1 5", "log.2 71", "log.2 72", "log.2 73"}, places); diff != "" || err != nil || s.Bad != 6 {
		t.Errorf("%v; bad lines (-want +got):\n%s", err, diff)
	}
}

// What is left out counts for nothing.
func TestReaderForgetsLateLines(t *testing.T) {
	text := lineAt(0, "192.0.2.1") + lineAt(1, "192.0.2.1") + lineAt(1000, "192.0.2.1") + lineAt(1001, "192.0.2.1") +
		strings.ReplaceAll(strings.ReplaceAll(lineAt(0, "192.0.2.9"), " 200 ", " 429 "), "GET /", "GET /late")
	for range 3 {
		text += lineAt(1002, "192.0.2.1")
	}
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{name}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	s := r.Summary()
	if !errors.Is(err, io.EOF) || s.Late != 1 || s.Refused != 0 || s.Requests != 7 || r.Directory().Clients() != 1 || len(r.Directory().Routes()) != 1 {
		t.Errorf("%v, %+v, %d clients, %q", err, s, r.Directory().Clients(), r.Directory().Routes())
	}
}

// Stamps are as certain as their steps, and those of what was taken off.
func TestReaderOfUncertainStamps(t *testing.T) {
	for _, row := range []struct {
		format, line string
		want         int64
		arrivals     bool
	}{
		{"$time_iso8601 $remote_addr $request_time", "2024-02-28T23:59:59Z 192.0.2.1 0.123", second, true},
		{"$time_iso8601 $remote_addr", "2024-02-28T23:59:59Z 192.0.2.1", second, false},
		{"$msec $remote_addr $request_time", "1709164799.123 192.0.2.1 0.100", 1000, true},
		{"$msec $remote_addr %T", "1709164799.123 192.0.2.1 3", second, true},
		{"$msec $remote_addr $request_time", "1709164799.123 192.0.2.1 0.000", 1000, true}, // nothing was taken off
		{"$msec $remote_addr $request_time", "1709164799.123 192.0.2.1 -", 1000, false},
		{"%{usec}t %h %T", "1709164799123456 192.0.2.1 3", 1, true},
		{"%{usec}t %h", "1709164799123000 192.0.2.1", 1000, true},
	} {
		_, s, err := readAll(t, Options{Format: row.format}, row.line)
		if err != nil || s.Uncertainty != row.want || s.Seconds != (row.want == second) || s.Arrivals != row.arrivals {
			t.Errorf("%s: %v, %+v", row.format, err, s)
		}
	}
	if _, s, err := readAll(t, Options{Format: "%{usec}t %h", MaxBad: 0.6}, "1709164799000000 192.0.2.1\n1709164800000001 192.0.2.1"); err != nil || s.Uncertainty != 1 {
		t.Errorf("one second, and one microsecond: %v, %+v", err, s)
	}
}

// A line may be so long, and not longer; what follows is read.
func TestReaderOfLongLines(t *testing.T) {
	good := lineAt(0, "192.0.2.1")
	of := func(n int) string {
		line := strings.TrimSuffix(good, "\"\n")
		return line + strings.Repeat("x", n-len(line)-1) + `"`
	}
	for _, row := range []struct {
		line string
		end  string
		bad  int64
	}{
		{of(LongestLine), "\n", 0},
		{of(LongestLine), "\r\n", 0},
		{of(LongestLine), "", 0},
		{of(LongestLine + 1), "\n", 1},
		{of(LongestLine + 1), "\r\n", 1},
		{of(LongestLine + 1), "", 1},
		{of(3 * LongestLine), "", 1},
		{of(1 << 18), "\n", 0},
		{of(1<<18 - 1), "\n", 0},
		{of(1<<18 - 1), "\r\n", 0},
		{strings.Repeat("x", LongestLine), "", 1},
	} {
		for _, o := range []Options{{MaxBad: 1}, {MaxBad: 1, Format: "combined"}} {
			text := good + row.line + row.end
			requests := 2 - row.bad
			if row.end != "" {
				text += good
				requests++
			}
			if _, s, err := readAll(t, o, text); err != nil || s.Bad != row.bad || s.Requests != requests {
				t.Errorf("%d bytes and %q: %v, %d bad, %d requests", len(row.line), row.end, err, s.Bad, s.Requests)
			}
		}
	}
}

func TestReaderOfNoLog(t *testing.T) {
	for _, row := range []struct {
		name, format, content string
		want                  error
		says                  string
	}{
		{"empty", "", "\n\n", ErrEmpty, "the log is empty"},
		{"empty, of a format", "combined", "", ErrEmpty, "the log is empty"},
		{"zeros", "", strings.Repeat("\x00", 5000), ErrNotLog, "log.0: this is no access log: it is binary"},
		{"zeros, of a format", "combined", strings.Repeat("\x00\x00\n", 5000), ErrNotLog, "log.0: this is no access log: it is binary"},
		{"text", "", "Hello\nworld", ErrNotLog, "log.0: this is no access log: 0 of the first 2 lines"},
		{"text, of a format", "combined", strings.Repeat("Hello\n", 5000), ErrNotLog, "log.0: this is no access log: none of the first 1000 lines is combined"},
		{"a pattern", "$msec $remote_addr", strings.Repeat(lineAt(0, "192.0.2.1"), 1000), ErrNotLog, "log.0:1: looks like combined"},
	} {
		_, _, err := readAll(t, Options{Format: row.format, MaxBad: -1}, row.content)
		if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %q", row.name, err, row.says)
		}
	}
}

// Some lines may be broken. Of too many the end says it, with examples, when all that could
// be read was given.
func TestReaderCountsBadLines(t *testing.T) {
	good := lineAt(0, "192.0.2.1")
	text := strings.Repeat(good, 198) + "bad\nworse\n"
	for _, row := range []struct {
		share float64
		text  string
		want  error
	}{
		{0, text, nil},
		{0, text + "worst\n", ErrBadLines},
		{0.02, text + "worst\n", nil},
		{0.001, text, ErrBadLines},
		{1, text + text[len(text)-10:], nil},
		{-1, strings.Repeat("bad\n", 999), nil},
		{0, strings.Repeat("bad\n", 999), ErrBadLines},
		{1, strings.Repeat("bad\n", 1000), ErrNotLog},
	} {
		all, s, err := readAll(t, Options{Format: "combined", MaxBad: row.share}, row.text)
		if !errors.Is(err, row.want) || s.Requests != int64(strings.Count(row.text, "192.0.2.1")) || int64(len(all)) != s.Requests {
			t.Errorf("%g of %d lines: %v, want %v; %d requests", row.share, s.Lines, err, row.want, len(all))
		}
	}
	_, _, err := readAll(t, Options{}, text+"worst\n")
	if err == nil || !strings.HasPrefix(err.Error(), "too many lines cannot be read as combined: 3 of 201, and at most 1 % may be broken; the first: ") ||
		!strings.Contains(err.Error(), "log.0:199: no ") || strings.Contains(err.Error(), "worse") {
		t.Error(err)
	}
	if _, err := Open([]string{"-"}, Options{MaxBad: 1.5}); err == nil || err.Error() != "share of bad lines 1.5: want 0 to 1" {
		t.Error(err)
	}
}

// A file that ends too early ends with its name, after all that was in it.
func TestReaderOfCutFiles(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(lineAt(i, fmt.Sprintf("10.%d.%d.1", i%251, i*i%241)))
	}
	whole := zipped(t, text.String())
	all, s, err := readAll(t, Options{}, whole[:len(whole)/2])
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "log.0") || len(all) < 500 || s.Bad != 0 {
		t.Errorf("%d requests, %v, %+v", len(all), err, s)
	}
	if _, _, err = readAll(t, Options{}, text.String(), whole[:5]); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "log.1") {
		t.Errorf("no header of gzip: %v", err)
	}
}

// A duration that nobody waited for moves no request by years.
func TestReaderOfAbsurdDurations(t *testing.T) {
	_, s, err := readAll(t, Options{Format: "$msec $remote_addr $request_time", MaxBad: 1, Reorder: time.Hour}, "1709164799.123 192.0.2.1 1e9\n1709164799.123 192.0.2.1 1\n")
	if err != nil || s.Bad != 1 || s.Requests != 1 || s.From != 1709164798_123000 {
		t.Errorf("%v, %+v", err, s)
	}
}
