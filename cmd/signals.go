package cmd

import (
	"context"
	"os"
	"sync"
	"time"
)

// interrupt is the state of Ctrl-C: the first stops sending and leads to a
// partial report, the second gives up waiting too.
type interrupt struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	end    func()

	mu     sync.Mutex
	first  os.Signal
	count  int
	second func()
	at     time.Time // of the last one
}

// echo is how soon a second signal of a kind is the first one again.
const echo = time.Second

// watchSignals starts to listen. stop ends it.
func (a *app) watchSignals() *interrupt {
	signals, end := a.Signals()
	i := &interrupt{done: make(chan struct{}), end: end}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case s := <-signals:
				i.arrived(s)
			case <-i.done:
				return
			}
		}
	}()
	return i
}

func (i *interrupt) arrived(s os.Signal) {
	i.mu.Lock()
	// Whoever ends a whole process group sends the same signal twice: to us by name,
	// and with the group. Two keys on a keyboard are meant.
	if s != os.Interrupt && s == i.first && time.Since(i.at) < echo {
		i.mu.Unlock()
		return
	}
	i.at = time.Now()
	i.count++
	if i.first == nil {
		i.first = s
	}
	act := i.second
	second := i.count == 2
	i.mu.Unlock()
	i.cancel()
	if second && act != nil {
		act()
	}
}

// onSecond sets what the second interrupt does, at most once.
func (i *interrupt) onSecond(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.second = f
}

// signal is the first signal that came, or nil.
func (i *interrupt) signal() os.Signal {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.first
}

func (i *interrupt) twice() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.count > 1
}

func (i *interrupt) stop() {
	i.end()
	i.cancel()
	close(i.done)
}
