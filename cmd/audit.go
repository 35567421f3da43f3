package cmd

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/report"
)

// auditOptions are the flags of rlbench audit.
type auditOptions struct {
	redis       string
	keyPrefix   string
	maxTTL      string
	addresses   []string
	addressFile string
	maxKeys     int64
	maxElements int64
	maxBytes    int64
	pace        time.Duration
	timeout     time.Duration
	outputs     []string
	quiet       bool
	color       string
	schema      bool
}

func auditCommand(a *app) *cobra.Command {
	var o auditOptions
	c := &cobra.Command{
		Use:   "audit",
		Short: "Sweep a Redis for what a rate limiter should not leave there",
		Long: `Audit reads the keys of a Redis, whatever limiter wrote them, and tells those that
never expire or live too long, addresses that are written out, and, of addresses
that are given, what anybody could turn back into them: numbers, bytes, hashes
without a secret or with one that everybody knows. It looks at settings and logs
that keep keys past their time. It only reads, in small pieces, and shows of an
address no more than how it begins. docs/audit.md says what it cannot see.`,
		Example: `  rlbench audit --redis redis://localhost:6379
  rlbench audit --key-prefix rl: --address 203.0.113.7 --max-ttl 2m
  rlbench audit --addresses seen.txt --pace 20ms -o table -o json=audit.json`,
		Args:        noArguments("rlbench audit --redis redis://localhost:6379"),
		Annotations: map[string]string{judges: "yes"},
		RunE: func(_ *cobra.Command, _ []string) error {
			if o.schema {
				_, err := a.Out.Write(report.AuditJSONSchema)
				return err
			}
			s, err := o.prepare(a)
			if err != nil {
				return err
			}
			return s.run()
		},
	}
	f := c.Flags()
	f.StringVar(&o.redis, "redis", "", "URL of the Redis; by default RLBENCH_REDIS, then REDIS_URL")
	f.StringVar(&o.keyPrefix, "key-prefix", "", "look only at keys that begin with this, such as rl:")
	f.StringVar(&o.maxTTL, "max-ttl", "", "longest time to live; by default two windows and a second for keys that name their window, else none")
	f.StringArrayVar(&o.addresses, "address", nil, "an IP address that was served, repeatable or with commas")
	f.StringVar(&o.addressFile, "addresses", "", "file of addresses, one a line; - is stdin")
	f.Int64Var(&o.maxKeys, "max-keys", audit.DefaultMaxKeys, "stop after so many keys")
	f.Int64Var(&o.maxElements, "max-elements", audit.DefaultMaxElements, "read no more elements of a key")
	f.Int64Var(&o.maxBytes, "max-bytes", audit.DefaultMaxBytes, "read no more bytes of a key")
	f.DurationVar(&o.pace, "pace", 0, "rest so long after every 256 keys, for a server that has other things to do")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "longest wait for each step: a connection, sending, the reply")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: table, json (default table)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no table unless asked for")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of audits")
	complete(c, "output", report.AuditFormats.Names)
	complete(c, "color", func() []string { return colorModes })
	complete(c, "redis", func() []string { return []string{"redis://", "rediss://", "unix://"} })
	return c
}

// auditing is one invocation.
type auditing struct {
	*auditOptions
	experiment *experiment // opens the server
	options    audit.Options
	document   *report.Audit
	sinks      sinks
}

// prepare refuses everything that cannot be before anything is opened.
func (o *auditOptions) prepare(a *app) (*auditing, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &auditing{auditOptions: o, document: &report.Audit{Schema: report.AuditSchema}}
	s.options = audit.Options{
		Prefix: o.keyPrefix, Now: a.Now(), Pause: o.pause(),
		MaxKeys: o.maxKeys, MaxElements: o.maxElements, MaxBytes: o.maxBytes,
	}
	if o.maxTTL != "" {
		ttl, err := limiter.ParseDuration(o.maxTTL)
		if err != nil || ttl <= 0 {
			return nil, usagef("--max-ttl 2m", "--max-ttl %q: want a duration above 0, such as 2m or 62d", o.maxTTL)
		}
		s.options.MaxTTL = ttl
	}
	var err error
	if s.options.Addresses, err = o.given(a); err != nil {
		return nil, err
	}
	spec, err := auditSpec(a, o.redis)
	if err != nil {
		return nil, err
	}
	s.experiment = &experiment{app: a, spec: spec, runOptions: &runOptions{timeout: o.timeout, maxInFlight: 2}}
	s.sinks, err = sinksFor(a, &runOptions{outputs: o.outputs, quiet: o.quiet, color: o.color}, report.AuditFormats, already(s.document))
	return s, err
}

// validate checks the flags that need nothing else.
func (o *auditOptions) validate() error {
	for _, bound := range []struct {
		flag  string
		value int64
	}{{"max-keys", o.maxKeys}, {"max-elements", o.maxElements}, {"max-bytes", o.maxBytes}} {
		if bound.value < 1 {
			return usagef("--"+bound.flag+" 1000", "--%s %d: want 1 or more", bound.flag, bound.value)
		}
	}
	switch {
	case o.timeout < time.Millisecond || o.timeout > time.Hour:
		return usagef("--timeout 1s", "--timeout %s: want 1ms to 1h", o.timeout)
	case o.pace < 0 || o.pace > time.Hour:
		return usagef("--pace 20ms", "--pace %s: want 0s to 1h", o.pace)
	}
	return oneOf("color", o.color, colorModes)
}

// pause waits between batches, unless the audit is over.
func (o *auditOptions) pause() func(context.Context) error {
	if o.pace == 0 {
		return nil
	}
	return func(ctx context.Context) error {
		rest := time.NewTimer(o.pace)
		defer rest.Stop()
		select {
		case <-rest.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *auditing) run() error {
	e := s.experiment
	stop := e.watchSignals()
	defer stop.stop()
	if err := s.sinks.open(); err != nil {
		return err
	}
	defer s.sinks.discard()
	s.document.Started = e.Now().UTC()
	watch := e.watch()
	env, err := e.open(stop)
	defer e.closeServers()
	var result *audit.Result
	if err == nil {
		result, err = audit.Run(stop.ctx, e.server.Client(), s.options)
		err = auditTrouble(err)
	}
	interrupted := stop.signal() != nil
	if err != nil && result == nil && !interrupted {
		return withoutPrivate(err)
	}
	s.fill(env, result, interrupted)
	s.document.ElapsedUS = watch().Microseconds()
	e.verdict = s.document.Verdict
	if failure := s.sinks.write(nil); failure != nil {
		return failure
	}
	switch {
	case interrupted:
		return &verdictError{signalCode(stop.signal())}
	case err != nil:
		return err
	}
	if code := verdictCode(e.verdict); code != exitOK {
		return &verdictError{code}
	}
	return nil
}

// given are the addresses of flags and of the file. What is none is told by its
// place: it may be a part of one.
func (o *auditOptions) given(a *app) ([]netip.Addr, error) {
	all, errs := addressesOf(o.addresses)
	if o.addressFile != "" {
		more, err := a.addressesIn(o.addressFile)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, more...)
	}
	if len(errs) == 0 && len(all) > audit.MaxAddresses {
		errs = append(errs, tooManyAddresses(len(all)))
	}
	if len(errs) > 0 {
		return nil, usage(errors.Join(errs...), "--address 203.0.113.7, or --addresses FILE with one a line")
	}
	return all, nil
}
