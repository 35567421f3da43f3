package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// objects reads lines that are JSON objects. A name is a path, request.remote_ip, unless
// there is a field with dots in its name.
type objects struct {
	fields []property
}

// property is where a value may be, the first that is there.
type property struct {
	field field
	paths []string
	read  reader
}

var caddyFields = objects{[]property{
	{fieldStamp, []string{"ts"}, stampBy(anyTime)},
	{fieldDuration, []string{"duration"}, durationIn(1e6)},
	{fieldClient, []string{"request.client_ip", "request.remote_ip", "request.remote_addr"}, readPeer},
	{fieldMethod, []string{"request.method"}, readMethod},
	{fieldTarget, []string{"request.uri"}, readTarget},
	{fieldHost, []string{"request.host"}, readHost},
	{fieldStatus, []string{"status"}, readStatus},
}}

var cloudflareFields = objects{[]property{
	{fieldStamp, []string{"EdgeStartTimestamp"}, stampBy(anyTime)},
	{fieldClient, []string{"ClientIP"}, readClient},
	{fieldMethod, []string{"ClientRequestMethod"}, readMethod},
	{fieldTarget, []string{"ClientRequestURI", "ClientRequestPath"}, readTarget},
	{fieldHost, []string{"ClientRequestHost"}, readHost},
	{fieldStatus, []string{"EdgeResponseStatus"}, readStatus},
}}

// read finds the fields of a line; who and when have to be there.
func (o objects) read(line []byte, r *record) error {
	*r = record{}
	object := objectIn(line)
	if object == nil {
		return errors.New("no JSON object")
	}
	for _, p := range o.fields {
		for _, path := range p.paths {
			text, ok := valueAt(object, path)
			if !ok {
				continue
			}
			if err := p.read(text, r); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			break
		}
		if p.field&(fieldStamp|fieldClient) != 0 && r.has&p.field == 0 {
			return fmt.Errorf("no %s", strings.Join(p.paths, " or "))
		}
	}
	return nil
}

// objectIn is the JSON object of a line, or nil.
func objectIn(line []byte) map[string]any {
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return nil
	}
	return object
}

// valueAt is a text or a number under a path.
func valueAt(object map[string]any, path string) ([]byte, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	if _, ok := object[path]; ok {
		name, deeper = path, false
	}
	switch v := object[name].(type) {
	case map[string]any:
		if deeper {
			return valueAt(v, rest)
		}
	case string:
		return []byte(v), !deeper
	case json.Number:
		return []byte(v), !deeper
	}
	return nil, false
}

func hasKey(key string) func([]byte) bool {
	return func(line []byte) bool { return bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(key)) }
}
