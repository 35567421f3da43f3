package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
)

// patience is how long to wait for work on keys.
func patience(keys []string) time.Duration {
	return 2*time.Second + time.Duration(len(keys))*time.Millisecond/5
}

// remove deletes keys, by a new connection if the second interrupt has closed
// the client. A private server is emptied: the next run has to find it so.
func (e *experiment) remove(keys []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience(keys))
	defer cancel()
	if e.server.Flavour() != backend.Live {
		if err := e.server.Clear(ctx); err != nil && e.lost == nil {
			e.lost = err
		}
		return
	}
	if len(keys) == 0 {
		return
	}
	err := e.server.Delete(ctx, keys)
	if err != nil && e.lost == nil {
		err = e.removeAnew(keys)
	}
	if err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: keys that start with %s:%s stay in Redis until they expire, within an hour or two windows: %v\n",
			e.keyPrefix, e.id, err)
	}
}

func (e *experiment) removeAnew(keys []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience(keys))
	defer cancel()
	s, err := backend.Open(ctx, e.spec, backend.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Delete(ctx, keys)
}
