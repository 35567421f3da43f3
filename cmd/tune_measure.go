package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/cmd/tuning"
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
)

// steady is the size at which script times are taken for smaller keys too: a run of fewer
// decisions is mostly the compilation of the script.
const steady = 100

// measure runs a full budget against the algorithms on the Redis of --measure: those whose
// keys grow at several limits, the others at one.
func (t *tuningRun) measure() (report.Redis, []report.MeasuredKey, error) {
	var redis report.Redis
	var all []report.MeasuredKey
	typical := map[string]float64{}
	for _, n := range tuning.Entries {
		names := slices.DeleteFunc(slices.Clone(t.names), func(name string) bool {
			a, ok := limiter.Named(name)
			return !ok || n != steady && a.Family() != limiter.Log.Name
		})
		if len(names) == 0 {
			continue
		}
		r, err := t.filled(n, names)
		if err != nil {
			return redis, nil, err
		}
		redis = r.Env.Redis
		for _, row := range r.Rows {
			if row.Phase != "" || row.Run != 0 || row.Redis == nil || row.Redis.BytesPerIdentity == nil {
				continue
			}
			m := report.MeasuredKey{Algorithm: row.Limiter, Entries: n, Bytes: int64(*row.Redis.BytesPerIdentity)}
			if a, _ := limiter.Named(row.Limiter); a.Family() != limiter.Log.Name {
				m.Entries = 1
			}
			if row.Redis.ScriptUSPerDecision != nil {
				m.ScriptUS = *row.Redis.ScriptUSPerDecision
			}
			if n == steady {
				typical[row.Limiter] = m.ScriptUS
			}
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return redis, nil, usagef("--measure managed, with redis-server on the PATH", "tune: a Redis that is %s says nothing about memory", redis.Flavour)
	}
	for i := range all {
		if all[i].Entries < steady {
			all[i].ScriptUS = typical[all[i].Algorithm]
		}
	}
	slices.SortStableFunc(all, func(a, b report.MeasuredKey) int {
		return slices.Index(t.names, a.Algorithm) - slices.Index(t.names, b.Algorithm)
	})
	return redis, all, nil
}

// filled runs boundary-burst with a limit, which leaves so many entries in a log.
func (t *tuningRun) filled(n int64, names []string) (*report.Report, error) {
	var o runOptions
	c := &cobra.Command{}
	o.flags(c)
	err := c.ParseFlags([]string{
		"--limit", fmt.Sprintf("%d/1m", n), "--algorithm", strings.Join(names, ","), "--redis", t.redis, "--timeout", t.timeout.String(),
		"--runs", "3", "--quiet", "--progress", "none",
	})
	if err != nil {
		return nil, internal(err)
	}
	e, err := o.prepare(t.app, c, []string{"boundary-burst"})
	if err != nil {
		return nil, err
	}
	var got *report.Report
	e.sinks = sinks{all: []*sink{{out: io.Discard, format: report.Format{Render: func(_ io.Writer, r *report.Report, _ report.Options) error {
		got = r
		return nil
	}}}}}
	err = e.run()
	var verdict *verdictError
	if err != nil && (!errors.As(err, &verdict) || got == nil || got.Interrupted) {
		return nil, err
	}
	return got, nil
}
