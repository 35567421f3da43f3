package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/cmd/demo"
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/limiter/httplimit"
	"github.com/rlbench/rlbench/limiter/identity"
	"github.com/rlbench/rlbench/scenarios"
)

// serveOptions are the flags of rlbench serve.
type serveOptions struct {
	listen    string
	redis     string
	algorithm string
	window    time.Duration
	onFailure string
	timeout   time.Duration
	edge      string
	headers   []string
	jitter    time.Duration
	shadow    bool
	trust     []string
	keyFile   string
	videos    int
	quiet     bool
}

// drainTime is how long requests may go on after the first interrupt.
const drainTime = 10 * time.Second

func serveCommand(a *app) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve a demo API behind the limiter, to point load testers at",
		Long: `Serve is a video API over a SQLite database, with everything in front of it that a
service has: a coarse tier, addresses from trusted proxies, rotating pseudonyms,
and budgets in Redis that are charged together or not at all.

  GET /api/v1/trending   100 requests a window for each client
  GET /api/v1/feed       30
  GET /api/v1/search?q=  10
                         and 120 for all three together
  GET /healthz           is the database there (not limited)
  GET /metrics           counters, as OpenMetrics (not limited)

Interrupt it to end it: requests that are under way are finished.`,
		Example: `  rlbench serve
  rlbench serve --listen 127.0.0.1:9000 -a log --headers draft-11 --on-failure closed`,
		Args: noArguments("rlbench serve --listen 127.0.0.1:8080"),
		RunE: func(_ *cobra.Command, _ []string) error { return o.run(a) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen at; port 0 takes a free one")
	f.StringVar(&o.redis, "redis", backend.Auto, "auto, managed, embedded or a URL, as for run")
	f.StringVarP(&o.algorithm, "algorithm", "a", "counter", "one of "+strings.Join(limiter.Names(), ", "))
	f.DurationVar(&o.window, "window", time.Minute, "length of the window of all budgets")
	f.StringVar(&o.onFailure, "on-failure", "local", "what to do when Redis cannot answer: open, closed, local or error")
	f.DurationVar(&o.timeout, "timeout", 100*time.Millisecond, "longest wait for a decision of Redis; the API itself waits 2s, or as long")
	f.StringVar(&o.edge, "edge", "600/1m", "coarse tier in this process, count/10s or count/1m, or off")
	f.StringSliceVar(&o.headers, "headers", []string{string(httplimit.XRateLimit)}, "fields that tell limits: "+strings.Join(dialects(), ", ")+", none")
	f.DurationVar(&o.jitter, "jitter", 0, "random time added to Retry-After, in whole seconds")
	f.BoolVar(&o.shadow, "shadow", false, "refuse nothing; count and log what would have been refused")
	f.StringSliceVar(&o.trust, "trust", nil, "networks of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8")
	f.StringVar(&o.keyFile, "key-file", "", "file of the key of pseudonyms, made if it is not there; by default a random key that is gone with the process")
	f.IntVar(&o.videos, "videos", demo.DefaultVideos, "videos in the catalogue; what a request costs grows with it")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "log nothing but errors; the address is printed all the same")
	complete(c, "algorithm", limiter.Names)
	complete(c, "on-failure", func() []string { return scenarios.FailurePolicies })
	complete(c, "headers", dialects)
	return c
}

// dialects are the names of the fields that can be sent.
func dialects() []string {
	var names []string
	for _, d := range []httplimit.Dialect{httplimit.XRateLimit, httplimit.XRateLimitEpoch, httplimit.Draft06, httplimit.Draft07, httplimit.Draft11} {
		names = append(names, string(d))
	}
	return names
}

// validate refuses all flags that cannot be, at once, with the hint of the first.
func (o *serveOptions) validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		errs = append(errs, usagef("--listen 127.0.0.1:8080", "--listen %q: want host:port", o.listen))
	}
	if _, ok := limiter.Named(o.algorithm); !ok {
		errs = append(errs, usagef("rlbench list algorithms", "--algorithm: %v", known("algorithm", o.algorithm, limiter.Names())))
	}
	errs = append(errs, oneOf("on-failure", o.onFailure, scenarios.FailurePolicies))
	if o.timeout < time.Millisecond || o.timeout > time.Minute {
		errs = append(errs, usagef("--timeout 100ms", "--timeout %s: want 1ms to 1m", o.timeout))
	}
	if o.window < limiter.MinWindow || o.window > limiter.MaxWindow {
		errs = append(errs, usagef("--window 1m", "--window %s: want %s to %s", o.window, limiter.FormatDuration(limiter.MinWindow), limiter.FormatDuration(limiter.MaxWindow)))
	}
	for _, name := range o.headers {
		if name != "none" {
			errs = append(errs, oneOf("headers", name, append(dialects(), "none")))
		}
	}
	if o.videos < 1 {
		errs = append(errs, usagef("--videos 20000", "--videos %d: want 1 to %d", o.videos, demo.MaxVideos))
	}
	if _, err := o.proxies(); err != nil {
		errs = append(errs, usage(err, "--trust 10.0.0.0/8"))
	}
	if err := o.validateEdge(); err != nil {
		errs = append(errs, usage(err, "--edge 600/1m, or --edge off"))
	}
	err := errors.Join(errs...)
	if p, ok := errors.AsType[*problem](err); ok {
		return usage(err, p.hint)
	}
	return nil
}

// proxies are those whose word is taken.
func (o *serveOptions) proxies() (identity.Proxies, error) {
	var p identity.Proxies
	for _, text := range o.trust {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return p, fmt.Errorf("--trust %q: want a network", text)
		}
		p.Trusted = append(p.Trusted, network)
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("--trust: %w", err)
	}
	return p, nil
}

func (o *serveOptions) run(a *app) error {
	if err := o.validate(); err != nil {
		return err
	}
	spec, err := a.redisSpec(&runOptions{redis: o.redis})
	if err != nil {
		return err
	}
	stop := a.watchSignals()
	defer stop.stop()
	redis, err := backend.Open(stop.ctx, spec, backend.Options{Timeout: o.timeout, PoolSize: 64})
	if err != nil {
		return stop.or(targetTrouble(err))
	}
	defer redis.Close()
	api, err := demo.Open(stop.ctx, demo.Config{Videos: o.videos, Timeout: max(demo.DefaultTimeout, o.timeout)})
	if err != nil {
		return stop.or(usage(err, "rlbench serve --videos 20000"))
	}
	defer api.Close()
	log := o.logger(a.Err)
	handler, err := o.handler(redis.Client(), api.Handler(), log, a.Now)
	if err != nil {
		return usage(err, "rlbench serve --help")
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return usage(fmt.Errorf("listen at %s: %w", o.listen, err), "rlbench serve --listen 127.0.0.1:0")
	}
	fmt.Fprintf(a.Out, "serving http://%s/api/v1/trending with %s on %s Redis; on failure %s\n", listener.Addr(), o.algorithm, redis.Flavour(), o.onFailure)
	return answer(stop, listener, newServer(handler, log))
}

// or is an error, unless an interrupt is the cause.
func (i *interrupt) or(err error) error {
	if i.ctx.Err() != nil {
		return &verdictError{signalCode(i.signal())}
	}
	return err
}

func (o *serveOptions) logger(w io.Writer) *slog.Logger {
	level := slog.LevelInfo
	if o.quiet {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// answer serves until it is interrupted, and then finishes what is under way.
func answer(stop *interrupt, listener net.Listener, server *http.Server) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return internal(fmt.Errorf("serve: %w", err))
	case <-stop.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	stop.onSecond(cancel)
	if stop.twice() {
		cancel() // the second came before anybody waited for it
	}
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(server.Close(), &verdictError{signalCode(stop.signal())}) // who interrupts twice does not wait
	}
	return nil
}

// handler puts everything in front of the API that a service has.
func (o *serveOptions) handler(client limiter.Processor, api http.Handler, log *slog.Logger, now func() time.Time) (http.Handler, error) {
	front, err := o.front(client, log, now)
	if err != nil {
		return nil, err
	}
	served := front.middleware.Wrap(api)
	metrics := []func(io.Writer) error{front.middleware.Counters().WriteOpenMetrics, front.set.Counters().WriteOpenMetrics}
	guard, err := o.guard(front, now)
	if err != nil {
		return nil, err
	}
	if guard != nil {
		served = o.shed(guard, served, log)
		metrics = append(metrics, edgeMetrics(guard))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", httplimit.Metrics(metrics...))
	mux.Handle("/", served)
	return mux, nil
}

// chosenDialects are the fields that are sent.
func (o *serveOptions) chosenDialects() []httplimit.Dialect {
	var chosen []httplimit.Dialect
	for _, name := range slices.DeleteFunc(slices.Clone(o.headers), func(name string) bool { return name == "none" }) {
		chosen = append(chosen, httplimit.Dialect(name))
	}
	return chosen
}
