package backend

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// dialer opens a connection, as redis.Options.Dialer does.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// action is what is done to an operation.
type action int

const (
	pass   action = iota // nothing, but its reply may be held
	lose                 // it runs, its reply is dropped, and the connection breaks
	answer               // the injector answers it, and it does not run
	reset                // the connection breaks before it is written
	tear                 // the connection breaks when half of it is written
)

// verdict is what the faults in force make of one operation together.
type verdict struct {
	action action
	delay  time.Duration // before the reply is handed over
	reply  string        // of an answer
}

// injector does faults to the operations on the connections that it has dialled.
type injector struct {
	direct dialer // without faults
	now    func() time.Time

	mu      sync.Mutex
	dialled int
	inForce []*Injection // on connections, the oldest first
}

// dial opens a connection that faults can be done to.
func (in *injector) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := in.direct(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	in.mu.Lock()
	in.dialled++
	w := &wire{Conn: c, injector: in, number: in.dialled, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	in.mu.Unlock()
	// The client looks into a socket to see whether the server has hung up.
	if socket, ok := c.(syscall.Conn); ok {
		return &socketWire{wire: w, socket: socket}, nil
	}
	return w, nil
}

func (in *injector) add(i *Injection) {
	in.mu.Lock()
	defer in.mu.Unlock()
	i.since = in.now()
	in.inForce = append(in.inForce, i)
}

func (in *injector) remove(i *Injection) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inForce = slices.DeleteFunc(in.inForce, func(other *Injection) bool { return other == i })
}

// decide says what happens to an operation. Of several faults that do not let
// it pass, the one that is longest in force hits it; delays add up.
func (in *injector) decide(conn, operation int, command string) verdict {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all verdict
	for _, i := range in.inForce {
		number, hit := i.count()
		if !hit {
			continue
		}
		v := i.kind.strike(i.fault, number)
		if v.action != pass && all.action != pass {
			continue
		}
		if v.action != pass {
			all.action, all.reply = v.action, v.reply
		}
		all.delay += v.delay
		i.record(Hit{
			Connection: conn, Operation: operation, Command: command, At: in.now(), Done: i.kind.done, Delay: v.delay,
		})
	}
	return all
}

// decisions are the commands that can be a request to a limiter: scripts, and
// what limiters without scripts use to count. Everything else passes, such as
// what sets a connection up.
var decisions = []string{
	"EVALSHA", "EVAL", "EVALSHA_RO", "EVAL_RO", "FCALL", "FCALL_RO", "EXEC",
	"INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY", "HINCRBY", "HINCRBYFLOAT", "ZINCRBY", "ZADD",
	"SET", "SETNX", "SETEX", "PSETEX", "GETSET", "HSET", "LPUSH", "RPUSH", "BITFIELD", "CL.THROTTLE",
}

// oneWay are commands after which replies do not match commands any more.
var oneWay = []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SYNC", "PSYNC"}
