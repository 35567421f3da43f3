package crowd

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/scenarios/trace"
)

// small is a little traffic of everybody.
func small(seed uint64) Config {
	c := Default()
	c.Seed, c.Duration = seed, 20*time.Minute
	c.Browsers, c.Scrapers, c.Crons, c.Bots, c.Crowds = 30, 2, 2, 2, 1
	return c
}

// peaks is the most that each client sends in any trailing minute, by class.
func peaks(c Config) map[Class][]int {
	const minute = int64(time.Minute / time.Microsecond)
	recent, most, class := map[int][]int64{}, map[int]int{}, map[int]Class{}
	for e := range Generate(c) {
		mine := append(recent[e.Client], e.At)
		for mine[0] <= e.At-minute {
			mine = mine[1:]
		}
		recent[e.Client], class[e.Client] = mine, e.Class
		most[e.Client] = max(most[e.Client], len(mine))
	}
	all := map[Class][]int{}
	for client, n := range most {
		all[class[client]] = append(all[class[client]], n)
	}
	return all
}

// Scrapers ask for three times what any browser does, and a crowd is between them: that is
// what somebody who looks for scrapers has to find.
func TestScrapersStandOut(t *testing.T) {
	for seed := range uint64(20) {
		c := Default()
		c.Seed, c.Duration = seed, 30*time.Minute
		all := peaks(c)
		browser, scraper := slices.Max(all[Browser]), slices.Min(all[Scraper])
		if scraper < 3*browser || len(all[Scraper])*50 > c.Clients() {
			t.Errorf("seed %d: browsers ask for up to %d, scrapers for %d or more", seed, browser, scraper)
		}
		if least, most := slices.Min(all[Crowd]), slices.Max(all[Crowd]); least <= browser || most*2 > scraper {
			t.Errorf("seed %d: crowds ask for %d to %d, browsers for up to %d, scrapers for %d or more", seed, least, most, browser, scraper)
		}
		if slices.Max(all[Cron]) > 4 || slices.Max(all[Bot]) > 10 {
			t.Errorf("seed %d: crons ask for up to %d, bots for %d", seed, slices.Max(all[Cron]), slices.Max(all[Bot]))
		}
	}
}

// Requests come in order, in time, from the addresses of tests; crons by the clock.
func TestEventsAreSound(t *testing.T) {
	c := small(7)
	last, seen := int64(0), map[Class]int{}
	for e := range Generate(c) {
		if e.At < last || e.At < c.Start.UnixMicro() || e.At >= c.Start.Add(c.Duration).UnixMicro() {
			t.Fatalf("%+v after %d", e, last)
		}
		last = e.At
		seen[e.Class]++
		if text := e.Addr.String(); !strings.HasPrefix(text, "198.18.") && !strings.HasPrefix(text, "2001:db8:") {
			t.Fatalf("address %s", text)
		}
		if second := time.UnixMicro(e.At).UTC().Second(); e.Class == Cron && second > 1 {
			t.Errorf("a cron comes at second %d", second)
		}
	}
	for _, class := range Classes {
		if seen[class] == 0 {
			t.Errorf("nothing is of class %s", class)
		}
	}
	addresses := map[netip.Addr]bool{}
	const many = 1<<17 + 1000 // of which some are beyond what IPv4 has
	for i := range many {
		addresses[addressOf(i)] = true
	}
	if len(addresses) != many {
		t.Errorf("%d addresses for %d clients", len(addresses), many)
	}
}

// What the formats are on every machine: a change of a byte is one of everybody's logs.
func TestFormatsAreTheSameEverywhere(t *testing.T) {
	for i := range Formats {
		f := &Formats[i]
		var b, again bytes.Buffer
		truth, err := f.Write(&b, Generate(small(1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(&again, Generate(small(1))); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: another log of the same seed (%v)", f.Name, err)
		}
		if err := WriteTruth(&b, truth); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(b.Bytes())); got[:12] != sums[f.Name] {
			t.Errorf("%s: sum %s, want %s; the log begins\n%s", f.Name, got[:12], sums[f.Name], firstLines(b.String(), 3))
		}
	}
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// Every format is read as what was made up: requests, when they came, clients and statuses.
func TestFormatsAreReadBack(t *testing.T) {
	for i := range Formats {
		f := &Formats[i]
		path := filepath.Join(t.TempDir(), f.File)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(file, Generate(small(2))); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		named := map[string]string{"csv": "csv", "jsonl": "jsonl"}[f.Name] // others are detected
		readBack(t, f.Name, path, named)
	}
}

func readBack(t *testing.T, name, path, format string) {
	t.Helper()
	r, err := trace.Open([]string{path}, trace.Options{Format: format})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer r.Close()
	clients, statuses, n := map[int]bool{}, map[int]int{}, 0
	var at []int64
	for e := range Generate(small(2)) {
		clients[e.Client] = true
		statuses[e.Status]++
		at = append(at, e.At)
		n++
	}
	var got []int64
	for {
		q, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		statuses[int(q.Status)]--
		got = append(got, q.At)
	}
	slices.Sort(got)
	if len(got) != n || r.Directory().Clients() != len(clients) {
		t.Fatalf("%s: %d requests of %d clients, want %d of %d", name, len(got), r.Directory().Clients(), n, len(clients))
	}
	for status, left := range statuses {
		if left != 0 {
			t.Errorf("%s: %d answers %d too few", name, left, status)
		}
	}
	// Stamps are of whole seconds or milliseconds; of nginx of when responses were complete.
	slack := r.Summary().Uncertainty
	if name == "nginx" {
		slack += 2e6
	}
	for i := range got {
		if d := got[i] - at[i]; d < -r.Summary().Uncertainty || d > slack {
			t.Fatalf("%s: request %d came at %d, want %d", name, i, got[i], at[i])
		}
	}
}

func TestTruth(t *testing.T) {
	var log, truth bytes.Buffer
	all, err := Formats[0].Write(&log, Generate(small(3)))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTruth(&truth, all); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&truth).ReadAll()
	if err != nil || len(rows) < 30 || !slices.Equal(rows[0], []string{"client", "class", "requests"}) {
		t.Fatalf("%v: %q", err, rows)
	}
	for _, row := range rows[1:] {
		if n := strings.Count("\n"+log.String(), "\n"+row[0]+" "); fmt.Sprint(n) != row[2] {
			t.Errorf("%s has %d lines, and the truth is %s", row[0], n, row[2])
		}
	}
}

func TestConfigsAreChecked(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]Config{
		"duration":             {Start: Default().Start, Browsers: 1},
		"0 clients":            {Start: Default().Start, Duration: time.Hour},
		"-1 clients of class":  {Start: Default().Start, Duration: time.Hour, Browsers: 2, Bots: -1},
		"want a time from":     {Start: time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), Duration: time.Hour, Browsers: 2},
		"3000000 clients: wan": {Start: Default().Start, Duration: time.Hour, Browsers: 3_000_000},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, requests := range []int64{10_000, 130_000, 1_000_000} {
		n := int64(0)
		for range Generate(Scaled(requests)) {
			n++
		}
		if n < requests/2 || n > requests*2 {
			t.Errorf("scaled to %d: %d requests", requests, n)
		}
	}
}

// sums are of each format with a small traffic of seed 1, and of its truth.
var sums = map[string]string{
	"nginx":      "3ca0c4138f74",
	"apache":     "5e234635ce66",
	"caddy":      "1f537db5b939",
	"cloudflare": "d4668bbe9186",
	"alb":        "7cd9f5309b75",
	"envoy":      "f73adb267637",
	"csv":        "f542bcf6c171",
	"jsonl":      "6011df3471cd",
}

func BenchmarkWrite(b *testing.B) {
	n := int64(0)
	for b.Loop() {
		if _, err := Formats[0].Write(io.Discard, counting(Generate(small(1)), &n)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/line")
}

func counting(events func(func(Event) bool), n *int64) func(func(Event) bool) {
	return func(yield func(Event) bool) {
		events(func(e Event) bool { *n++; return yield(e) })
	}
}
