package limitertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Models are the algorithms that have a model of their own: what is true of one is true
// of those that decide as it does.
func Models() []limiter.Algorithm {
	return slices.DeleteFunc(slices.Clone(limiter.Algorithms), func(a limiter.Algorithm) bool { return a.DecidesAs != "" })
}

// SourceReference is the Source of decisions that a Reference made.
const SourceReference limiter.Source = "reference"

// Reference runs an algorithm's Model as if it were a limiter, with the state
// in memory. It has no clock: requests without At are errors.
type Reference struct {
	algorithm limiter.Algorithm

	mu     sync.Mutex
	states map[string]any // by key
}

// NewReference makes a reference that nobody has used.
func NewReference(a limiter.Algorithm) *Reference {
	return &Reference{algorithm: a, states: map[string]any{}}
}

// Limiter is a limiter of the reference's state, safe for concurrent use. It has
// Peek and Reset. Limiters of different limits share the state if they have the
// same window; with different windows their answers mean nothing.
func (r *Reference) Limiter(l limiter.Limit) (limiter.Limiter, error) {
	if err := r.algorithm.Validate(l); err != nil {
		return nil, err
	}
	return referenceLimiter{r, l}, nil
}

type referenceLimiter struct {
	*Reference
	limit limiter.Limit
}

var (
	_ limiter.Limiter = referenceLimiter{}
	_ Peeker          = referenceLimiter{}
	_ Resetter        = referenceLimiter{}
)

func (l referenceLimiter) Allow(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.decide(r, true)
}

func (l referenceLimiter) Peek(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.decide(r, false)
}

func (l referenceLimiter) Reset(_ context.Context, r limiter.Request) error {
	key := r.Key
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.states, key)
	return nil
}

func (l referenceLimiter) decide(r limiter.Request, keep bool) (limiter.Decision, error) {
	if err := r.Validate(); err != nil {
		return limiter.Decision{}, err
	}
	if r.At.IsZero() {
		return limiter.Decision{}, errors.New("the reference has no clock: the request needs an instant")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	state, used := l.states[r.Key]
	if !used {
		state = l.algorithm.Model.Init()
	}
	r.At = r.At.Truncate(time.Microsecond)
	next, d := l.algorithm.Model.Step(l.limit, state, r)
	if keep {
		l.states[r.Key] = next
	}
	d.Source = SourceReference
	return d, nil
}
