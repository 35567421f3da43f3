package backend

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

const (
	syncMost = 10 * time.Second // for a replica to get all there is
	cutMost  = 3 * time.Second  // for the last writes to reach it
)

var failover = FaultKind{
	Name:     "failover",
	Doc:      "writes are lost from now on: in the end a replica takes over that has what was there when it began",
	Loses:    true,
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, i *Injection) (undoing, error) {
		socket, err := s.host.attach(ctx)
		if err != nil {
			return nil, err
		}
		if i.since, err = s.follow(ctx, socket); err != nil {
			return nil, errors.Join(err, s.host.detach())
		}
		return func(ctx context.Context) error {
			if err := s.host.succeed(ctx); err != nil {
				return leaving("the server may be gone, and all it held", err)
			}
			return leaving("the replica has taken over, but does not answer", s.settle(ctx))
		}, nil
	},
}

// follow has the server at socket copy everything from s and then cuts it off.
// Writes of s pause meanwhile, so there is an instant, which it returns, up to
// which all writes are copied and after which none is.
func (s *Server) follow(ctx context.Context, socket string) (cut time.Time, err error) {
	o := s.client.Options()
	replica := redis.NewClient(limiter.Tune(&redis.Options{
		Network: "unix", Addr: socket, PoolSize: 1,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, PoolTimeout: o.PoolTimeout,
	}))
	defer replica.Close()
	secret := rand.Text()
	link, err := openRelay(secret, func(ctx context.Context) (net.Conn, error) { return s.direct(ctx, o.Network, o.Addr) })
	if err != nil {
		return cut, err
	}
	defer link.close()
	if err := replica.ConfigSet(ctx, "masterauth", secret).Err(); err != nil {
		return cut, err
	}
	if err := replica.ReplicaOf(ctx, link.host, link.port).Err(); err != nil {
		return cut, err
	}
	err = await(ctx, syncMost, "the replica has a copy", func(ctx context.Context) (bool, error) {
		fields, err := replication(ctx, replica)
		return fields["master_link_status"] == "up", err
	})
	if err != nil {
		return cut, err
	}
	return s.cutOff(ctx, replica)
}

// cutOff ends the replication when the replica has all that was written.
func (s *Server) cutOff(ctx context.Context, replica *redis.Client) (cut time.Time, err error) {
	if err := s.pauseWrites(ctx, syncMost); err != nil {
		return cut, err
	}
	defer func() {
		then, cancel := s.afterwards(ctx)
		defer cancel()
		err = errors.Join(err, s.unpause(then))
	}()
	fields, err := replication(ctx, s.manager)
	if err != nil {
		return cut, err
	}
	written, err := strconv.ParseInt(fields["master_repl_offset"], 10, 64)
	if err != nil {
		return cut, fmt.Errorf("read the offset of the primary: %w", err)
	}
	err = await(ctx, cutMost, "the replica has the last writes", func(ctx context.Context) (bool, error) {
		fields, err := replication(ctx, replica)
		if err != nil {
			return false, err
		}
		has, err := strconv.ParseInt(fields["slave_repl_offset"], 10, 64)
		return has >= written, err
	})
	if err != nil {
		return cut, err
	}
	cut = s.injector.now()
	if err := replica.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return cut, err
	}
	return cut, replica.ConfigSet(ctx, "masterauth", "").Err()
}

func replication(ctx context.Context, client *redis.Client) (map[string]string, error) {
	text, err := client.Info(ctx, "replication").Result()
	return parseInfo(text), err
}
