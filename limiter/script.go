package limiter

import (
	"context"
	"crypto/sha1" // what EVALSHA takes
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Script is Lua that a server runs by its digest. It is safe for concurrent use
// and needs no closing; the client belongs to the caller.
type Script struct {
	client      Processor
	sha, source any // boxed once
}

// NewScript prepares a script. It sends nothing, and any source is accepted: it
// is the server that compiles it.
func NewScript(client Processor, source string) *Script {
	return &Script{client: client, sha: fmt.Sprintf("%x", sha1.Sum([]byte(source))), source: source}
}

// Run runs the script and returns its reply: int64, string, nil, or []any of
// these, whose elements can also be errors. It is the one place that runs
// scripts. The source travels only if the server does not have it.
//
// Errors: ctx ended before anything was sent; the server's own message, for
// which Answered is true; or trouble on the way. The script runs at most once,
// and an error after which it may have run wraps ErrUnknown.
func (s *Script) Run(ctx context.Context, keys []string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("decide in Redis: nothing was sent: %w", err)
	}
	command := make([]any, 3, 3+len(keys)+len(args))
	command[0], command[1], command[2] = "evalsha", s.sha, len(keys)
	for _, key := range keys {
		command = append(command, key)
	}
	command = append(command, args...)
	cmd := redis.NewCmd(ctx, command...)
	err := s.client.Process(ctx, once{cmd})
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		// The server forgot the script (restart, failover, SCRIPT FLUSH) and ran
		// nothing, so sending the source cannot count twice.
		command[0], command[1] = "eval", s.source
		cmd = redis.NewCmd(ctx, command...)
		err = s.client.Process(ctx, once{cmd})
	}
	switch {
	case errors.Is(err, redis.Nil): // the client's word for a reply of nil
		return nil, nil
	case err != nil:
		return nil, classify(err)
	}
	return cmd.Val(), nil
}

// ReplyError is a reply that is no decision. It wraps ErrUnknown, because the
// script has run and may have counted; and it is an answer of the server, so
// Answered is true.
type ReplyError struct {
	Script string // its name
	Err    error  // what is wrong with the reply
}

func (e *ReplyError) Error() string {
	return fmt.Sprintf("read reply of script %s: %v: %v", e.Script, e.Err, ErrUnknown)
}

// Unwrap lets errors.Is find ErrUnknown.
func (e *ReplyError) Unwrap() []error { return []error{ErrUnknown, e.Err} }

// RedisError marks it as an answer.
func (e *ReplyError) RedisError() {}

var _ redis.Error = (*ReplyError)(nil)
