package cmd

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

var progressModes = []string{"auto", "bar", "plain", "none"}

// progress shows how far an experiment is, on stderr. It looks at a counter from
// time to time; nothing is drawn per request.
type progress struct {
	total   int64
	handled *atomic.Int64
	what    atomic.Pointer[string]
	drawn
}

// Bars move ten times a second; logs get at most one line in ten seconds.
const (
	barPeriod   = 100 * time.Millisecond
	plainPeriod = 10 * time.Second
)

// startProgress begins to show progress in the mode of the flags. stop ends it.
func (e *experiment) startProgress(total int64, handled *atomic.Int64) *progress {
	p := &progress{total: total, handled: handled, drawn: newDrawn()}
	p.describe("")
	switch e.progressMode(e.runOptions) {
	case "bar":
		go p.bar(bare(e.Err))
	case "plain":
		go p.plain(e.Err)
	default:
		close(p.done)
	}
	return p
}

// progressMode resolves auto: bars only on a terminal that can draw them.
func (a *app) progressMode(o *runOptions) string {
	onTerminal := a.terminal(a.Err) > 0 && !a.dumb()
	ci, _ := a.Env("CI")
	switch {
	case o.quiet:
		return "none"
	case o.progress == "auto" && onTerminal && ci == "":
		return "bar"
	case o.progress == "auto", o.progress == "bar" && !onTerminal:
		return "plain" // mpb draws nothing off a terminal
	default:
		return o.progress
	}
}

// drawn is something that is drawn from time to time until it is stopped.
type drawn struct{ quit, done chan struct{} }

func newDrawn() drawn { return drawn{make(chan struct{}), make(chan struct{})} }

// every draws each time that a period has passed, until stop.
func (d drawn) every(period time.Duration, draw func()) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			draw()
		case <-d.quit:
			return
		}
	}
}

// stop ends the drawing, and waits until nothing is drawn any more.
func (d drawn) stop() {
	close(d.quit)
	<-d.done
}

// describe says what is being done now.
func (p *progress) describe(what string) { p.what.Store(&what) }

func (p *progress) bar(w io.Writer) {
	defer close(p.done)
	bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(barPeriod))
	bar := bars.AddBar(p.total, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return *p.what.Load() }, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d in all"), decor.Name(" "), decor.Elapsed(decor.ET_STYLE_GO)))
	p.every(barPeriod, func() {
		bar.SetCurrent(min(p.handled.Load(), p.total-1)) // the last step is ours: it ends the bar
	})
	bar.Abort(true)
	bars.Wait()
}

func (p *progress) plain(w io.Writer) {
	defer close(p.done)
	p.every(plainPeriod, func() {
		handled := p.handled.Load() // clients can send more often than expected
		fmt.Fprintf(w, "rlbench: %s: %d of %d requests\n", *p.what.Load(), handled, max(handled, p.total))
	})
}
