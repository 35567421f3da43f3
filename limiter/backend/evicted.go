package backend

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// listening hears which keys are evicted.
type listening struct {
	s     *Server
	told  *redis.PubSub
	close func()

	before, heard int64 // keys that were evicted before, and since
	left          map[string]bool
	gone, expired []string
}

func (s *Server) listen(ctx context.Context, victims []string) (l *listening, err error) {
	l = &listening{s: s, told: s.manager.PSubscribe(ctx, "__keyevent@*__:evicted"), left: map[string]bool{}}
	detach := context.AfterFunc(ctx, func() { l.told.Close() }) // a cancel interrupts no read
	l.close = func() { detach(); l.told.Close() }
	for _, key := range victims {
		l.left[key] = true
	}
	if _, err = l.told.Receive(ctx); err == nil {
		l.before, err = s.evictedKeys(ctx)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// catchUp hears of all that were evicted until now.
func (l *listening) catchUp(ctx context.Context) error {
	now, err := l.s.evictedKeys(ctx)
	if err != nil {
		return err
	}
	for ; l.heard < now-l.before; l.heard++ {
		message, err := l.told.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		if l.left[message.Payload] {
			delete(l.left, message.Payload)
			l.gone = append(l.gone, message.Payload)
		}
	}
	return nil
}

// check finds the victims that are not there, though they were not evicted.
func (l *listening) check(ctx context.Context) error {
	found, err := l.s.kinds(ctx, slices.Collect(maps.Keys(l.left)))
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, key := range found {
		there[key.Name] = true
	}
	if err := l.catchUp(ctx); err != nil { // what was evicted before that look, is known after it
		return err
	}
	for key := range l.left {
		if !there[key] {
			delete(l.left, key)
			l.expired = append(l.expired, key)
		}
	}
	return nil
}

// evictedKeys is how many keys the server has evicted since it started.
func (s *Server) evictedKeys(ctx context.Context) (int64, error) {
	stats, err := s.info(ctx, "stats")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(stats["evicted_keys"], 10, 64)
}
