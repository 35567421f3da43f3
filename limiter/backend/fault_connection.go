package backend

import (
	"errors"
	"math/rand/v2"
	"time"
)

// everywhere is where faults on connections can be done.
var everywhere = []Flavour{Live, Managed, Embedded}

var latency = FaultKind{
	Name:         "latency",
	Doc:          "replies are handed over late",
	OnConnection: true,
	Takes:        []string{TakesDelay, TakesJitter, TakesSeed, TakesEvery, TakesHits},
	Flavours:     everywhere,
	done:         "held",
	check: func(f Fault) error {
		switch {
		case f.Delay == 0 && f.Jitter == 0:
			return errors.New("parameters delay and jitter are both zero")
		case f.Jitter == 0 && f.Seed != 0:
			return errors.New("parameter seed has no use without jitter")
		}
		return nil
	},
	strike: func(f Fault, operation int) verdict {
		delay := f.Delay
		if f.Jitter > 0 {
			// A generator for each operation: what others do changes nothing.
			r := rand.New(rand.NewPCG(f.Seed, uint64(operation)))
			delay += time.Duration(r.Int64N(int64(f.Jitter)))
		}
		return verdict{delay: delay}
	},
}

var connectionReset = FaultKind{
	Name:         "reset",
	Doc:          "the connection breaks before the command is sent, so it does not run",
	OnConnection: true,
	Takes:        []string{TakesEvery, TakesHits},
	Flavours:     everywhere,
	done:         "reset before it was sent",
	strike:       func(Fault, int) verdict { return verdict{action: reset} },
}

var lostReply = FaultKind{
	Name:         "lost-reply",
	Doc:          "the command runs, but the connection breaks before its reply arrives",
	OnConnection: true,
	Takes:        []string{TakesEvery, TakesHits},
	Flavours:     everywhere,
	done:         "ran, reply dropped",
	strike:       func(Fault, int) verdict { return verdict{action: lose} },
}

var partialCommand = FaultKind{
	Name:         "partial",
	Doc:          "the connection breaks when half of the command is sent, so it does not run",
	OnConnection: true,
	Takes:        []string{TakesEvery, TakesHits},
	Flavours:     everywhere,
	done:         "reset halfway",
	strike:       func(Fault, int) verdict { return verdict{action: tear} },
}

// loadingReply is how Redis refuses while it reads its data.
const loadingReply = "-LOADING Redis is loading the dataset in memory\r\n"

var loading = FaultKind{
	Name:         "loading",
	Doc:          "the command is answered with LOADING and does not run",
	OnConnection: true,
	Takes:        []string{TakesEvery, TakesHits},
	Flavours:     everywhere,
	done:         "answered LOADING",
	strike:       func(Fault, int) verdict { return verdict{action: answer, reply: loadingReply} },
}
