package backend

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// pauseMost ends a pause that nobody ends.
const pauseMost = 24 * time.Hour

var pause = FaultKind{
	Name:     "pause",
	Doc:      "the server answers no command that may write, and no script (CLIENT PAUSE)",
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		if err := s.pauseWrites(ctx, pauseMost); err != nil {
			return nil, err
		}
		return s.unpause, nil
	},
}

// pauseWrites pauses writes only: a full pause could not be lifted, as the server
// would pause what lifts it.
func (s *Server) pauseWrites(ctx context.Context, most time.Duration) error {
	err := s.manager.Do(ctx, "CLIENT", "PAUSE", strconv.FormatInt(most.Milliseconds(), 10), "WRITE").Err()
	if isRefusal(err) {
		return fmt.Errorf("%w: CLIENT PAUSE WRITE, which needs Redis 6.2: %w", errors.ErrUnsupported, err)
	}
	if err != nil { // it may have arrived
		then, cancel := s.afterwards(ctx)
		defer cancel()
		_ = s.unpause(then)
	}
	return err
}

func (s *Server) unpause(ctx context.Context) error {
	return leaving("the server is still paused", s.manager.Do(ctx, "CLIENT", "UNPAUSE").Err())
}

var readOnly = FaultKind{
	Name:     "readonly",
	Doc:      "the server becomes a read-only replica of nothing: it keeps its data and refuses writes with READONLY",
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		// Nobody can listen on port 0, so no other server can send data.
		err := s.manager.ReplicaOf(ctx, "127.0.0.1", "0").Err()
		if err != nil {
			then, cancel := s.afterwards(ctx)
			defer cancel()
			return nil, errors.Join(err, s.promote(then))
		}
		return s.promote, nil
	},
}

func (s *Server) promote(ctx context.Context) error {
	return leaving("the server may still be read-only", s.manager.ReplicaOf(ctx, "NO", "ONE").Err())
}

var accessList = FaultKind{
	Name:     "acl",
	Doc:      "the user may run no script any more, and is answered with NOPERM",
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		rules, err := s.defaultUser(ctx)
		if err != nil {
			return nil, err
		}
		restore := func(ctx context.Context) error {
			// One command, so there is no moment without commands.
			all := append([]any{"ACL", "SETUSER", "default", "-@all"}, commandRules(rules)...)
			return leaving("the user may still be without scripts", s.manager.Do(ctx, all...).Err())
		}
		err = s.manager.Do(ctx, "ACL", "SETUSER", "default", "-@scripting", "+script").Err()
		if err != nil {
			then, cancel := s.afterwards(ctx)
			defer cancel()
			return nil, errors.Join(err, restore(then))
		}
		return restore, nil
	},
}

// defaultUser reads the rules that make the default user what it is.
func (s *Server) defaultUser(ctx context.Context) (rules []any, err error) {
	users, err := s.manager.Do(ctx, "ACL", "LIST").StringSlice()
	if err != nil {
		return nil, err
	}
	for _, user := range users {
		if all, found := strings.CutPrefix(user, "user default "); found {
			for rule := range strings.FieldsSeq(all) {
				rules = append(rules, rule)
			}
			return rules, nil
		}
	}
	return nil, errors.New("read rules: there is no default user")
}

// commandRules are those of the rules that say which commands a user may use,
// without those of selectors, which are in parentheses.
func commandRules(rules []any) (commands []any) {
	selecting := false
	for _, r := range rules {
		rule, _ := r.(string)
		selecting = selecting || strings.HasPrefix(rule, "(")
		if !selecting && strings.ContainsAny(rule[:1], "+-") {
			commands = append(commands, rule)
		}
		selecting = selecting && !strings.HasSuffix(rule, ")")
	}
	return commands
}

var password = FaultKind{
	Name:     "password",
	Doc:      "the server wants a password that the client does not have, and ends all connections",
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		old, err := s.config(ctx, "requirepass")
		if err != nil {
			return nil, err
		}
		restore := func(ctx context.Context) error {
			if err := s.manager.ConfigSet(ctx, "requirepass", old).Err(); err != nil {
				return leaving("the server may still want a password", err)
			}
			s.secret.Store(&old)
			return leaving("the server wants no new password, but does not answer", s.settle(ctx))
		}
		secret := rand.Text()
		s.secret.Store(&secret) // first: connections of the manager may have to be dialled
		err = s.manager.ConfigSet(ctx, "requirepass", secret).Err()
		if err == nil {
			err = s.manager.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err()
		}
		if err != nil {
			then, cancel := s.afterwards(ctx)
			defer cancel()
			return nil, errors.Join(err, restore(then))
		}
		return restore, nil
	},
}

// credentials are those of the manager.
func (s *Server) credentials() (user, password string) {
	o := s.client.Options()
	if secret := s.secret.Load(); secret != nil {
		return o.Username, *secret
	}
	return o.Username, o.Password
}

// config reads one setting.
func (s *Server) config(ctx context.Context, name string) (string, error) {
	values, err := s.manager.ConfigGet(ctx, name).Result()
	if err != nil {
		return "", fmt.Errorf("CONFIG GET %s: %w", name, err)
	}
	value, ok := values[name]
	if !ok {
		return "", fmt.Errorf("CONFIG GET %s: %w", name, redis.Nil)
	}
	return value, nil
}
