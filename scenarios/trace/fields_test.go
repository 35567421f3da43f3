package trace

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldFormats(t *testing.T) {
	at := int64(1709164799_123000)
	for _, row := range []struct {
		format, text string
		name         string // what the format is called then
		want         Request
		arrivals     bool
	}{
		{
			"csv:time=ts,client=ip,method=m,path=url,status=code,duration_ms=took", "ip,m,url,code,took,ts\n192.0.2.1,GET,/a,429,23,1709164799.146\n",
			"",
			Request{At: at, Line: 1, Status: 429},
			true,
		},
		{
			"csv", "Timestamp;IP;\"a;b\";Status\n2024-02-28T23:59:59.123Z;192.0.2.1;\"x;\"\"y\";200\n",
			"csv:time=Timestamp,client=IP,status=Status",
			Request{At: at, Line: 1, Status: 200},
			false,
		},
		{
			"csv", "remote_addr\trequest\tmsec\tlatency_us\n192.0.2.1\tGET / HTTP/1.1\t1709164799123\t1000000\n",
			"csv:time=msec,client=remote_addr,request=request,duration_us=latency_us",
			Request{At: at - second, Line: 1},
			true,
		},
		{
			"csv:client=2,arrival=1", "1709164799123000,192.0.2.1\n",
			"",
			Request{At: at, Line: 1},
			true,
		},
		{
			"jsonl", `{"ts":1709164799123000000,"request":{"client_ip":"192.0.2.1","method":"GET"},"http.status_code":404}` + "\n",
			"jsonl:time=ts,client=request.client_ip,method=request.method,status=http.status_code",
			Request{At: at, Line: 1, Status: 404},
			false,
		},
		{
			"jsonl:arrival=t.start,client=who,path=url,duration_s=d", `{"t":{"start":"[28/Feb/2024:23:59:59 +0000]"},"who":"203.0.113.1, 192.0.2.1:80","url":"https://h/x","d":5}` + "\n",
			"",
			Request{At: at - at%second, Line: 1},
			true,
		},
		{
			"jsonl", `{"start_time":1709164799.123,"time":1709164799.5,"client":"x"}`,
			"jsonl:arrival=start_time,client=client",
			Request{At: at, Line: 1},
			true,
		},
	} {
		all, s, err := readAll(t, Options{Format: row.format}, row.text)
		if row.name == "" {
			row.name = row.format
		}
		if diff := cmp.Diff([]Request{row.want}, all); diff != "" || err != nil || s.Format != row.name || s.Arrivals != row.arrivals || s.Lines != 1 {
			t.Errorf("%s: %v, %+v; requests (-want +got):\n%s", row.format, err, s, diff)
		}
		// What was guessed can be named.
		if again, _, err := readAll(t, Options{Format: s.Format}, row.text); err != nil || cmp.Diff(all, again) != "" {
			t.Errorf("%s: %v", s.Format, err)
		}
	}
}

// What a field is read as is shown by the routes.
func TestFieldsOfRoutes(t *testing.T) {
	d := newAsked(t)
	f, err := Named("jsonl:time=t,client=c,path=u,method=m")
	if err != nil {
		t.Fatal(err)
	}
	for client := range shared {
		var r record
		if err := f.lines.read([]byte(`{"t":1709164799,"c":"c","m":"POST","u":"http://h:80/a?b"}`), &r); err != nil {
			t.Fatal(err)
		}
		d.as(client, string(r.method), string(r.target), 200)
	}
	d.want("a URL", "POST /a")
}

// Each file of CSV has a header of its own, in its own order.
func TestTablesOfSeveralFiles(t *testing.T) {
	all, s, err := readAll(t, Options{Format: "csv", MaxBad: 1}, "ts,ip\n1709164800,192.0.2.2\nx,192.0.2.2\n1709164802,\"192.0.2.2\n1709164803\n1709164804,\n", "\n\ufeffa,ip;ts\n", "\xef\xbb\xbfip,ts\n192.0.2.2,1709164799\n")
	if err == nil || !strings.Contains(err.Error(), `log.1: no column is named "ts" in the first line, which has 2`) || len(all) != 0 {
		t.Errorf("%d requests, %+v, %v", len(all), s, err)
	}
	all, s, err = readAll(t, Options{Format: "csv", MaxBad: 1}, "ts,ip\n1709164800,192.0.2.2\nx,192.0.2.2\n1709164802,\"192.0.2.2\n1709164803\n1709164804,\n1709164805,192.0.2.2\n", "\xef\xbb\xbfip,ts\n192.0.2.2,1709164799\n")
	var ats, places []int64
	var why []string
	for _, q := range all {
		ats = append(ats, q.At/second)
	}
	for _, b := range s.Examples {
		places, why = append(places, b.Line), append(why, b.Why)
	}
	if diff := cmp.Diff([]int64{1709164799, 1709164800, 1709164805}, ats); diff != "" || err != nil || !s.Sorted || s.Lines != 7 {
		t.Errorf("%v, %+v; arrivals (-want +got):\n%s", err, s, diff)
	}
	want := []string{"ts: 1 bytes that are no time like 1700000000.123456", `no CSV: extraneous or missing " in quoted-field, at byte 23`, "1 columns, and ip is the 2th", "ip: nobody"}
	if diff := cmp.Diff(want, why) + cmp.Diff([]int64{3, 4, 5, 6}, places); diff != "" {
		t.Errorf("bad lines (-want +got):\n%s", diff)
	}
}

func TestFieldFormatsRefused(t *testing.T) {
	for format, want := range map[string]string{
		"csv:":                                   `"" is nothing that a field can be; want one of arrival, time, client, method,`,
		"csv:time=ts":                            "no client; want client=FIELD",
		"jsonl:client=ip":                        "no time; want time=FIELD, or arrival=FIELD",
		"csv:time=a,arrival=b,client=c":          "time and arrival are the same",
		"csv:time=a,client=c,duration=d":         "a duration has a unit; want one of duration_s, duration_ms, duration_us, duration_ns",
		"csv:time=a,client":                      "client has no field; want client=FIELD",
		"csv:time=a,client=b,request=c,path=d":   "request is method and path in one; want either",
		"jsonl:time=a,client=b,latency=c":        `"latency" is nothing that a field can be`,
		"csv:time=a,client=b,client=c":           "client and client are the same",
		"jsonl:time=a,client=b,duration_ms=,x=y": "duration_ms has no field",
		"json:time=a,client=b":                   `log format "json:time=a,client=b": want one of`,
	} {
		if _, err := Named(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", format, err, want)
		}
	}
	for _, row := range []struct{ format, text, want string }{
		{"csv", "203.0.113.77,alice\n", "this is no access log that can be guessed: no time; want time=FIELD, or arrival=FIELD; name the fields, as in csv:time=FIELD,client=FIELD,path=FIELD"},
		{"csv", "ts,\"\n", "this is no access log: no CSV in the first line"},
		{"jsonl", "ts,ip\n", "none of the first 1 lines is a JSON object"},
		{"jsonl", `{"ts":1}`, "no client; want client=FIELD"},
	} {
		_, _, err := readAll(t, Options{Format: row.format}, row.text)
		if !errors.Is(err, ErrNotLog) || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "alice") {
			t.Errorf("%s of %q: %v, want %q", row.format, row.text, err, row.want)
		}
	}
	if _, _, err := readAll(t, Options{Format: "csv:time=ts,client=ip"}, "time,ip\n"); err == nil || !strings.Contains(err.Error(), `log.0: no column is named "ts"`) {
		t.Error(err)
	}
}
