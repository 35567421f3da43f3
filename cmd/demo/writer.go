package demo

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// writer changes view velocities from time to time.
type writer struct {
	db      *sql.DB // one connection
	draw    *rand.Rand
	videos  int
	batch   int
	maxLog  int // pages
	running sync.WaitGroup
	failed  atomic.Pointer[error]
	batches atomic.Int64 // written
}

func newWriter(db *sql.DB, c Config) *writer {
	return &writer{db: db, draw: random(c.Seed, forWrites), videos: c.Videos, batch: c.WriteBatch, maxLog: maxLog}
}

// start writes a batch every so often, until the context or an error ends it.
func (w *writer) start(ctx context.Context, every time.Duration) {
	w.running.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := w.write(ctx); err != nil && ctx.Err() == nil {
				w.failed.Store(&err)
				return
			}
		}
	})
}

// maxLog is how many pages the log may have before the writer waits for the
// readers: 8 MB.
const maxLog = 2000

// trim begins the log anew if it has grown long. SQLite by itself copies what no
// reader needs any more and never waits, so that readers of whom some are always
// at work would let the log grow without end.
func (w *writer) trim(ctx context.Context) error {
	var busy, pages, copied int
	for _, mode := range []string{"PASSIVE", "RESTART"} {
		if err := w.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &copied); err != nil {
			return fmt.Errorf("copy the log back: %w", err)
		}
		if pages <= w.maxLog {
			break
		}
	}
	return nil
}

// write changes a batch in one transaction.
func (w *writer) write(ctx context.Context) error {
	if err := w.trim(ctx); err != nil {
		return err
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write velocities: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for range w.batch {
		velocity := drawVelocity(w.draw)
		_, err := tx.ExecContext(ctx, `UPDATE videos SET view_velocity = ?, views = views + ? WHERE id = ?`,
			velocity, int64(velocity), 1+w.draw.IntN(w.videos))
		if err != nil {
			return fmt.Errorf("write velocities: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write velocities: %w", err)
	}
	w.batches.Add(1)
	return nil
}

// err is what ended the writer before its time, or nil.
func (w *writer) err() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// close waits for the end of a writer whose context is over.
func (w *writer) close() error {
	w.running.Wait()
	if err := w.db.Close(); err != nil {
		return err
	}
	return w.err()
}
