package backend

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// diagnose says why a first PING failed with err. If err does not tell, it
// connects again to see who answers.
func diagnose(ctx context.Context, o *redis.Options, err error) *OpenError {
	if deadline, ok := ctx.Deadline(); ok && isTimeout(err) && time.Until(deadline) <= 0 {
		<-ctx.Done() // due, but the connection's timer was first
	}
	reply, isReply := errors.AsType[redis.Error](err)
	op, isOp := errors.AsType[*net.OpError](err)
	_, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ctx.Err() != nil:
		return cancelled.about(o, context.Cause(ctx))
	case isReply:
		return refusal(reply.Error()).about(o, err)
	case isOp && op.Op == "dial":
		return dialAdvice(o, err).about(o, err)
	case isCert:
		return untrusted.about(o, err)
	}
	return meet(ctx, o).advise(o, err)
}

func dialAdvice(o *redis.Options, err error) advice {
	_, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS:
		return unknownHost
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED) && o.Network == "unix":
		return noSocket
	case errors.Is(err, os.ErrPermission):
		return forbidden
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case isTimeout(err):
		return blackHole
	default:
		return unreachable
	}
}

func isTimeout(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout()
}

// peer is who answers at an address.
type peer struct {
	answer   []byte // the first line of what it says to a PING; empty if nothing
	tls      bool   // it speaks TLS
	asksCert bool   // and asks us for a certificate
}

// stepTimeout is how long one step of a client may take.
func stepTimeout(o *redis.Options) time.Duration {
	if o.ReadTimeout > 0 {
		return o.ReadTimeout
	}
	return limiter.DefaultTimeout
}

// meet finds out who answers, within a third of a timeout.
func meet(ctx context.Context, o *redis.Options) peer {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout(o)/3)
	defer cancel()

	// Plain first, also when the URL asks for TLS: a TLS server hangs up on
	// plain text at once, whereas Redis takes a TLS greeting for the start of a
	// command and waits for the rest.
	p := knock(ctx, o, false)
	isAlert := bytes.HasPrefix(p.answer, []byte{0x15, 0x03}) // a TLS record
	if len(p.answer) > 0 && !isAlert {
		return p
	}
	p = knock(ctx, o, true)
	p.tls = p.tls || isAlert
	return p
}

// knock connects, says PING and listens. It sends no credentials and believes
// nothing, so any certificate will do.
func knock(ctx context.Context, o *redis.Options, secure bool) (p peer) {
	conn, err := new(net.Dialer).DialContext(ctx, o.Network, o.Addr)
	if err != nil {
		return peer{}
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if secure {
		greeting := tls.Client(conn, &tls.Config{
			InsecureSkipVerify: true,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				p.asksCert = true
				return &tls.Certificate{}, nil
			},
		})
		if greeting.HandshakeContext(ctx) != nil {
			return p
		}
		p.tls = true
		conn = greeting
	}
	// To Redis the empty line is nothing, to HTTP it ends the headers.
	_, _ = conn.Write([]byte("*1\r\n$4\r\nPING\r\n\r\n"))
	answer := make([]byte, 256)
	n, _ := conn.Read(answer)
	p.answer, _, _ = bytes.Cut(answer[:n], []byte("\r\n"))
	return p
}

// advise explains err, the failure of a client that met this peer.
func (p peer) advise(o *redis.Options, err error) *OpenError {
	isRedis := bytes.HasPrefix(p.answer, []byte("+")) || bytes.HasPrefix(p.answer, []byte("-"))
	switch {
	case bytes.HasPrefix(p.answer, []byte("HTTP/")):
		return web.about(o, nil)
	case len(p.answer) > 0 && !isRedis:
		return stranger.about(o, fmt.Errorf("it answers PING with %.40q", p.answer))
	case p.tls && o.TLSConfig == nil:
		return needsTLS.about(o, nil)
	case p.asksCert && len(p.answer) == 0:
		return wantsCert.about(o, nil)
	case isRedis && !p.tls && o.TLSConfig != nil:
		return needsPlain.about(o, nil)
	case isRedis && p.answer[0] == '-': // it said so and hung up, before the client listened
		reply, _, _ := strings.Cut(string(p.answer[1:]), ". ")
		return refusal(reply).about(o, errors.New(reply))
	case isTimeout(err):
		return silent.about(o, err)
	default:
		return hungUp.about(o, err)
	}
}
