package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

func openLive(ctx context.Context, spec string, o Options) (*Server, error) {
	r, err := parseURL(spec)
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return newServer(Live, spec, c, func() error { return nil }), nil
}

// connect makes a client and sees that its server answers. A failure is told
// within one timeout: two thirds are for the answer, one for asking who else
// is there.
func connect(ctx context.Context, r *redis.Options, o Options) (connection, error) {
	c := o.client(r)
	answering, cancel := context.WithTimeout(ctx, stepTimeout(c.client.Options())*2/3)
	defer cancel()
	if err := c.client.Ping(answering).Err(); err != nil {
		_ = c.client.Close()
		e := diagnose(ctx, c.client.Options(), err)
		e.Err = scrub(e.Err, r.Password)
		return connection{}, e
	}
	return c, nil
}

// parseURL is redis.ParseURL with errors that cannot hold a password, and that
// refuses URLs of which a part of the password would be taken for an address.
func parseURL(spec string) (*redis.Options, error) {
	scheme, rest, _ := strings.Cut(spec, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if authority != "" && strings.LastIndexByte(rest, '@') >= len(authority) {
		return nil, unescaped()
	}
	if scheme == "unix" && authority != "" && !strings.HasSuffix(authority, "@") {
		return nil, &OpenError{
			Err:  errors.New("a socket's path starts with a slash"),
			Hint: "write three slashes: unix:///path/to/redis.sock",
		}
	}
	r, err := redis.ParseURL(spec)
	if _, syntax := errors.AsType[*url.Error](err); syntax {
		return nil, unescaped() // the error quotes the URL
	}
	if err != nil {
		return nil, &OpenError{
			Err:  fmt.Errorf("parse URL: %w", err),
			Hint: "the form is redis://USER:PASSWORD@HOST:PORT/DATABASE?read_timeout=5s",
		}
	}
	return r, nil
}

func unescaped() *OpenError {
	return &OpenError{
		Err:  errors.New("not a valid URL"),
		Hint: "escape special characters of user and password: %2F for /, %3F for ?, %23 for #, %25 for %, %40 for @",
	}
}
