package limiter

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Processor sends one command and fills in its reply. *redis.Client,
// *redis.ClusterClient, *redis.Ring and *redis.Conn are Processors.
type Processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// DefaultTimeout bounds a decision, and each of its steps, unless the options say
// otherwise.
const DefaultTimeout = time.Second

// Dial opens a client that suits a limiter, for a redis://, rediss:// or unix://
// URL. It connects on first use.
func Dial(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("parse Redis URL: %w (want redis://, rediss:// or unix://)", err)
	}
	return redis.NewClient(Tune(o)), nil
}

// Tune changes the client defaults that do not suit a limiter, and returns o:
//
//   - no retries: a command whose reply was lost may have been counted;
//   - one dial attempt and timeouts of DefaultTimeout where none are set, so
//     that a dead Redis costs a request little;
//   - a connection dials when it is first written to, within the deadline of
//     that request: the pool never sees a dial fail, because after some it would
//     refuse to dial for a second, whatever the server does meanwhile;
//   - a context's deadline cuts a read that is under way;
//   - no CLIENT SETINFO and maintenance handshakes, which old servers answer
//     with errors.
func Tune(o *redis.Options) *redis.Options {
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	for _, timeout := range []*time.Duration{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout} {
		if *timeout == 0 {
			*timeout = DefaultTimeout
		}
	}
	o.Dialer = dialLate(o)
	return o
}

// once is a command that no client sends twice by itself, whatever its retry
// settings: the cluster client resends lost replies even with retries off.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }
