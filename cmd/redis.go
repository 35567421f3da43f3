package cmd

import (
	"errors"

	"github.com/rlbench/rlbench/limiter/backend"
)

// redisSpec decides which Redis to open: the flag, RLBENCH_REDIS, REDIS_URL,
// else what auto finds.
func (a *app) redisSpec(o *runOptions) (string, error) {
	spec := o.redis
	if spec == backend.Auto {
		if url, ok := a.Env("REDIS_URL"); ok && url != "" {
			spec = url
		}
	}
	if o.keepKeys && (spec == "managed" || spec == "embedded") {
		return "", keepNothing()
	}
	if err := backend.Check(spec); err != nil {
		var open *backend.OpenError
		if errors.As(err, &open) {
			return "", usage(err, open.Hint)
		}
		return "", err
	}
	return spec, nil
}

// keepNothing refuses --keep-keys for a server that ends with the run.
func keepNothing() error {
	return usagef("--redis redis://localhost:6379 --keep-keys",
		"--keep-keys cannot apply: the keys of a private server go with it")
}
