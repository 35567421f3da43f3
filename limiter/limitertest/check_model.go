package limitertest

import (
	"context"
	"fmt"
	"strings"

	"github.com/rlbench/rlbench/limiter"
)

// checkModel lets two keys live through random histories with late stamps,
// peeks, resets and changed limits, beside the model.
func checkModel(ctx context.Context, s *subject) error {
	const histories, steps = 25, 60
	for n := range uint64(histories) {
		if err := s.compare(ctx, newHistory(s.algorithm, s.suite.Seed, n), steps); err != nil {
			return fmt.Errorf("history %d: %w", n, err)
		}
	}
	return nil
}

// pair is a limiter and what it is compared with, at one limit.
type pair struct{ tested, model limiter.Limiter }

func (s *subject) compare(ctx context.Context, h *history, steps int) error {
	setup, reference := s.setup(h.limit), NewReference(s.algorithm)
	open := func() (p pair, err error) {
		setup.Limit = h.limit
		if p.tested, err = s.open(setup); err == nil {
			p.model, err = reference.Limiter(h.limit)
		}
		return p, err
	}
	p, err := open()
	if err != nil {
		return err
	}
	story := []string{"limit " + h.limit.String()}
	for range steps {
		key := string(rune('a' + h.IntN(2)))
		switch h.IntN(30) {
		case 0:
			if h.limit.Max = h.max(); s.algorithm.Validate(h.limit) != nil {
				h.limit.Max = 1
			}
			story = append(story, "limit "+h.limit.String())
			p, err = open()
		case 1:
			story = append(story, "reset "+key)
			err = p.reset(ctx, key)
		default:
			var line string
			line, err = p.ask(ctx, h, key)
			story = append(story, line)
		}
		if err != nil {
			return fmt.Errorf("%w\nafter, with base %s:\n\t%s", err, epoch.Format("2006-01-02T15:04:05Z"), strings.Join(story, "\n\t"))
		}
	}
	return nil
}

// reset resets both sides; a limiter that cannot keeps both as they are.
func (p pair) reset(ctx context.Context, key string) error {
	r, ok := p.tested.(Resetter)
	if !ok {
		return nil
	}
	if err := r.Reset(ctx, limiter.Request{Key: key}); err != nil {
		return err
	}
	return p.model.(Resetter).Reset(ctx, limiter.Request{Key: key})
}

// ask puts one random request to both sides and returns its line.
func (p pair) ask(ctx context.Context, h *history, key string) (string, error) {
	r := limiter.Request{Key: key, At: h.advance(), Cost: h.cost()}
	if h.IntN(8) == 0 {
		r.At = h.late()
	}
	tested, model, word := p.tested.Allow, p.model.Allow, ""
	if peeker, ok := p.tested.(Peeker); ok && h.IntN(10) == 0 {
		tested, model, word = peeker.Peek, p.model.(Peeker).Peek, "peek "
	}
	want, err := model(ctx, r)
	if err != nil {
		return "", fmt.Errorf("model: %w", err)
	}
	got, err := tested(ctx, r)
	line := word + row(epoch, r, want)
	switch {
	case err != nil:
		return line, err
	case different(want, got):
		return line, fmt.Errorf("want %s\ngot  %s", row(epoch, r, want), row(epoch, r, got))
	}
	return line, nil
}
