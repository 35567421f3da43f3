package edge

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem is problem details as in RFC 9457. The type is left out, which means
// about:blank: the title is the status, and nothing more.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Scope  string `json:"scope"` // which tier refused
}

// refuse answers with a problem of the edge. RFC 6585: a 429 must not be cached.
func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// An error here is a client that has gone.
	_ = json.NewEncoder(w).Encode(problem{
		Title: http.StatusText(status), Status: status, Detail: detail, Scope: string(SourceEdge),
	})
}

// wholeSeconds is a Retry-After: never early, so rounded up, and at least 1.
func wholeSeconds(micros int64) string {
	return strconv.FormatInt(max((micros+999_999)/1_000_000, 1), 10)
}
