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
	quit    chan struct{}
	done    chan struct{}
}

// Bars move ten times a second; logs get at most one line in ten seconds.
const (
	barPeriod   = 100 * time.Millisecond
	plainPeriod = 10 * time.Second
)

// startProgress begins to show progress in the mode of the flags. stop ends it.
func (e *experiment) startProgress(total int64, handled *atomic.Int64) *progress {
	p := &progress{total: total, handled: handled, quit: make(chan struct{}), done: make(chan struct{})}
	p.describe("")
	switch mode := e.progressMode(); mode {
	case "bar":
		go p.bar(e.Err)
	case "plain":
		go p.plain(e.Err)
	default:
		close(p.done)
	}
	return p
}

// progressMode resolves auto: bars only on a terminal that can draw them.
func (e *experiment) progressMode() string {
	onTerminal := e.terminal(e.Err) > 0 && !e.dumb()
	ci, _ := e.Env("CI")
	switch {
	case e.quiet:
		return "none"
	case e.progress == "auto" && onTerminal && ci == "":
		return "bar"
	case e.progress == "auto", e.progress == "bar" && !onTerminal:
		return "plain" // mpb draws nothing off a terminal
	default:
		return e.progress
	}
}

// describe says what is being done now.
func (p *progress) describe(what string) { p.what.Store(&what) }

func (p *progress) stop() {
	close(p.quit)
	<-p.done
}

func (p *progress) bar(w io.Writer) {
	defer close(p.done)
	bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(barPeriod))
	bar := bars.AddBar(p.total, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return *p.what.Load() }, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d in all"), decor.Name(" "), decor.Elapsed(decor.ET_STYLE_GO)))
	tick := time.NewTicker(barPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			bar.SetCurrent(min(p.handled.Load(), p.total-1)) // the last step is ours: it ends the bar
		case <-p.quit:
			bar.Abort(true)
			bars.Wait()
			return
		}
	}
}

func (p *progress) plain(w io.Writer) {
	defer close(p.done)
	tick := time.NewTicker(plainPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			handled := p.handled.Load() // clients can send more often than expected
			fmt.Fprintf(w, "rlbench: %s: %d of %d requests\n", *p.what.Load(), handled, max(handled, p.total))
		case <-p.quit:
			return
		}
	}
}
