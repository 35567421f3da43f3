package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Files of several servers, of which each has every time: nothing is late, and it is as if
// they were one.
func TestReaderMergesServers(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		servers, whole := make([]strings.Builder, 2+random.IntN(4)), strings.Builder{}
		for i := range 3000 {
			line := lineAt(4*i, fmt.Sprintf("192.0.2.%d", random.IntN(50)))
			whole.WriteString(line)
			servers[random.IntN(len(servers))].WriteString(line)
		}
		var files []string
		for i := range servers {
			files = append(files, servers[i].String())
		}
		files[0] = zipped(t, files[0])
		want, _, err := readAll(t, Options{}, whole.String())
		if err != nil {
			t.Fatal(err)
		}
		got, s, err := readAll(t, Options{Reorder: time.Second}, files...)
		if err != nil || s.Late != 0 || len(got) != len(want) || s.Lines != 3000 {
			t.Fatalf("seed %d: %d of %d requests, %+v, %v", seed, len(got), len(want), s, err)
		}
		for i := range got {
			if got[i].At != want[i].At {
				t.Fatalf("seed %d: request %d at %d, want %d", seed, i, got[i].At, want[i].At)
			}
		}
	}
}

// A server that was down for hours does not make the lines of others late, and neither does
// one line with a clock of its own.
func TestReaderMergesGapsAndMistakes(t *testing.T) {
	steady, gap := "", ""
	for i := range 2000 {
		steady += lineAt(10*i, "192.0.2.1")
		if i < 300 || i > 1500 {
			gap += lineAt(10*i+5, "192.0.2.2")
		}
	}
	got, s, err := readAll(t, Options{}, steady, gap)
	if err != nil || s.Late != 0 || len(got) != 2000+799 {
		t.Errorf("with a gap: %d requests, %d late, %v", len(got), s.Late, err)
	}
	half := strings.Index(gap, "\n"+lineAt(10*200+5, "192.0.2.2")) + 1
	mistaken := gap[:half] + lineAt(5_000_000, "192.0.2.3") + gap[half:]
	for name, files := range map[string][]string{"in the middle": {steady, mistaken}, "at first": {steady, lineAt(5_000_000, "192.0.2.3") + gap}} {
		got, s, err = readAll(t, Options{}, files...)
		if err != nil || s.Late != 0 || len(got) != 2000+799+1 {
			t.Errorf("with a mistake %s: %d requests, %d late, %v", name, len(got), s.Late, err)
		}
	}
}

// Each file has a header of its own.
func TestReaderMergesTables(t *testing.T) {
	a, b := "time,client\n", "client;extra;time\n"
	for i := range 100 {
		at := time.Unix(1_767_000_000+int64(i), 0).UTC().Format(time.RFC3339)
		a += at + ",192.0.2.1\n"
		b += "192.0.2.2;x;" + at + "\n"
	}
	got, s, err := readAll(t, Options{}, a, b)
	clients := map[uint32]int{}
	for _, q := range got {
		clients[q.Client]++
	}
	if diff := cmp.Diff(map[uint32]int{0: 100, 1: 100}, clients); err != nil || s.Bad != 0 || diff != "" || s.Format != "csv:time=time,client=client" {
		t.Errorf("%v, %+v; clients (-want +got):\n%s", err, s, diff)
	}
}

// Lines of fields with usual names are known without being named.
func TestReaderFindsFields(t *testing.T) {
	line := `{"timestamp":"2026-01-01T00:00:00Z","client_ip":"192.0.2.1","path":"/"}` + "\n"
	for name, text := range map[string]string{"jsonl": strings.Repeat(line, 9), "csv": "timestamp,ip,path\n" + strings.Repeat("2026-01-01T00:00:00Z,192.0.2.1,/\n", 9)} {
		got, s, err := readAll(t, Options{}, text)
		if err != nil || len(got) != 9 || !strings.HasPrefix(s.Format, name+":") || s.Agreed != s.Sampled {
			t.Errorf("%s: %d requests, %+v, %v", name, len(got), s, err)
		}
	}
	for name, text := range map[string]string{"no client": "timestamp,path\n2026-01-01T00:00:00Z,/\n", "no values": "timestamp,ip\nx,y\nx,y\nx,y\n"} {
		if _, _, err := readAll(t, Options{}, text); !errors.Is(err, ErrNotLog) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nobody has to wait for a pipe that gives nothing, or has no other end.
func TestReaderStopsWaiting(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	go out.Write([]byte(strings.Repeat(lineAt(0, "192.0.2.1"), 5)))
	if n, err := stopped("-", Options{Stdin: in}); !errors.Is(err, ErrStopped) || n != 5 {
		t.Errorf("%v after %d requests", err, n)
	}
}

// stopped reads a log, and stops waiting for it a little later.
func stopped(name string, o Options) (requests int, err error) {
	done := make(chan struct{})
	o.Done = done
	time.AfterFunc(50*time.Millisecond, func() { close(done) })
	r, err := Open([]string{name}, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		if _, err := r.Next(); err != nil {
			return requests, err
		}
		requests++
	}
}

// A file that begins with lines of something else takes part like any other.
func TestReaderMergesBehindPreambles(t *testing.T) {
	plain := ""
	for i := range 2000 {
		plain += lineAt(10*i, "192.0.2.1")
	}
	for name, preamble := range map[string]string{"first": strings.Repeat("# starting\n", 70), "one": "# starting\n"} {
		got, s, err := readAll(t, Options{MaxBad: 0.5}, plain, preamble+plain)
		if err != nil || s.Late != 0 || len(got) != 4000 {
			t.Errorf("%s: %d requests, %d late, %v", name, len(got), s.Late, err)
		}
	}
}

// Once stopped, it stays so: what was still read for an earlier call is nobody's.
func TestPatientStaysStopped(t *testing.T) {
	for range 100 {
		in, out := io.Pipe()
		done := make(chan struct{})
		p := patient(in, done)
		time.AfterFunc(time.Millisecond, func() { close(done); out.Write([]byte(strings.Repeat("x", 20))) })
		for i, size := range []int{20, 5, 5, 5} {
			if n, err := p.Read(make([]byte, size)); n != 0 && i > 0 || err == nil && i > 0 {
				t.Fatalf("read %d: %d bytes, %v", i, n, err)
			}
		}
		p.Close()
	}
}

// With somebody who may end it, a pipe is read as it is.
func TestPatientReadsAll(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	for _, most := range []int{1, 100, 1 << 20} {
		p := patient(io.NopCloser(strings.NewReader(text[:min(len(text), 1000*most)])), make(chan struct{}))
		got, err := io.ReadAll(&halting{p, most})
		if err != nil || !bytes.Equal(got, []byte(text[:min(len(text), 1000*most)])) {
			t.Errorf("%d at a time: %d bytes, %v", most, len(got), err)
		}
		p.Close()
		p.Close()
	}
}

// halting reads little at a time.
type halting struct {
	io.Reader
	most int
}

func (h *halting) Read(b []byte) (int, error) { return h.Reader.Read(b[:min(len(b), h.most)]) }
