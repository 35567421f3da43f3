package limitertest

import (
	"context"

	"github.com/rlbench/rlbench/limiter"
)

func checkVectors(ctx context.Context, s *subject) error {
	if s.suite.Vectors == nil {
		return Skip("the Suite has no Vectors")
	}
	cases, err := Read(s.suite.Vectors, s.algorithm.Family()+".txt")
	if err != nil {
		return err
	}
	var f faults
	for _, c := range cases {
		setup := s.setup(limiter.Limit{})
		err := c.Run(ctx, func(l limiter.Limit) (limiter.Limiter, error) {
			setup.Limit = l
			return s.open(setup)
		})
		if _, skip := err.(Skip); !skip { // the check "reset" says that there is none
			f.add(err)
		}
	}
	return f.join()
}
