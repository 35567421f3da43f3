package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// serve answers a request for a list.
func (a *API) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	asked, err := read(r.URL.RawQuery, e.takes)
	if err != nil {
		refuse(w, http.StatusBadRequest, strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	var videos []Video
	err = a.reader(r.Context(), func(ctx context.Context) error {
		videos, err = a.list(ctx, e, asked)
		return err
	})
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answer(w, http.StatusOK, "application/json", Page{Page: asked.page, PageSize: a.config.PageSize, Videos: videos})
}

// health answers 200 while the catalogue is read and written. It waits for a
// reader like anybody else.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	err := a.writer.err()
	if err == nil {
		err = a.reader(r.Context(), func(ctx context.Context) error {
			var id int64
			return a.readers.QueryRowContext(ctx, `SELECT id FROM videos LIMIT 1`).Scan(&id)
		})
	}
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answer(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}

// reader does something in SQLite, for as long as Config.Timeout, the client and
// the API last. Its errors are for clients.
func (a *API) reader(ctx context.Context, do func(context.Context) error) error {
	a.reading.RLock()
	defer a.reading.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, a.config.Timeout)
	defer cancel()
	defer context.AfterFunc(a.lifetime, cancel)()

	err := do(ctx)
	switch {
	case err == nil:
		return nil
	case a.lifetime.Err() != nil:
		return errors.New("the API is closed")
	case ctx.Err() != nil:
		return fmt.Errorf("no answer within %s", a.config.Timeout)
	default:
		return fmt.Errorf("read the catalogue: %w", err)
	}
}

// list reads a page.
func (a *API) list(ctx context.Context, e endpoint, asked asked) ([]Video, error) {
	args := append(e.args(asked), a.config.PageSize, asked.page*a.config.PageSize)
	rows, err := a.readers.QueryContext(ctx, e.query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	videos := []Video{}
	for rows.Next() {
		var v Video
		if err := rows.Scan(&v.ID, &v.Title, &v.Channel, &v.Region, &v.Category, &v.Views, &v.Velocity, &v.Score); err != nil {
			return nil, err
		}
		videos = append(videos, v)
	}
	return videos, rows.Err()
}
