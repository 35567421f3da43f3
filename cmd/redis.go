package cmd

import (
	"github.com/spf13/cobra"
)

// redisSpec decides which Redis to open: the flag, RLBENCH_REDIS, REDIS_URL,
// else what auto finds.
func (a *app) redisSpec(c *cobra.Command, o *runOptions) (string, error) {
	spec := o.redis
	if spec == "auto" && !c.Flags().Changed("redis") {
		if url, ok := a.Env("REDIS_URL"); ok && url != "" {
			spec = url
		}
	}
	private := spec == "managed" || spec == "embedded"
	if o.keepKeys && private {
		return "", usagef("--redis redis://localhost:6379 --keep-keys",
			"--keep-keys cannot apply: the keys of a private server go with it")
	}
	return spec, nil
}
