package backend

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"sync"
)

// relay connects a replica to a primary that listens on a Unix socket only: no
// Redis replicates over one. It listens on a loopback port, where other users
// of the machine may knock, so it lets in only who knows the secret, and asks
// for that as a primary with a password does.
type relay struct {
	host, port string

	listener net.Listener
	welcome  string // the command that opens it
	primary  func(ctx context.Context) (net.Conn, error)
	life     context.Context
	end      context.CancelFunc
	all      sync.WaitGroup
}

func openRelay(secret string, primary func(ctx context.Context) (net.Conn, error)) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a replica: %w", err)
	}
	r := &relay{
		listener: l,
		welcome:  fmt.Sprintf("*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n", len(secret), secret),
		primary:  primary,
	}
	if r.host, r.port, err = net.SplitHostPort(l.Addr().String()); err != nil {
		return nil, err
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.all.Go(r.accept)
	return r, nil
}

// close breaks all connections, and returns when nothing of the relay is left.
func (r *relay) close() {
	r.end()
	_ = r.listener.Close()
	r.all.Wait()
}

func (r *relay) accept() {
	for {
		replica, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.all.Go(func() { r.connect(replica) })
	}
}

func (r *relay) connect(replica net.Conn) {
	defer replica.Close()
	defer context.AfterFunc(r.life, func() { replica.Close() })()
	rest, ok := r.admit(replica)
	if !ok {
		return
	}
	primary, err := r.primary(r.life)
	if err != nil {
		return
	}
	defer primary.Close()
	defer context.AfterFunc(r.life, func() { primary.Close() })()
	if _, err := primary.Write(rest); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(replica, primary)
		_ = replica.Close()
	})
	_, _ = io.Copy(primary, replica)
	_ = primary.Close()
	back.Wait()
}

// admit answers everything with NOAUTH until the secret comes, and returns what
// came behind it.
func (r *relay) admit(replica net.Conn) (rest []byte, ok bool) {
	const most = 4096 // bytes before the secret
	var commands framer
	var pending []byte
	b := make([]byte, most)
	for seen := 0; seen < most; {
		n, err := replica.Read(b)
		if err != nil {
			return nil, false
		}
		begin := len(pending)
		pending = append(pending, b[:n]...)
		seen += n
		for begin < len(pending) {
			n, ended, err := commands.next(pending[begin:])
			if err != nil {
				return nil, false
			}
			if begin += n; !ended {
				break
			}
			answer := "-NOAUTH Authentication required.\r\n"
			admitted := subtle.ConstantTimeCompare(pending[:begin], []byte(r.welcome)) == 1
			if admitted {
				answer = "+OK\r\n"
			}
			if _, err := io.WriteString(replica, answer); err != nil {
				return nil, false
			}
			pending, begin = pending[begin:], 0
			if admitted {
				return pending, true
			}
		}
	}
	return nil, false
}
