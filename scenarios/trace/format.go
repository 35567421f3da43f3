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

	lines lineReader
	sure  func(line []byte) bool // nil: a line that can be read is of this format
}

// lineReader takes one line into a record.
type lineReader interface {
	read(line []byte, r *record) error
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

// Named is a format by its name, or by how nginx's log_format or Apache's LogFormat
// writes it: anything with a $ or a %. The time of nginx is that of completion, that of
// Apache's %t of arrival.
func Named(name string) (Format, error) {
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
	}
	if !strings.ContainsAny(name, "$%") {
		return Format{}, fmt.Errorf("log format %q: want one of %s, or a pattern such as %s", name, strings.Join(Formats(), ", "), apacheLine)
	}
	p, err := compile(name)
	if err != nil {
		return Format{}, err
	}
	return Format{Name: name, Doc: "a pattern", Completion: strings.Contains(name, "$"), lines: p}, nil
}

func must(source string) *pattern {
	p, err := compile(source)
	if err != nil {
		panic(err) // a constant of this package
	}
	return p
}

// detect finds the format in which most of some lines can be read. No format is better
// than a guess.
func detect(lines [][]byte) (Format, error) {
	best, most := Format{}, 0
	for _, f := range formats {
		n := 0
		for _, line := range lines {
			var r record
			if (f.sure == nil || f.sure(line)) && f.lines.read(line, &r) == nil {
				n++
			}
		}
		if n > most {
			best, most = f, n
		}
	}
	if 2*most < len(lines) || most == 0 {
		return Format{}, fmt.Errorf("%d of the first %d lines are of a known format (%s)", most, len(lines), strings.Join(Formats(), ", "))
	}
	return best, nil
}
