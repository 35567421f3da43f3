package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
)

// doctorOptions are the flags of rlbench doctor.
type doctorOptions struct {
	runOptions
	wait   time.Duration
	fatal  bool
	schema bool
}

func doctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "What would distort a measurement on this machine and this Redis",
		Long: `Doctor looks at the Redis that run would use (can it be reached, what is it, does
it run the limiters, will it evict or pause) and at this machine (cores, load, how
late its timers are, how often something else has the core), and says what to do
about what is not well. It writes a few keys that end with rlbench's and deletes
them. Nothing is wrong with a warning but figures that could be better.`,
		Example: `  rlbench doctor
  rlbench doctor --redis redis://localhost:6379 --wait 30s
  rlbench doctor --fatal -o json=doctor.json`,
		Args:        noArguments("rlbench doctor --redis redis://localhost:6379"),
		Annotations: map[string]string{judges: "yes"},
		RunE: func(_ *cobra.Command, _ []string) error {
			if o.schema {
				_, err := a.Out.Write(report.DoctorJSONSchema)
				return err
			}
			d, err := o.prepare(a)
			if err != nil {
				return err
			}
			return d.run()
		},
	}
	f := c.Flags()
	f.StringVar(&o.redis, "redis", backend.Auto, "auto, managed, embedded or a URL; auto takes RLBENCH_REDIS, then REDIS_URL, then a private redis-server, then the embedded one")
	f.DurationVar(&o.timeout, "timeout", time.Second, "longest wait for each step: a connection, sending, the reply")
	f.DurationVar(&o.wait, "wait", 0, "how long to wait for a Redis that cannot be reached yet, such as 30s")
	f.BoolVar(&o.fatal, "fatal", false, "take a warning for a failure, and end with 1")
	f.StringVar(&o.keyPrefix, "key-prefix", "rlbench", "start of every key")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: table, json (default table)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no table unless asked for")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	f.BoolVar(&o.schema, "schema", false, "print the JSON Schema of check-ups")
	complete(c, "output", report.DoctorFormats.Names)
	complete(c, "color", func() []string { return colorModes })
	complete(c, "redis", func() []string {
		return []string{backend.Auto, string(backend.Managed), string(backend.Embedded), "redis://"}
	})
	return c
}

// checkup is one invocation of doctor.
type checkup struct {
	*doctorOptions
	experiment *experiment // opens the server
	document   *report.Doctor
	sinks      sinks
}

// prepare refuses everything that cannot be before anything is opened.
func (o *doctorOptions) prepare(a *app) (*checkup, error) {
	if o.wait < 0 || o.wait > time.Hour {
		return nil, usagef("--wait 30s", "--wait %s: want 0s to 1h", o.wait)
	}
	o.runs, o.progress, o.maxInFlight = 1, "none", 2
	if err := o.validate(); err != nil {
		return nil, err
	}
	d := &checkup{doctorOptions: o, document: &report.Doctor{Schema: report.DoctorSchema, Command: a.command, Checks: []report.Checkup{}}}
	spec, err := a.redisSpec(&o.runOptions)
	if err != nil {
		return nil, err
	}
	d.experiment = &experiment{app: a, runOptions: &o.runOptions, spec: spec}
	d.sinks, err = sinksFor(a, &o.runOptions, report.DoctorFormats, already(d.document))
	return d, err
}

// add notes what was found.
func (d *checkup) add(name, status, hint, format string, args ...any) {
	c := report.Checkup{Name: name, Status: status, Found: fmt.Sprintf(format, args...)}
	if status != report.StatusOK {
		c.Hint = hint
	}
	d.document.Checks = append(d.document.Checks, c)
}

// unless is ok, or else the status.
func unless(bad bool, status string) string {
	if bad {
		return status
	}
	return report.StatusOK
}

func (d *checkup) run() error {
	e := d.experiment
	stop := e.watchSignals()
	defer stop.stop()
	if err := d.sinks.open(); err != nil {
		return err
	}
	defer d.sinks.discard()
	d.document.Started = e.Now().UTC()
	watch := e.watch()
	begin := watch()
	env, err := d.open(stop)
	defer e.closeServers()
	d.document.Env = env
	d.environment()
	if err == nil {
		err = d.redis(stop.ctx, env)
	}
	d.machine(stop.ctx)
	interrupted := stop.signal() != nil
	if err != nil && !interrupted {
		d.unreachable(err)
	}
	d.document.Interrupted, d.document.ElapsedUS = interrupted, (watch() - begin).Microseconds()
	d.document.Judge(d.fatal)
	e.verdict = d.document.Verdict
	if err := d.sinks.write(nil); err != nil {
		return err
	}
	switch {
	case interrupted:
		return &verdictError{signalCode(stop.signal())}
	case err != nil:
		return &verdictError{exitTarget}
	}
	if code := verdictCode(e.verdict); code != exitOK {
		return &verdictError{code}
	}
	return nil
}

// open opens the server, again and again while there is time to wait for it.
func (d *checkup) open(stop *interrupt) (report.Env, error) {
	const pause = 250 * time.Millisecond
	told := false
	for end := time.Now().Add(d.wait); ; {
		env, err := d.experiment.open(stop)
		if err == nil || stop.ctx.Err() != nil || !time.Now().Add(pause).Before(end) {
			return env, err
		}
		if !told && !d.quiet {
			fmt.Fprintf(d.experiment.Err, "rlbench: waiting up to %s: %v\n", d.wait, err)
			told = true
		}
		select {
		case <-time.After(pause):
		case <-stop.ctx.Done():
		}
	}
}

// unreachable is first what everything else depends on.
func (d *checkup) unreachable(err error) {
	hint := "check the target, or use a private one: --redis managed"
	var p *problem
	if errors.As(err, &p) && p.hint != "" {
		hint = p.hint
	}
	d.document.Checks = append([]report.Checkup{{Name: "redis", Status: report.StatusFail, Found: err.Error(), Hint: hint}}, d.document.Checks...)
}

// bounded is a context for one step that asks the server several times.
func (d *checkup) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 10*d.timeout)
}
