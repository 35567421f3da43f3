package limitertest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// specimen is a limiter with one fault that one check has to see.
type specimen struct {
	check, fault string
	algorithm    limiter.Algorithm
	open         func(Setup) (limiter.Limiter, error)
}

// specimens has one row for each check at least.
var specimens = []specimen{
	mutant("vectors", "counts what is exactly one window old", limiter.Log, `'(' .. oldest_live`, `oldest_live`),
	mutant("vectors", "weights in floating point", limiter.Counter,
		`math.floor(previous * (window - elapsed) / window)`, `math.floor(previous * (1 - elapsed / window))`),
	mutant("vectors", "rounds for the client", limiter.CounterStrict, `local strict = true`, `local strict = false`),
	mutant("vectors", "keeps what is exactly one window old", limiter.LogPacked, `after(s, now - window)`, `after(s, now - window - 1)`),
	mutant("model", "takes stamps for ordered", limiter.LogPacked, `if now >= last then`, `if true then`),
	mutant("model", "forgets the window before", limiter.Counter, `s and s[1] == index - 1`, `false`),
	mutant("model", "lets a late clock turn the window back", limiter.Fixed,
		`if i > index then`, `if false then`),
	mutant("retry", "always waits a whole window", limiter.Fixed, `retry_after = window_end - now`, `retry_after = window`),
	mutant("retry", "waits one tick too little", limiter.Counter, `(count - room - 1) / count) + 1`, `(count - room - 1) / count)`),
	mutant("burst", "names members after the time", limiter.Log, `= unit == 1 and nonce or`, `= unit == 1 and score or`),
	{"burst", "reads, decides and then writes", limiter.Fixed, openNaive},
	mutant("denial", "keeps denied requests", limiter.Log,
		`elseif not peek and redis.call('PTTL', key) == -1`, `elseif not peek and redis.call('ZADD', key, now, nonce)`),
	mutant("peek", "counts peeks", limiter.Log, `local peek = nonce == ''`, `local peek = false`),
	wrapped("reset", "forgets nothing", func(s Setup, l limiter.Limiter) limiter.Limiter { return &deaf{inner: l} }),
	mutant("ttl", "never expires", limiter.Fixed, `, 'PX', ttl)`, `)`),
	mutant("ttl", "takes milliseconds for seconds", limiter.Log, `math.ceil(window / 1000) + 1000`, `math.ceil(window)`),
	mutant("ttl", "expires after one window of the two", limiter.Counter, `(2 * window - elapsed)`, `(window - elapsed)`),
	mutant("heal", "trusts the first time to live", limiter.Fixed, `redis.call('PTTL', key) == -1`, `false`),
	mutant("sizes", "counts in 31 bits", limiter.Fixed, `local max = tonumber(ARGV[3])`, `local max = tonumber(ARGV[3]) % 2147483648`),
	wrapped("requests", "takes impossible requests for small ones", func(_ Setup, l limiter.Limiter) limiter.Limiter {
		return allow(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			r.Cost = min(max(r.Cost, 1), limiter.MaxMax)
			return l.Allow(ctx, r)
		})
	}),
	wrapped("identities", "cuts identities", func(_ Setup, l limiter.Limiter) limiter.Limiter {
		return allow(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			r.Key = r.Key[:min(len(r.Key), 10)]
			return l.Allow(ctx, r)
		})
	}),
	{"policies", "leaves the policy out of the key", limiter.Fixed, func(s Setup) (limiter.Limiter, error) {
		s.Policy = "all"
		return Redis(s)
	}},
	{"flush", "loads the script once", limiter.Fixed, openBare(func(c redis.UniversalClient, ctx context.Context, script string, args ...any) *redis.Cmd {
		return c.EvalSha(ctx, redis.NewScript(script).Hash(), []string{args[0].(string)}, args[1:]...)
	})},
	{"lost-reply", "lets the client send again", limiter.Fixed, openBare(func(c redis.UniversalClient, ctx context.Context, script string, args ...any) *redis.Cmd {
		return c.Eval(ctx, script, []string{args[0].(string)}, args[1:]...)
	})},
	wrapped("cancel", "ignores its context", func(_ Setup, l limiter.Limiter) limiter.Limiter {
		return allow(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			return l.Allow(context.WithoutCancel(ctx), r)
		})
	}),
	wrapped("deadline", "hides that the fate is unknown", func(_ Setup, l limiter.Limiter) limiter.Limiter {
		return allow(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			d, err := l.Allow(ctx, r)
			if err != nil {
				err = errors.New("denied")
			}
			return d, err
		})
	}),
	wrapped("keys", "names other keys than it uses", func(_ Setup, l limiter.Limiter) limiter.Limiter {
		return &deaf{inner: l, suffix: ":other"}
	}),
}

// mutant changes one place of an algorithm's script.
func mutant(check, fault string, a limiter.Algorithm, from, to string) specimen {
	script := strings.Replace(a.Script, from, to, 1)
	if script == a.Script {
		panic("script " + a.Name + " does not hold " + from)
	}
	a.Script = script
	return specimen{check, fault, a, Redis}
}

// wrapped puts a faulty layer around a right limiter.
func wrapped(check, fault string, wrap func(Setup, limiter.Limiter) limiter.Limiter) specimen {
	return specimen{check, fault, limiter.Fixed, func(s Setup) (limiter.Limiter, error) {
		l, err := Redis(s)
		if err != nil {
			return nil, err
		}
		return wrap(s, l), nil
	}}
}

type allow func(context.Context, limiter.Request) (limiter.Decision, error)

func (a allow) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return a(ctx, r)
}

// deaf does not reset, and adds to the names of its keys.
type deaf struct {
	inner  limiter.Limiter
	suffix string
}

func (d *deaf) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return d.inner.Allow(ctx, r)
}

func (d *deaf) Reset(context.Context, limiter.Request) error { return nil }

func (d *deaf) Keys(identity string) []string {
	keys := d.inner.(Keyer).Keys(identity)
	return []string{keys[0] + d.suffix}
}

// openNaive counts without a script: others come in between.
func openNaive(s Setup) (limiter.Limiter, error) {
	return allow(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
		key := s.Policy + r.Key
		used, err := s.Client.Get(ctx, key).Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return limiter.Decision{}, err
		}
		if used >= s.Limit.Max {
			return limiter.Decision{RetryAfter: time.Second}, nil
		}
		used, err = s.Client.Incr(ctx, key).Result()
		return limiter.Decision{Allowed: true, Remaining: s.Limit.Max - used}, err
	}), nil
}

// openBare calls the fixed window's script by one go-redis method.
func openBare(call func(redis.UniversalClient, context.Context, string, ...any) *redis.Cmd) func(Setup) (limiter.Limiter, error) {
	return func(s Setup) (limiter.Limiter, error) {
		if err := s.Client.ScriptLoad(context.Background(), s.Algorithm.Script).Err(); err != nil {
			return nil, err
		}
		return allow(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			n, err := call(s.Client, ctx, s.Algorithm.Script, s.Policy+r.Key, r.At.UnixMicro(),
				s.Limit.Window.Microseconds(), s.Limit.Max, r.Units(), "-", 3_600_000).Int64Slice()
			if err != nil {
				return limiter.Decision{}, err
			}
			return limiter.Decision{Allowed: n[0] == 1, Remaining: n[1]}, nil
		}), nil
	}
}
