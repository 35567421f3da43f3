package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

const (
	scanPage = 1000    // keys that the server walks for one SCAN
	scanMost = 100_000 // keys of a live server that Scan will sweep
)

// Scan lists the keys that match a glob, all if it is empty: the first most of
// them in byte order, and whether these are all. It sees one database of one
// server. What changes meanwhile may or may not be seen.
//
// It sweeps all keys, matching or not. A live server has other things to do: if
// it holds more than 100,000, the error wraps errors.ErrUnsupported.
func (s *Server) Scan(ctx context.Context, match string, most int) (keys []string, all bool, err error) {
	if err := s.sweepable(ctx); err != nil {
		return nil, false, fmt.Errorf("list keys: %w", err)
	}
	// One more than asked for tells whether these are all. SCAN repeats itself.
	most = max(most, 0)
	settle := func() {
		slices.Sort(keys)
		if keys = slices.Compact(keys); len(keys) > most {
			keys = keys[:most+1]
		}
	}
	for cursor := uint64(0); ; {
		var page []string
		if page, cursor, err = s.manager.Scan(ctx, cursor, match, scanPage).Result(); err != nil {
			return nil, false, fmt.Errorf("list keys: %w", err)
		}
		if keys = append(keys, page...); len(keys)/2 > most {
			settle() // so that memory stays bounded by what is asked for
		}
		if cursor == 0 {
			break
		}
	}
	settle()
	if len(keys) > most {
		return keys[:most], false, nil
	}
	return keys, true, nil
}

func (s *Server) sweepable(ctx context.Context) error {
	if s.flavour != Live {
		return nil
	}
	size, err := s.manager.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	if size > scanMost {
		return fmt.Errorf("%w: the server holds %d keys, and more than %d are not swept", errors.ErrUnsupported, size, scanMost)
	}
	return nil
}
