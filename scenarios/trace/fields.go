package trace

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// role is what a field of CSV or JSON may be named as, the text before "=" in
//
//	csv:time=ts,client=ip,method=m,path=url,status=code,duration_ms=took
//
// The text after it is the name of a field: of CSV in the first line of a file, or a
// number, from 1 on, of a column in a file without such a line; of JSON a path such as
// request.ip. A time is one of RFC 3339 or of Apache, or a number of seconds,
// milliseconds, microseconds or nanoseconds since 1970, which its size tells. A time and
// a client there must be.
type role struct {
	name    string
	field   field
	read    reader
	guesses []string // names of such fields, in the order in which they are tried
}

// roles of all fields. A line has one of those that stand for the same.
var roles = []role{
	// When the request came.
	{"arrival", fieldStamp, readTime, []string{"arrival", "received_at", "start_time", "request_time_start"}},
	// When the line was written: a duration is taken off.
	{"time", fieldStamp, readTime, []string{"time", "timestamp", "ts", "@timestamp", "datetime", "time_local", "time_iso8601", "msec"}},
	{"client", fieldClient, readFrom, []string{"client", "ip", "client_ip", "clientip", "client.ip", "remote_addr", "remote_ip", "request.client_ip", "request.remote_ip", "c-ip", "src_ip"}},
	{"method", fieldMethod, readMethod, []string{"method", "request_method", "http_method", "verb", "request.method", "http.method", "cs-method"}},
	{"path", fieldTarget, readAnyURL, []string{"path", "uri", "url", "request_uri", "request.uri", "request_path", "http.url", "target", "cs-uri-stem"}},
	{"request", fieldRequest, readRequest, []string{"request"}},
	{"host", fieldHost, readHost, []string{"host", "request.host", "http_host", "cs-host"}},
	{"status", fieldStatus, readStatus, []string{"status", "status_code", "code", "response_status", "http.status_code", "sc-status"}},
	{"duration_s", fieldDuration, durationIn(1e6), []string{"duration_s", "latency_s", "duration_seconds"}},
	{"duration_ms", fieldDuration, durationIn(1e3), []string{"duration_ms", "latency_ms", "elapsed_ms", "took_ms", "response_time_ms"}},
	{"duration_us", fieldDuration, durationIn(1), []string{"duration_us", "latency_us", "elapsed_us"}},
	{"duration_ns", fieldDuration, durationIn(1e-3), []string{"duration_ns", "latency_ns", "elapsed_ns"}},
}

// chosen is a role with the name of its field.
type chosen struct {
	*role
	of string
}

// fieldFormat is "csv" or "jsonl", with names of fields or without.
func fieldFormat(kind, names string, given bool) (Format, error) {
	if !given {
		return Format{Name: kind, Doc: "lines of fields", guess: func(lines []logLine) (Format, error) { return guessed(kind, lines) }}, nil
	}
	var all []chosen
	for _, pair := range strings.Split(names, ",") {
		key, of, ok := strings.Cut(pair, "=")
		i := slices.IndexFunc(roles, func(r role) bool { return r.name == key })
		switch {
		case key == "duration":
			return Format{}, fmt.Errorf("log format %q: a duration has a unit; want one of duration_s, duration_ms, duration_us, duration_ns", kind+":"+names)
		case i < 0:
			return Format{}, fmt.Errorf("log format %q: %q is nothing that a field can be; want one of %s", kind+":"+names, key, strings.Join(roleNames(), ", "))
		case !ok || of == "":
			return Format{}, fmt.Errorf("log format %q: %s has no field; want %s=FIELD", kind+":"+names, key, key)
		}
		all = append(all, chosen{&roles[i], of})
	}
	if err := complete(all); err != nil {
		return Format{}, fmt.Errorf("log format %q: %w", kind+":"+names, err)
	}
	return withFields(kind, all), nil
}

func roleNames() []string {
	var names []string
	for _, r := range roles {
		names = append(names, r.name)
	}
	return names
}

// complete says what is missing to know who came when, or is there twice.
func complete(all []chosen) error {
	has := map[field]string{}
	for _, c := range all {
		if other := has[c.field]; other != "" {
			return fmt.Errorf("%s and %s are the same", other, c.name)
		}
		has[c.field] = c.name
	}
	switch {
	case has[fieldStamp] == "":
		return errors.New("no time; want time=FIELD, or arrival=FIELD")
	case has[fieldClient] == "":
		return errors.New("no client; want client=FIELD")
	case has[fieldRequest] != "" && (has[fieldMethod] != "" || has[fieldTarget] != ""):
		return errors.New("request is method and path in one; want either")
	}
	return nil
}

// withFields is the format of some fields, under the name that says all of them.
func withFields(kind string, all []chosen) Format {
	f := Format{Name: kind + ":", Doc: "lines of fields"}
	var properties []property
	for i, c := range all {
		if i > 0 {
			f.Name += ","
		}
		f.Name += c.name + "=" + c.of
		f.Completion = f.Completion || c.name == "time"
		properties = append(properties, property{c.field, []string{c.of}, c.read})
	}
	if kind == "csv" {
		f.lines = newTable(properties)
	} else {
		f.lines = objects{properties}
	}
	return f
}

// guessed looks for usual names of fields in the first lines of a file.
func guessed(kind string, lines []logLine) (Format, error) {
	has, err := spelling(kind, lines)
	if err != nil {
		return Format{}, err
	}
	var all []chosen
	found := field(0)
	for i := range roles {
		r := &roles[i]
		if found&r.field != 0 || r.field == fieldRequest && found&(fieldMethod|fieldTarget) != 0 {
			continue
		}
		for _, name := range r.guesses {
			if of := has(name); of != "" {
				all = append(all, chosen{r, of})
				found |= r.field
				break
			}
		}
	}
	if err := complete(all); err != nil {
		return Format{}, fmt.Errorf("%w that can be guessed: %w; name the fields, as in %s:time=FIELD,client=FIELD,path=FIELD", ErrNotLog, err, kind)
	}
	return withFields(kind, all), nil
}

// spelling finds a field by its name in the first lines of a file: how it is written there,
// or "".
func spelling(kind string, lines []logLine) (func(name string) string, error) {
	if kind == "csv" {
		columns, err := newTable(nil).split(lines[0].text)
		if err != nil {
			return nil, fmt.Errorf("%w: no CSV in the first line: %w", ErrNotLog, err)
		}
		return func(name string) string { return oneOf(columns, name) }, nil
	}
	var objects []map[string]any
	for _, line := range lines {
		if object := objectIn(line.text); object != nil && !line.long {
			objects = append(objects, object)
		}
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%w: none of the first %d lines is a JSON object", ErrNotLog, len(lines))
	}
	return func(name string) string {
		for _, object := range objects {
			if _, ok := valueAt(object, name); ok {
				return name
			}
		}
		return ""
	}, nil
}

// oneOf is how a name is spelled among others, or "".
func oneOf(names []string, name string) string {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

// readTime takes any time, in the brackets of Apache or without.
func readTime(b []byte, r *record) error {
	b = bytes.TrimSpace(b)
	if len(b) > 1 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	return stampBy(anyTime)(b, r)
}

// readFrom is an address with or without a port, or the last of a list of them.
func readFrom(b []byte, r *record) error {
	return readPeer(bytes.TrimSpace(b[bytes.LastIndexByte(b, ',')+1:]), r)
}

// readAnyURL is a path, or a whole URL.
func readAnyURL(b []byte, r *record) error {
	if len(b) > 0 && b[0] != '/' && bytes.Contains(b, []byte("://")) {
		return readURL(b, r)
	}
	return readTarget(b, r)
}
