package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
	"github.com/rlbench/rlbench/limiter/openmetrics"
)

// noEdge is the value of --edge that leaves the coarse tier out.
const noEdge = "off"

// validateEdge refuses a tier that cannot be.
func (o *serveOptions) validateEdge() error {
	if o.edge == noEdge {
		return nil
	}
	limit, err := limiter.ParseLimit(o.edge)
	if err != nil {
		return fmt.Errorf("--edge: %w", err)
	}
	c := edge.Config{Limit: limit, Kind: edge.FixedWindow, Locations: 1, Machines: 1, Sync: time.Second}
	if err := c.Validate(); err != nil {
		return fmt.Errorf("--edge: %w", err)
	}
	return nil
}

// guard is the coarse tier; nil is none.
func (o *serveOptions) guard(f *front, now func() time.Time) (*edge.Guard, error) {
	if o.edge == noEdge {
		return nil, nil
	}
	limit, err := limiter.ParseLimit(o.edge)
	if err != nil {
		return nil, fmt.Errorf("--edge: %w", err)
	}
	return edge.NewGuard(edge.GuardConfig{
		Limit: limit, Kind: edge.FixedWindow, Prefixes: []string{"/api"}, Nameless: edge.NamelessRefuse, Now: now,
		Key: func(r *http.Request) (string, error) {
			name, err := f.identify(r, "edge")
			return name.Key, err
		},
	})
}

// shed puts the tier in front of a handler. In shadow it counts and logs, and
// everything goes on.
func (o *serveOptions) shed(g *edge.Guard, next http.Handler, log *slog.Logger) http.Handler {
	if !o.shadow {
		return g.Middleware(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &unread{header: http.Header{}}
		g.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(answer, r)
		if answer.status != 0 {
			log.LogAttrs(r.Context(), slog.LevelInfo, "edge tier", slog.Int("status", answer.status), slog.Bool("shadow", true))
		}
		next.ServeHTTP(w, r)
	})
}

// unread is an answer of which nothing but the status is of interest; 0 if there
// is none.
type unread struct {
	header http.Header
	status int
}

func (u *unread) Header() http.Header { return u.header }

func (u *unread) Write(b []byte) (int, error) {
	if u.status == 0 {
		u.status = http.StatusOK
	}
	return len(b), nil
}

func (u *unread) WriteHeader(status int) {
	if u.status == 0 {
		u.status = status
	}
}

// edgeMetrics writes what the tier did as OpenMetrics, without the "# EOF".
func edgeMetrics(g *edge.Guard) func(io.Writer) error {
	return func(w io.Writer) error {
		asked := g.Counts()
		var text openmetrics.Text
		family := text.Counter("rlbench_edge_requests", "", "Requests that the coarse tier was asked about; nameless ones had no address.")
		family.Count(asked.Admitted, "outcome", "admitted")
		family.Count(asked.Denied, "outcome", "denied")
		family.Count(g.Nameless().Asked(), "outcome", "nameless")
		_, err := w.Write(text.Bytes())
		return err
	}
}
