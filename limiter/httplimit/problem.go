package httplimit

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/rlbench/rlbench/limiter"
)

// The problem types of draft-ietf-httpapi-ratelimit-headers, section 5.
const (
	TypeQuotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	TypeReducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Problem is the body of a refusal: problem details of RFC 9457.
type Problem struct {
	// Type is TypeQuotaExceeded with status 429, TypeReducedCapacity with 503
	// and "about:blank" otherwise.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// ViolatedPolicies are the policies in force that denied the request.
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
}

// Write sends the problem as application/problem+json, to a HEAD request
// without the body.
func (p Problem) Write(w http.ResponseWriter, r *http.Request) {
	body, _ := json.Marshal(p) // strings and numbers never fail
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Del("Content-Length") // whoever set it meant another body
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n')) // the client may be gone
	}
}

func newProblem(e *Event, retry int64) Problem {
	p := Problem{Type: "about:blank", Title: http.StatusText(e.Status), Status: e.Status}
	switch {
	case e.Outcome == OutcomeUnidentified:
		p.Detail = "The request does not say who sent it."
	case e.Outcome == OutcomeUnpriced:
		p.Detail = "The cost of the request is out of range."
	case e.Status == http.StatusTooManyRequests:
		p.Type, p.Title = TypeQuotaExceeded, "Quota exceeded"
		p.ViolatedPolicies = e.violated()
		p.Detail = e.waitText(retry)
	default:
		p.Type, p.Title = TypeReducedCapacity, "Temporarily reduced capacity"
		p.Detail = "The request could not be checked against its quota."
	}
	return p
}

// violated are the policies in force that denied.
func (e *Event) violated() []string {
	var names []string
	for i, d := range e.Decisions {
		if !d.Allowed && !e.shadow(i) {
			names = append(names, e.Policies[i])
		}
	}
	return names
}

func (e *Event) waitText(retry int64) string {
	switch {
	case retry == 1:
		return "Retry in 1 second."
	case retry > 1:
		return "Retry in " + strconv.FormatInt(retry, 10) + " seconds."
	case e.RetryAfter != limiter.Never:
		return ""
	}
	var never []string
	for i, d := range e.Decisions {
		if d.RetryAfter == limiter.Never && !e.shadow(i) {
			never = append(never, e.Policies[i])
		}
	}
	return "Do not retry: the request costs more than is ever available (" + strings.Join(never, ", ") + ")."
}
