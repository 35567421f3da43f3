package crowd

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"
)

// Format is a kind of access log.
type Format struct {
	Name, File string
	// completion is that lines are written when responses are complete, and stamped so.
	completion bool
	head       string
	line       func([]byte, *Event) []byte
}

// Formats are those that can be written.
var Formats = []Format{
	{"nginx", "access.log", true, "", combined},
	{"apache", "access.log", false, "", common},
	{"caddy", "access.json", true, "", caddy},
	{"cloudflare", "access.json", false, "", cloudflare},
	{"alb", "access.log", false, "", alb},
	{"envoy", "access.log", false, "", envoy},
	{"csv", "access.csv", false, "arrival,client,method,path,status\n", fields},
	{"jsonl", "access.json", false, "", objects},
}

// FormatNames are their names.
func FormatNames() []string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return names
}

// Truth is what a client is, and how much it asked for.
type Truth struct {
	Class    Class
	Requests int64
}

// Write writes a log, and returns what each client is. Its memory is that of Generate.
func (f *Format) Write(w io.Writer, events iter.Seq[Event]) ([]Truth, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	var all []Truth
	var line []byte
	if _, err := out.WriteString(f.head); err != nil {
		return nil, err
	}
	for e := range f.written(events) {
		for len(all) <= e.Client {
			all = append(all, Truth{})
		}
		all[e.Client].Class = e.Class
		all[e.Client].Requests++
		line = append(f.line(line[:0], &e), '\n')
		if _, err := out.Write(line); err != nil {
			return nil, err
		}
	}
	return all, out.Flush()
}

// WriteTruth writes what clients are as CSV; those that sent nothing are not in it.
func WriteTruth(w io.Writer, all []Truth) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"client", "class", "requests"}}
	for i, t := range all {
		if t.Requests > 0 {
			rows = append(rows, []string{addressOf(i).String(), string(t.Class), strconv.FormatInt(t.Requests, 10)})
		}
	}
	return out.WriteAll(rows)
}

// written are events in the order in which a server writes their lines.
func (f *Format) written(events iter.Seq[Event]) iter.Seq[Event] {
	if !f.completion {
		return events
	}
	return func(yield func(Event) bool) {
		var waiting byEnd
		for e := range events {
			for len(waiting) > 0 && waiting[0].end() <= e.At {
				if !yield(heap.Pop(&waiting).(Event)) {
					return
				}
			}
			heap.Push(&waiting, e)
		}
		slices.SortFunc(waiting, func(a, b Event) int { return cmp.Or(cmp.Compare(a.end(), b.end()), cmp.Compare(a.At, b.At)) })
		for _, e := range waiting {
			if !yield(e) {
				return
			}
		}
	}
}

func (e *Event) end() int64 { return e.At + e.Took.Microseconds() }

// byEnd are events that are under way, the first to be complete first.
type byEnd []Event

func (b byEnd) Len() int { return len(b) }
func (b byEnd) Less(i, j int) bool {
	if b[i].end() != b[j].end() {
		return b[i].end() < b[j].end()
	}
	return b[i].At < b[j].At
}
func (b byEnd) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *byEnd) Push(e any)   { *b = append(*b, e.(Event)) }
func (b *byEnd) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }

const rfc3339Micro = "2006-01-02T15:04:05.000000Z"

func combined(b []byte, e *Event) []byte {
	b = clf(b, e, e.end())
	return fmt.Appendf(b, ` "-" %q`, e.Agent)
}

func common(b []byte, e *Event) []byte { return clf(b, e, e.At) }

func clf(b []byte, e *Event, at int64) []byte {
	b = e.Addr.AppendTo(b)
	b = append(b, " - - ["...)
	b = instant(at).AppendFormat(b, "02/Jan/2006:15:04:05 -0700")
	return fmt.Appendf(b, `] "%s %s HTTP/1.1" %d %d`, e.Method, e.Path, e.Status, e.Bytes)
}

func alb(b []byte, e *Event) []byte {
	b = append(b, "http "...)
	b = instant(e.end()).AppendFormat(b, rfc3339Micro)
	client := e.Addr.String()
	if e.Addr.Is6() {
		client = "[" + client + "]"
	}
	b = fmt.Appendf(b, ` app/lb/1 %s:40000 10.0.0.1:80 0.000 %.3f 0.000 %d %d 200 %d "%s http://api.example:80%s HTTP/1.1" %q - - arn:1 "Root=1" "-" "-" 0 `,
		client, e.Took.Seconds(), e.Status, e.Status, e.Bytes, e.Method, e.Path, e.Agent)
	b = instant(e.At).AppendFormat(b, rfc3339Micro)
	return append(b, ` "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`...)
}

func envoy(b []byte, e *Event) []byte {
	b = append(b, '[')
	b = instant(e.At).AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return fmt.Appendf(b, `] "%s %s HTTP/1.1" %d - 0 %d %d %d "%s" %q "1" "api.example" "10.0.0.1:80"`,
		e.Method, e.Path, e.Status, e.Bytes, e.Took.Milliseconds(), e.Took.Milliseconds(), e.Addr, e.Agent)
}

func caddy(b []byte, e *Event) []byte {
	return fmt.Appendf(b, `{"level":"info","ts":%.6f,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":%q,"client_ip":%q,"proto":"HTTP/2.0","method":%q,"host":"api.example","uri":%q},"bytes_read":0,"duration":%.6f,"size":%d,"status":%d}`,
		float64(e.end())/1e6, e.Addr, e.Addr, e.Method, e.Path, float64(e.Took.Microseconds())/1e6, e.Bytes, e.Status)
}

func cloudflare(b []byte, e *Event) []byte {
	return fmt.Appendf(b, `{"ClientIP":%q,"ClientRequestHost":"api.example","ClientRequestMethod":%q,"ClientRequestURI":%q,"EdgeEndTimestamp":%d,"EdgeResponseBytes":%d,"EdgeResponseStatus":%d,"EdgeStartTimestamp":%d,"RayID":"1"}`,
		e.Addr, e.Method, e.Path, e.end()*1000, e.Bytes, e.Status, e.At*1000)
}

func fields(b []byte, e *Event) []byte {
	b = instant(e.At).AppendFormat(b, rfc3339Micro)
	return fmt.Appendf(b, ",%s,%s,%s,%d", e.Addr, e.Method, e.Path, e.Status)
}

func objects(b []byte, e *Event) []byte {
	text, _ := json.Marshal(struct { // never fails
		Arrival string `json:"arrival"`
		Client  string `json:"client"`
		Method  string `json:"method"`
		Path    string `json:"path"`
		Status  int    `json:"status"`
	}{instant(e.At).Format(rfc3339Micro), e.Addr.String(), e.Method, e.Path, e.Status})
	return append(b, text...)
}
