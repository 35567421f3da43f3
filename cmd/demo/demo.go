package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// API is a catalogue that is served. It is safe for concurrent use.
type API struct {
	config  Config
	dir     string  // is ours, and goes with us
	readers *sql.DB // as many connections as there are readers
	writer  *writer
	close   func() error

	lifetime context.Context // over once Close began
	end      context.CancelFunc
	reading  sync.RWMutex // read-locked by whoever is in SQLite
}

// Open makes a catalogue in a directory of its own and starts the writer. The
// context is for opening only. What it created is gone after Close, and after an
// error; a program that is killed leaves a directory named rlbench-demo-*.
func Open(ctx context.Context, c Config) (*API, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("open demo API: %w", err)
	}
	dir, err := os.MkdirTemp(c.Dir, "rlbench-demo-")
	if err != nil {
		return nil, fmt.Errorf("open demo API: %w", err)
	}
	a := &API{config: c, dir: dir}
	a.lifetime, a.end = context.WithCancel(context.Background())
	a.close = sync.OnceValue(a.tearDown)
	if err := a.open(ctx); err != nil {
		return nil, fmt.Errorf("open demo API: %w", errors.Join(err, a.Close()))
	}
	return a, nil
}

func (a *API) open(ctx context.Context) error {
	path := filepath.Join(a.dir, "videos.db")
	// The file is gone after a crash, so nothing is gained by waiting for disks.
	db, err := connect(path, 1, "journal_mode(WAL)", "synchronous(OFF)", "busy_timeout(10000)")
	if err != nil {
		return err
	}
	a.writer = newWriter(db, a.config)
	if err := fill(ctx, db, a.config); err != nil {
		return fmt.Errorf("fill the catalogue: %w", err)
	}
	a.readers, err = connect(path, a.config.Readers, "query_only(1)", "busy_timeout(10000)")
	if err != nil {
		return err
	}
	if err := a.readers.PingContext(ctx); err != nil {
		return fmt.Errorf("open a reader: %w", err)
	}
	a.writer.start(a.lifetime, a.config.WriteEvery)
	return nil
}

// connect is a pool of connections that stay open, each with its pragmas.
func connect(path string, connections int, pragmas ...string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive
	}
	source := url.URL{Scheme: "file", Path: slashed, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("open the catalogue: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Handler serves the API. After Close it answers 503.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.HandleFunc("GET "+e.path, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, e) })
	}
	mux.HandleFunc("GET /healthz", a.health)
	return mux
}

// Close ends the writer and the requests that are in SQLite, and removes what
// Open created. It returns what went wrong with the writer too. Later calls
// return the same.
func (a *API) Close() error { return a.close() }

func (a *API) tearDown() error {
	a.end()
	a.reading.Lock()
	defer a.reading.Unlock()
	var errs []error
	if a.readers != nil {
		errs = append(errs, a.readers.Close())
	}
	if a.writer != nil {
		errs = append(errs, a.writer.close())
	}
	if err := errors.Join(append(errs, os.RemoveAll(a.dir))...); err != nil {
		return fmt.Errorf("close demo API: %w", err)
	}
	return nil
}
