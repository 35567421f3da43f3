package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

var (
	// boardLimit is short enough to be waited for. Some take whole seconds only.
	boardLimit = limiter.Limit{Max: 50, Window: 2 * time.Second}
	// oddLimit is for those who take other windows and cut lifetimes to whole seconds.
	oddLimit = limiter.Limit{Max: 5, Window: 1500 * time.Millisecond}
)

// attacks are the built-in scenarios that look for the worst trailing window.
var attacks = []string{"boundary-burst", "boundary-anchored", "saturate"}

// score is a row of the scoreboard.
type score struct {
	contestant
	boundary int64 // admitted by boundary-burst
	peak     int64 // of any trailing window of any attack
	race     int64 // admitted of ten budgets at one instant
	wrong    struct{ admissions, denials, decisions int64 }
	errors   int64
	honesty
	full lifetimes // 100/1m
	odd  string    // how long keys live with the odd limit
}

func scored(ctx context.Context, s *backend.Server, c contestant) (score, error) {
	row := score{contestant: c}
	for _, attack := range attacks {
		j, err := judged(ctx, s, c, attack, boardLimit)
		if err != nil {
			return row, err
		}
		if attack == "boundary-burst" {
			row.boundary = j.Measures.Admitted
		}
		row.peak = max(row.peak, j.Measures.PeakInWindow)
		row.wrong.admissions += j.Measures.WrongAdmissions
		row.wrong.denials += j.Measures.WrongDenials
		row.errors += j.Measures.Errored
		row.wrong.decisions += j.Measures.Admitted + j.Measures.Denied
	}
	j, err := judged(ctx, s, c, "same-microsecond", boardLimit)
	if err != nil {
		return row, err
	}
	row.race = j.Measures.Admitted
	row.errors += j.Measures.Errored
	if row.honesty, err = askAfter(ctx, s, c, boardLimit); err != nil {
		return row, err
	}
	row.odd = "refused"
	if _, err := c.open(ctx, s, oddLimit, "rl:"); err == nil {
		odd, err := examine(ctx, s, c, oddLimit)
		if err != nil {
			return row, err
		}
		row.odd = odd.String()
	}
	row.full, err = examine(ctx, s, c, limiter.Limit{Max: 100, Window: time.Minute})
	return row, err
}

// scoreboard prints what each contestant admits, and whether what it tells is true.
func scoreboard(ctx context.Context, s *backend.Server, p *page) error {
	p.title("What is admitted: %s; ten budgets at once in the column of races", boardLimit)
	p.row("limiter", "algorithm", "boundary burst", "worst trailing window", "race", "wrong admissions", "wrong denials", "of decisions",
		"errors", "told wait", "keys live, "+oddLimit.String(), "bytes of a full identity, 100/1m")
	for _, c := range contestants {
		if c.aside {
			continue
		}
		r, err := scored(ctx, s, c)
		if err != nil {
			return err
		}
		p.row(r.name, r.what, fmt.Sprint(r.boundary), fmt.Sprintf("%d, %.2f × limit", r.peak, float64(r.peak)/float64(boardLimit.Max)), fmt.Sprint(r.race),
			fmt.Sprint(r.wrong.admissions), fmt.Sprint(r.wrong.denials), fmt.Sprint(r.wrong.decisions), fmt.Sprint(r.errors), r.honesty.String(), r.odd, fmt.Sprint(r.full.bytes))
	}
	return nil
}
