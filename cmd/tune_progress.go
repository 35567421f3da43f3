package cmd

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// reading shows how far a log has been read and played, on stderr, with its rate and how
// long it will take. What is done is told from another goroutine than it is drawn by.
type reading struct {
	step atomic.Pointer[string]
	done atomic.Int64
	all  atomic.Int64 // 0 if nobody knows
	quit chan struct{}
	over chan struct{}
}

// startReading begins to show progress in the mode of the flags; stop ends it.
func (t *tuningRun) startReading() *reading {
	p := &reading{quit: make(chan struct{}), over: make(chan struct{})}
	p.tell("reading", 0, 0)
	e := experiment{app: t.app, runOptions: &t.runOptions}
	switch e.progressMode() {
	case "bar":
		go p.bars(t.Err)
	case "plain":
		go p.plain(t.Err)
	default:
		close(p.over)
	}
	return p
}

func (p *reading) tell(step string, done, total int64) {
	if old := p.step.Load(); old == nil || *old != step {
		p.step.Store(&step)
	}
	p.all.Store(total)
	p.done.Store(done)
}

func (p *reading) stop() {
	close(p.quit)
	<-p.over
}

// bars draws a bar for each step, one after another.
func (p *reading) bars(w io.Writer) {
	defer close(p.over)
	all := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(barPeriod))
	var bar *mpb.Bar
	step := ""
	tick := time.NewTicker(barPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if now := *p.step.Load(); now != step || bar == nil {
				if bar != nil {
					bar.Abort(true)
				}
				step, bar = now, newBar(all, now)
			}
			total := p.all.Load()
			bar.SetTotal(total, false)
			bar.SetCurrent(min(p.done.Load(), max(total-1, 0)))
		case <-p.quit:
			if bar != nil {
				bar.Abort(true)
			}
			all.Wait()
			return
		}
	}
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
	defer close(p.over)
	tick := time.NewTicker(plainPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			done, total := p.done.Load(), p.all.Load()
			if total > 0 {
				fmt.Fprintf(w, "rlbench: %s: %d %%\n", *p.step.Load(), 100*done/total)
			} else {
				fmt.Fprintf(w, "rlbench: %s: %d\n", *p.step.Load(), done)
			}
		case <-p.quit:
			return
		}
	}
}
