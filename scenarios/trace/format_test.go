package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found is a record as a table can say it.
type found struct {
	Client, Method, Target, Host string
	Stamp, Duration              int64
	Status                       int
}

func foundIn(r record) found {
	return found{string(r.client), string(r.method), string(r.target), string(r.host), r.stamp, r.duration, r.status}
}

// lines have one of each format; all but the first are documented examples, with other
// clients and paths.
var lines = []struct {
	format, line string
	want         found
}{
	{
		"common", `192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /a/b?c=d HTTP/1.0" 200 2326`,
		found{Client: "192.0.2.7", Method: "GET", Target: "/a/b?c=d", Stamp: 971211336_000000, Status: 200},
	},
	{
		"combined", `2001:db8::1 - - [28/Feb/2024:23:59:59 +0000] "POST /say HTTP/1.1" 429 12 "https://example.com/\"q\"" "Mozilla \\"`,
		found{Client: "2001:db8::1", Method: "POST", Target: "/say", Stamp: 1709164799_000000, Status: 429},
	},
	{
		"combined", `192.0.2.7 - - [28/Feb/2024:23:59:59 +0000] "\x16\x03\x01" 400 150 "-" "-"`,
		found{Client: "192.0.2.7", Stamp: 1709164799_000000, Status: 400},
	},
	{
		"combined", `192.0.2.7 - - [28/Feb/2024:23:59:59 +0000] "GET /with blanks and \" HTTP/1.1" 404 0 "-" "a \" b"`,
		found{Client: "192.0.2.7", Method: "GET", Target: `/with blanks and \"`, Stamp: 1709164799_000000, Status: 404},
	},
	{
		"alb", `https 2018-07-02T22:23:00.186641Z app/lb/50dc 192.0.2.7:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b=c HTTP/1.1" "curl/7.46.0" ECDHE TLSv1.2 arn:aws:tg "Root=1" "www.example.com" "arn" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
		found{Client: "192.0.2.7", Method: "GET", Target: "/a?b=c", Host: "www.example.com:443", Stamp: 1530570168_364000, Status: 200},
	},
	{
		"alb", `http 2018-07-02T22:23:00.186641Z app/lb/50dc [2001:db8::1]:2817 - -1 -1 -1 503 - 0 57 "GET http://www.example.com:80/ HTTP/1.1" "-" - - - "Root=1" "-" "-" 0 2018-07-02T22:22:48.364000Z "forward"`,
		found{Client: "2001:db8::1", Method: "GET", Target: "/", Host: "www.example.com:80", Stamp: 1530570168_364000, Status: 503},
	},
	{
		"envoy", `[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "203.0.113.9, 192.0.2.7" "nsq2http" "cc21d9b0" "locations" "tcp://10.0.0.1:80"`,
		found{Client: "192.0.2.7", Method: "POST", Target: "/api/v1/locations", Stamp: 1460751420_310000, Status: 204},
	},
	{
		"caddy", `{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b","headers":{"User-Agent":["curl"]}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200}`,
		found{Client: "192.0.2.7", Method: "GET", Target: "/a?b", Host: "localhost", Stamp: 1646861401_524102, Duration: 930, Status: 200},
	},
	{
		"caddy", `{"level":"info","ts":"2024-02-28T23:59:59.5Z","request":{"remote_addr":"[2001:db8::1]:4242","method":"GET","host":"h","uri":"/"},"duration":1.5,"status":204}`,
		found{Client: "2001:db8::1", Method: "GET", Target: "/", Host: "h", Stamp: 1709164799_500000, Duration: 1_500_000, Status: 204},
	},
	{
		"cloudflare", `{"ClientIP":"192.0.2.7","ClientRequestHost":"example.com","ClientRequestMethod":"GET","ClientRequestURI":"/a","EdgeEndTimestamp":"2019-08-02T15:29:08Z","EdgeResponseBytes":69045,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2019-08-02T15:29:08Z","RayID":"500115ec386354d8"}`,
		found{Client: "192.0.2.7", Method: "GET", Target: "/a", Host: "example.com", Stamp: 1564759748_000000, Status: 200},
	},
	{
		"cloudflare", `{"ClientIP":"192.0.2.7","EdgeStartTimestamp":1564759748123456789,"EdgeResponseStatus":0}`,
		found{Client: "192.0.2.7", Stamp: 1564759748_123456},
	},
}

func TestFormats(t *testing.T) {
	for _, row := range lines {
		f, err := Named(row.format)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := f.lines.read([]byte(row.line), &r); err != nil {
			t.Errorf("%s: %v", row.line, err)
			continue
		}
		if diff := cmp.Diff(row.want, foundIn(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.line, diff)
		}
		if d := lookalike([]byte(row.line)); d != row.format {
			t.Errorf("%s: detected as %q", row.line, d)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, row := range []struct {
		pattern, line string
		want          found
	}{
		{
			`$msec ${remote_addr} $request_time "$request_uri"`, `1709164799.123 192.0.2.7 0.250 "/a\"b"`,
			found{Client: "192.0.2.7", Target: `/a\"b`, Stamp: 1709164799_123000, Duration: 250_000},
		},
		{
			`%h %l %u %t "%r" %>s %b %D 100%%`, `host.example - - [28/Feb/2024:23:59:59 +0000] "GET / HTTP/1.1" 304 - 1500 100%`,
			found{Client: "host.example", Method: "GET", Target: "/", Stamp: 1709164799_000000, Duration: 1500, Status: 304},
		},
		{
			`%{X-Real-IP}i|%a|%{usec}t|%{ms}T|%m|%U|%V`, `x|192.0.2.7|1709164799123456|12|GET|/a|example.com`,
			found{Client: "192.0.2.7", Method: "GET", Target: "/a", Host: "example.com", Stamp: 1709164799_123456, Duration: 12_000},
		},
		{
			`$remote_addr $msec [$time_local]`, `192.0.2.7 1709164799.123 [28/Feb/2024:23:59:59 +0000]`,
			found{Client: "192.0.2.7", Stamp: 1709164799_123000},
		},
		{`$remote_addr $time_iso8601 $request_time`, `192.0.2.7 2024-02-28T23:59:59+00:00 -`, found{Client: "192.0.2.7", Stamp: 1709164799_000000}},
	} {
		f, err := Named(row.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		var r record
		if err := f.lines.read([]byte(row.line), &r); err != nil {
			t.Errorf("%s: %v", row.pattern, err)
		} else if diff := cmp.Diff(row.want, foundIn(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.pattern, diff)
		}
	}
}

// Which variable has the time says what it is the time of.
func TestPatternsOfCompletion(t *testing.T) {
	for pattern, want := range map[string]bool{
		"$remote_addr [$time_local] $request_time": true,
		"$remote_addr $time_iso8601":               true,
		"$remote_addr $msec":                       true,
		"$xff $start_time":                         false,
		"$client_port $time $creation_time":        false,
		"$remote_addr [$time_local] $start_time":   false,
		"%h %t %D":                                 false,
		"%h %{end:usec}t %D":                       true,
		"%h %{begin:usec}t %{end:usec}t %D":        false,
		"%h $time_local":                           true,
		"$remote_addr %t":                          false,
	} {
		if f, err := Named(pattern); err != nil || f.Completion != want {
			t.Errorf("%s: %t, %v", pattern, f.Completion, err)
		}
	}
}

func TestPatternsRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"nginx":                              `log format "nginx": want one of caddy, cloudflare, alb, envoy, combined, common, csv, jsonl`,
		"$remote_addr":                       "no time; want one of $creation_time, $msec,",
		"$msec":                              "no client; want one of $client_port, $remote_addr,",
		"$remote_addr$msec":                  "nothing tells $remote_addr and $msec apart",
		"$remote_addr $msec $":               `"$" is no variable`,
		"$remote_addr ${msec":                `"${msec" is no variable`,
		"%h %t %{x":                          `"%{x" is no variable`,
		"%h %t %5":                           `"%5" is no variable`,
		"$remote_addr $msec $status $status": "$status comes twice",
	} {
		if _, err := Named(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

// Whatever a line is, reading it ends with a record or with a short message.
func FuzzLines(f *testing.F) {
	for _, row := range lines {
		f.Add(row.line)
	}
	all := formats
	for name, line := range map[string]string{
		"csv:time=2,client=1,duration_ms=3": `192.0.2.1,2026-01-01T10:00:00.1Z,12`,
		"jsonl:time=t,client=from.ip":       `{"t": 1767261600.25, "from": {"ip": "192.0.2.1:80"}}`,
	} {
		format, err := Named(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all[:len(all):len(all)], format)
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, format := range all {
			var r record
			err := format.lines.read([]byte(line), &r)
			if err == nil && (len(r.client) == 0 || r.has&fieldStamp == 0 || r.duration < 0) {
				t.Errorf("%s: %q is %+v", format.Name, line, r)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("%s: a message of %d bytes", format.Name, len(err.Error()))
			}
		}
	})
}
