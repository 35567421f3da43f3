package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// reader takes one value of a line into a record.
type reader func(value []byte, r *record) error

type meaning struct {
	field field
	read  reader
	ends  bool // a stamp of completion, not of arrival
	finer int  // of two stamps in a line, the one with more is read
}

// variables of log formats that say something about who came when. All others are
// read over.
var variables = map[string]meaning{
	"$remote_addr":    {field: fieldClient, read: readClient},
	"$time_local":     {field: fieldStamp, read: stampBy(commonTime), ends: true},
	"$time_iso8601":   {field: fieldStamp, read: stampBy(isoTime), ends: true},
	"$msec":           {field: fieldStamp, read: stampBy(unixTime), ends: true, finer: 3},
	"$request_time":   {field: fieldDuration, read: durationIn(1e6)},
	"$request":        {field: fieldRequest, read: readRequest},
	"$request_method": {field: fieldMethod, read: readMethod},
	"$request_uri":    {field: fieldTarget, read: readTarget},
	"$uri":            {field: fieldTarget, read: readTarget},
	"$host":           {field: fieldHost, read: readHost},
	"$status":         {field: fieldStatus, read: readStatus},

	// Envoy, as its documentation lists the default format.
	"$start_time":   {field: fieldStamp, read: stampBy(isoTime), finer: 4},
	"$envoy_method": {field: fieldMethod, read: readMethod},
	"$envoy_path":   {field: fieldTarget, read: readTarget},
	"$xff":          {field: fieldClient, read: readLastHop},

	// An application load balancer of AWS. What is named time there is when the response
	// was made.
	"$creation_time": {field: fieldStamp, read: stampBy(isoTime), finer: 4},
	"$client_port":   {field: fieldClient, read: readPeer},
	"$alb_request":   {field: fieldRequest, read: readURLRequest},

	"%h":             {field: fieldClient, read: readClient},
	"%a":             {field: fieldClient, read: readClient},
	"%t":             {field: fieldStamp, read: stampBy(bracketed)},
	"%{sec}t":        {field: fieldStamp, read: stampBy(unixTime)},
	"%{msec}t":       {field: fieldStamp, read: stampBy(unixTime), finer: 3},
	"%{usec}t":       {field: fieldStamp, read: stampBy(unixTime), finer: 6},
	"%{begin:sec}t":  {field: fieldStamp, read: stampBy(unixTime)},
	"%{begin:msec}t": {field: fieldStamp, read: stampBy(unixTime), finer: 3},
	"%{begin:usec}t": {field: fieldStamp, read: stampBy(unixTime), finer: 6},
	"%{end:sec}t":    {field: fieldStamp, read: stampBy(unixTime), ends: true},
	"%{end:msec}t":   {field: fieldStamp, read: stampBy(unixTime), ends: true, finer: 2},
	"%{end:usec}t":   {field: fieldStamp, read: stampBy(unixTime), ends: true, finer: 5},
	"%r":             {field: fieldRequest, read: readRequest},
	"%m":             {field: fieldMethod, read: readMethod},
	"%U":             {field: fieldTarget, read: readTarget},
	"%v":             {field: fieldHost, read: readHost},
	"%V":             {field: fieldHost, read: readHost},
	"%s":             {field: fieldStatus, read: readStatus},
	"%D":             {field: fieldDuration, read: durationIn(1)},
	"%T":             {field: fieldDuration, read: durationIn(1e6)},
	"%{us}T":         {field: fieldDuration, read: durationIn(1)},
	"%{ms}T":         {field: fieldDuration, read: durationIn(1e3)},
	"%{s}T":          {field: fieldDuration, read: durationIn(1e6)},
}

// standingFor are the variables of a field, in order.
func standingFor(f field) []string {
	var names []string
	for name, v := range variables {
		if v.field == f {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func readClient(b []byte, r *record) error {
	if len(b) == 0 || string(b) == "-" {
		return errors.New("nobody")
	}
	r.client, r.has = b, r.has|fieldClient
	return nil
}

// readLastHop is the last address of X-Forwarded-For: what the proxy itself saw. Those
// before it are what a client claims.
func readLastHop(b []byte, r *record) error {
	return readClient(bytes.TrimSpace(b[bytes.LastIndexByte(b, ',')+1:]), r)
}

// readPeer takes a port off, if there is one, and with it the brackets of IPv6.
func readPeer(b []byte, r *record) error {
	if host, _, ok := bytes.Cut(b, []byte("]:")); ok && b[0] == '[' {
		return readClient(host[1:], r)
	}
	if host, _, ok := bytes.Cut(b, []byte(":")); ok && bytes.Count(b, []byte(":")) == 1 {
		return readClient(host, r)
	}
	return readClient(b, r)
}

// readURLRequest is a request whose target is a whole URL.
func readURLRequest(b []byte, r *record) error {
	if err := readRequest(b, r); err != nil {
		return err
	}
	return readURL(r.target, r)
}

// readURL keeps the path and the query of scheme://host:port/path?query.
func readURL(b []byte, r *record) error {
	if i := bytes.Index(b, []byte("://")); i >= 0 {
		b = b[i+3:]
		r.host, b = b, b[len(b):]
		if i := bytes.IndexByte(r.host, '/'); i >= 0 {
			r.host, b = r.host[:i], r.host[i:]
		}
		r.has |= fieldHost
	}
	return readTarget(b, r)
}

func stampBy(c clock) reader {
	return func(b []byte, r *record) (err error) {
		r.stamp, err = c(b)
		r.has |= fieldStamp
		return err
	}
}

// bracketed is the time of Apache, which comes with its brackets.
func bracketed(b []byte) (int64, error) {
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return 0, stampError(b, "[02/Jan/2006:15:04:05 -0700]")
	}
	return commonTime(b[1 : len(b)-1])
}

// durationIn reads a number of some unit, given in microseconds. What was not measured is
// no error: the stamp is then all there is.
func durationIn(unit float64) reader {
	return func(b []byte, r *record) error {
		if string(b) == "-" || len(b) == 0 {
			return nil
		}
		n, err := strconv.ParseFloat(string(b), 64)
		if err != nil || math.IsNaN(n) || n*unit > math.MaxInt64/4 {
			return fmt.Errorf("%d bytes that are no duration", len(b))
		}
		if n >= 0 { // AWS writes -1 for "none"
			r.duration, r.has = int64(math.Round(n*unit)), r.has|fieldDuration
		}
		return nil
	}
}

// readRequest takes apart GET /path HTTP/1.1. A line of something else was still a
// request, by a client that speaks no HTTP.
func readRequest(b []byte, r *record) error {
	method, rest, ok := bytes.Cut(b, []byte(" "))
	if !ok {
		return nil
	}
	if i := bytes.LastIndex(rest, []byte(" HTTP/")); i >= 0 {
		rest = rest[:i]
	}
	r.method, r.target, r.has = method, rest, r.has|fieldMethod|fieldTarget
	return nil
}

func readMethod(b []byte, r *record) error {
	r.method, r.has = b, r.has|fieldMethod
	return nil
}

func readTarget(b []byte, r *record) error {
	r.target, r.has = b, r.has|fieldTarget
	return nil
}

func readHost(b []byte, r *record) error {
	r.host, r.has = b, r.has|fieldHost
	return nil
}

func readStatus(b []byte, r *record) error {
	if string(b) == "-" || len(b) == 0 {
		return nil
	}
	n, ok := digits(b)
	if !ok || len(b) > 3 {
		return fmt.Errorf("%d bytes that are no status", len(b))
	}
	r.status, r.has = int(n), r.has|fieldStatus
	return nil
}
