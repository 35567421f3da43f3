package cmd

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// reading shows how far a log has been read and played, on stderr, with its rate and how
// long it will take. What is done is told from another goroutine than it is drawn by.
type reading struct {
	step atomic.Pointer[string]
	read atomic.Int64
	all  atomic.Int64 // 0 if nobody knows
	drawn
}

// startReading begins to show progress in the mode of the flags; stop ends it.
func (t *tuningRun) startReading() *reading {
	p := &reading{drawn: newDrawn()}
	p.tell("reading", 0, 0)
	switch t.progressMode(&t.runOptions) {
	case "bar":
		go p.bars(bare(t.Err))
	case "plain":
		go p.plain(t.Err)
	default:
		close(p.done)
	}
	return p
}

func (p *reading) tell(step string, done, total int64) {
	if old := p.step.Load(); old == nil || *old != step {
		p.step.Store(&step)
	}
	p.all.Store(total)
	p.read.Store(done)
}

// bars draws a bar for each step, one after another.
func (p *reading) bars(w io.Writer) {
	defer close(p.done)
	all := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(barPeriod))
	var bar *mpb.Bar
	step := ""
	p.every(barPeriod, func() {
		if now := *p.step.Load(); now != step || bar == nil {
			if bar != nil {
				bar.Abort(true)
			}
			step, bar = now, newBar(all, now)
		}
		total := p.all.Load()
		bar.SetTotal(total, false)
		bar.SetCurrent(min(p.read.Load(), max(total-1, 0)))
	})
	if bar != nil {
		bar.Abort(true)
	}
	all.Wait()
}

func newBar(all *mpb.Progress, step string) *mpb.Bar {
	speed := decor.AverageSpeed(decor.SizeB1024(0), "% .1f")
	if step != "reading" {
		speed = decor.AverageSpeed(0, "%.0f requests/s")
	}
	return all.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(step, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), decor.Name(" "), speed, decor.Name(" ETA "), decor.AverageETA(decor.ET_STYLE_GO)))
}

func (p *reading) plain(w io.Writer) {
	defer close(p.done)
	p.every(plainPeriod, func() {
		done, total := p.read.Load(), p.all.Load()
		if total > 0 {
			fmt.Fprintf(w, "rlbench: %s: %d %%\n", *p.step.Load(), 100*done/total)
		} else {
			fmt.Fprintf(w, "rlbench: %s: %d\n", *p.step.Load(), done)
		}
	})
}
