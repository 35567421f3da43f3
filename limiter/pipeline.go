package limiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// Pipeliner is a client that can send the commands of several callers in one
// write. *redis.Client and *redis.ClusterClient are Pipeliners.
type Pipeliner interface {
	Processor
	AsyncAutoPipelineWithOptions(*redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
}

// Pipeline is a Processor for many callers at once. What they ask of one limiter at
// the same time is decided by one call of its script, up to 64 requests each, one after
// another. All else (on a cluster, of requests with two names, of a Set, and of a script
// with a shebang) goes through one connection, what comes together in one write, while
// it reads the replies to earlier ones. So Redis decides two to four times as many in a
// second, because most of the cost of a decision is in system calls and around the
// script; and it costs a lone caller a goroutine switch or two, so few callers at a
// time are sent one by one. The more limiters share the callers, the fewer requests
// there are to decide together, and the less is gained.
//
// What a Limiter promises stays: each request is sent at most once, and to the node that
// has its key. A caller whose time is over goes; what it leaves behind may be sent later
// yet, so its error wraps ErrUnknown, unless it could take its request back. Requests
// share a call or a connection, and its fate: when it breaks, that of all that have no
// reply yet is unknown, also of those that were first to find out that the server had
// restarted; and a reply that does not come holds up all others until the client's
// ReadTimeout, so let that be little more than Config.Timeout. A call of several
// callers carries the values of nobody's context: hooks of the client see no parent of
// a trace there.
//
// One call has keys of many slots. A cluster behind a client that is not a
// *redis.ClusterClient refuses that, and requests then go by themselves; but a proxy
// that spreads keys over servers looks at the first key of a call only: set Apart.
//
// It is safe for concurrent use, may be shared by limiters of all kinds, and ends
// when its client is closed.
type Pipeline struct {
	// Few is up to how many callers at a time are sent one by one, each by a
	// connection of its own. Zero is nobody. NewPipeline sets it to 4, or to less where
	// the client's pool would have no connection left for calls of several; change it
	// before the first use.
	Few int
	// Apart is that no two requests share a call of a script, only a write. Set it where
	// a proxy sends a call to the server of its first key (Envoy and twemproxy do),
	// before limiters are made.
	Apart bool

	client      Pipeliner
	pipe        *redis.AutoPipeliner
	connections int
	asking      atomic.Int64 // callers

	first   sync.Once
	flights chan struct{} // a place for each call of several requests
}

var _ Processor = (*Pipeline)(nil)

// few is how many callers at a time still get on better with a connection for each.
// Source: BenchmarkTransports.
const few = 4

// NewPipeline makes a pipeline of a client. It sends nothing. A client has one
// pipeline; if the caller has already made an asynchronous one, that is used as it
// is.
func NewPipeline(client Pipeliner) (*Pipeline, error) {
	if client == nil {
		return nil, errors.New("new pipeline: no Redis client")
	}
	// Requests are written while replies of earlier ones are read, so that the server
	// need not wait for us. What callers leave behind is bounded twice: written, and
	// yet to be written.
	pipe, err := client.AsyncAutoPipelineWithOptions(&redis.AutoPipelineOptions{FullDuplex: true, FullDuplexWindow: 2 * DefaultInFlight})
	if err != nil {
		return nil, fmt.Errorf("new pipeline: %w", err)
	}
	_, connections := habits(client)
	return &Pipeline{client: client, pipe: pipe, connections: connections, Few: min(few, connections-1)}, nil
}

// depart waits until the client has a connection for another call of several requests,
// beside those of lone callers.
func (p *Pipeline) depart() {
	p.first.Do(func() { p.flights = make(chan struct{}, max(1, p.connections-max(p.Few, 0))) })
	p.flights <- struct{}{}
}

// land gives it back.
func (p *Pipeline) land() { <-p.flights }

// Process sends a command and waits for its reply, or for the end of the context.
func (p *Pipeline) Process(ctx context.Context, cmd redis.Cmder) error {
	defer p.asking.Add(-1)
	if p.asking.Add(1) <= int64(p.Few) {
		return p.client.Process(ctx, cmd)
	}
	reply := p.pipe.Submit(ctx, cmd)
	waiting, caller := ctx, callerOf(ctx)
	if b, ok := ctx.(*bounded); ok && caller.Done() != nil {
		// Of the round itself, which ends its children without a goroutine for each.
		child, leave := context.WithCancel(b.Context)
		defer leave()
		defer context.AfterFunc(caller, leave)()
		waiting = child
	}
	err := reply.WaitContext(waiting)
	if waiting.Err() == nil || !errors.Is(err, waiting.Err()) {
		return err
	}
	// The client's own word for a wait that ended before anything was sent is the bare
	// error of the context: here that is not known.
	return fmt.Errorf("wait for the reply of a pipeline: %w", cmp.Or(caller.Err(), err))
}
