package demo

import (
	"encoding/json"
	"net/http"
)

// problem is problem details as in RFC 9457, of type about:blank.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, status int, detail string) {
	answer(w, status, "application/problem+json", problem{
		Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

// answer writes a document. An error means that the client has gone.
func answer(w http.ResponseWriter, status int, contentType string, document any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}
