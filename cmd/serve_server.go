package cmd

import (
	stdlog "log"
	"log/slog"
	"net/http"
	"regexp"
	"time"
)

// newServer serves a handler. What net/http complains about is logged without the
// address of the client.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: stdlog.New(anonymous{log}, "", 0),
	}
}

// anonymous is where net/http writes, one message a call.
type anonymous struct{ log *slog.Logger }

// from is how messages of net/http name a client.
var from = regexp.MustCompile(`(panic serving|error from) \S+:\d+`)

func (a anonymous) Write(b []byte) (int, error) {
	a.log.Error("serve", "error", from.ReplaceAllString(string(b), "$1 a client"))
	return len(b), nil
}
