package trace

import (
	"fmt"
	"strings"
)

// Format is a shape of log lines. Formats are values that do not change; readers share
// them.
type Format struct {
	Name string
	// Doc says what software writes it.
	Doc string
	// Completion is whether a line's time is when a response was complete, as nginx and
	// Caddy have it, and not when the request came. Where the duration is logged too, the
	// reader takes it off.
	Completion bool

	lines lineReader                      // nil until guess
	guess func([]logLine) (Format, error) // finds the fields in lines of a file; may be nil
	sure  func(line []byte) bool          // nil: a line that can be read is of this format
}

// lineReader takes one line into a record.
type lineReader interface {
	read(line []byte, r *record) error
}

// headed is a lineReader to which the first line of a file says what the others mean,
// unless it is one like them.
type headed interface {
	header(line []byte) (bool, error)
}

const (
	commonLine   = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent`
	combinedLine = commonLine + ` "$http_referer" "$http_user_agent"`
	apacheLine   = `%h %l %u %t "%r" %>s %b`
	envoyLine    = `[$start_time] "$envoy_method $envoy_path $protocol" $status $flags $rx $tx $duration_ms $upstream_ms "$xff" "$user_agent" "$request_id" "$authority" "$upstream"`
	albLine      = `$type $time $elb $client_port $target_port $request_s $target_s $response_s $status $target_status $rx $tx "$alb_request" "$user_agent" $cipher $tls $group "$trace" "$domain" "$cert" $priority $creation_time "$actions"`
)

// formats are those that a reader knows by name, in the order in which it tries them:
// the more a line has to have, the earlier.
var formats = []Format{
	{Name: "caddy", Doc: "Caddy, JSON", Completion: true, lines: caddyFields, sure: hasKey(`"request"`)},
	{Name: "cloudflare", Doc: "Cloudflare Logpush of HTTP requests, JSON", lines: cloudflareFields, sure: hasKey(`"EdgeStartTimestamp"`)},
	{Name: "alb", Doc: "AWS application load balancer", lines: must(albLine)},
	{Name: "envoy", Doc: "Envoy, its default format", lines: must(envoyLine)},
	{Name: "combined", Doc: "nginx and Apache, combined", Completion: true, lines: must(combinedLine)},
	{Name: "common", Doc: "the Common Log Format of Apache and others", lines: must(commonLine)},
}

// Formats are the names that Named knows, in order.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Named is a format by its name; or by how nginx's log_format or Apache's LogFormat
// writes it: anything with a $ or a %. $time_local, $time_iso8601, $msec and %{end:...}t
// are times of completion, from which $request_time or %D is taken off; %t and
// $start_time are of arrival. Of two times in a line the finer counts.
//
// "csv" and "jsonl" are lines of fields, with names that are guessed, or given, as in
// "csv:time=ts,client=ip,duration_ms=took": see fields.
func Named(name string) (Format, error) {
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
	}
	kind, names, given := strings.Cut(name, ":")
	if (kind == "csv" || kind == "jsonl") && (given || name == kind) {
		return fieldFormat(kind, names, given)
	}
	if !strings.ContainsAny(name, "$%") {
		return Format{}, fmt.Errorf("log format %q: want one of %s, csv, jsonl, csv:time=FIELD,client=FIELD, or a pattern such as %s", name, strings.Join(Formats(), ", "), apacheLine)
	}
	p, err := compile(name)
	if err != nil {
		return Format{}, err
	}
	return Format{Name: name, Doc: "a pattern", Completion: p.completion, lines: p}, nil
}

func must(source string) *pattern {
	p, err := compile(source)
	if err != nil {
		panic(err) // a constant of this package
	}
	return p
}
