package cmd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// replayOptions are the flags about the log that scenarios replay.
type replayOptions struct {
	trace                           []string
	format, speed, from, to, spread string
}

// replayFlags are the names of those flags.
var replayFlags = []string{"trace", "format", "speed", "from", "to", "spread"}

const replayHint = "rlbench run replay --trace access.log"

func (o *replayOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.trace, "trace", nil, "access log that a scenario replays, such as replay: plain, gzip or zstd, - for stdin; again for its other files")
	f.StringVar(&o.format, "format", "", "format of the log: a name, a pattern as nginx or Apache have it, or names of fields (default found out)")
	f.StringVar(&o.speed, "speed", "", "how much faster than it was logged, 0.1x to 1000x; the limit's window stays (default 1x)")
	f.StringVar(&o.from, "from", "", "first instant of the log to replay: 2026-01-01T10:00:00Z, 10:00:00 (UTC), or 10m from its first request")
	f.StringVar(&o.to, "to", "", "the instant before which the replay ends, written as for --from")
	f.StringVar(&o.spread, "spread", "", "where requests are within a second, if stamps have no more: "+strings.Join(scenarios.Spreads, ", ")+" (default "+scenarios.Spreads[0]+")")
	complete(c, "spread", func() []string { return scenarios.Spreads })
}

// player puts the requests of logs into the phases that replay them. It reads each part
// of a log once.
type player struct {
	*app
	flags  scenarios.Replay
	given  []string // on the command line
	played bool
	stdin  bool // has been read
	known  map[string]*recording
}

// player checks the flags.
func (o *replayOptions) player(a *app, c *cobra.Command) (*player, error) {
	p := &player{app: a, known: map[string]*recording{}}
	for _, flag := range replayFlags {
		if a.given(c, flag) {
			p.given = append(p.given, flag)
		}
	}
	p.flags.Trace, p.flags.Format = o.trace, o.format
	var err error
	if o.speed != "" {
		if p.flags.Speed, err = scenarios.ParseSpeed(o.speed); err != nil {
			return nil, usage(fmt.Errorf("--speed: %w", err), "--speed 10x")
		}
	}
	for _, m := range []struct {
		flag, text string
		to         *scenarios.Moment
	}{{"from", o.from, &p.flags.Since}, {"to", o.to, &p.flags.Until}} {
		if m.text == "" {
			continue
		}
		if *m.to, err = scenarios.ParseMoment(m.text); err != nil {
			return nil, usage(fmt.Errorf("--%s: %w", m.flag, err), "--"+m.flag+" 10m")
		}
	}
	if o.spread != "" {
		if err := oneOf("spread", o.spread, scenarios.Spreads); err != nil {
			return nil, err
		}
		p.flags.Spread = o.spread
	}
	for i, file := range o.trace {
		if file == "" || slices.Contains(o.trace[:i], file) {
			return nil, usagef(replayHint, "--trace %q: want the name of a log, once", file)
		}
	}
	return p, nil
}

// applied refuses flags that no scenario has a use for.
func (p *player) applied() error {
	if len(p.given) == 0 || p.played {
		return nil
	}
	return usagef(replayHint, "--%s cannot apply: no scenario named replays a log", p.given[0])
}

// errNoLog is of a scenario whose log nobody has named.
var errNoLog = errors.New("it replays a log; name one with --trace")

// fill reads what a scenario replays, which comes from a file of some name.
func (p *player) fill(s *scenarios.Scenario, name string) error {
	clients := map[string]map[uint32]int32{} // of each log: the same in all phases
	next := int32(0)
	for i, phase := range s.Phases {
		if phase.Replay == nil {
			continue
		}
		r := p.merged(*phase.Replay, name)
		if len(r.Trace) == 0 {
			return usage(fmt.Errorf("scenario %s: phase %s: %w", s.Name, phase.Name, errNoLog), replayHint)
		}
		p.played = true
		most := phase.AtMost(s.Limit)
		log, err := p.log(r, most, name == "-")
		if err != nil {
			return fmt.Errorf("scenario %s: phase %s: %w", s.Name, phase.Name, err)
		}
		who := fmt.Sprintf("%q %q", r.Trace, r.Format)
		if clients[who] == nil {
			clients[who] = map[uint32]int32{}
		}
		for q := range log.placed(spreadOf(r), rand.New(rand.NewPCG(s.Seed, uint64(i)))) {
			if int64(len(r.Requests)) == most {
				break
			}
			key, ok := clients[who][q.Client]
			if !ok {
				key = next
				clients[who][q.Client] = key
				next++
			}
			r.Requests = append(r.Requests, scenarios.Recorded{At: q.At, Key: key})
		}
		s.Phases[i].Replay = &r
		p.tell(s.Name+", phase "+phase.Name, log, r, s.Limit)
	}
	return nil
}

// merged is what a phase replays by its scenario and the flags. A flag of the command line
// goes before the file, a variable behind it. What a file says about its own log is not
// true of another one.
func (p *player) merged(r scenarios.Replay, name string) scenarios.Replay {
	first := func(flag string, inFile bool) bool { return slices.Contains(p.given, flag) || !inFile }
	f := p.flags
	if len(f.Trace) > 0 && first("trace", len(r.Trace) > 0) {
		r.Trace, r.Format, r.Since, r.Until = f.Trace, "", scenarios.Moment{}, scenarios.Moment{}
	} else if isPath(name) {
		r.Trace = slices.Clone(r.Trace)
		for i, file := range r.Trace {
			if !filepath.IsAbs(file) {
				r.Trace[i] = filepath.Join(filepath.Dir(name), file)
			}
		}
	}
	if f.Format != "" && first("format", r.Format != "") {
		r.Format = f.Format
	}
	if f.Speed != 0 && first("speed", r.Speed != 0) {
		r.Speed = f.Speed
	}
	if f.Since.Present() && first("from", r.Since.Present()) {
		r.Since = f.Since
	}
	if f.Until.Present() && first("to", r.Until.Present()) {
		r.Until = f.Until
	}
	if f.Spread != "" && first("spread", r.Spread != "") {
		r.Spread = f.Spread
	}
	return r
}

// tell says what is replayed, and what could not be known of it. It never tells what is in
// a line.
func (p *player) tell(what string, log *recording, r scenarios.Replay, l limiter.Limit) {
	s := log.summary
	fmt.Fprintf(p.Err, "rlbench: replay: %s: %s, %s, %s to %s\n", printable(what),
		plural(len(r.Requests), "request"), plural(clientsOf(r.Requests), "client"), instant(r.Requests[0].At), instant(r.Requests[len(r.Requests)-1].At))
	if begin := r.Requests[0].At; r.Until.Present() {
		if until := r.Until.In(begin, begin+1); until > s.To {
			p.note("the log ends before --to, which is %s", instant(until))
		}
	}
	if s.Bad > 0 {
		p.note("left out %d of %d lines, which are not of the format %s; the first: %s", s.Bad, s.Lines, s.Format, s.Examples[0])
	}
	if s.Late > 0 {
		p.note("%s too far from their place in time and are left out", are(s.Late, "line"))
	}
	if s.Seconds {
		p.note("stamps are of whole seconds; where requests are within one is a guess: --spread %s", spreadOf(r))
	}
	if !s.Arrivals {
		p.note("stamps are of the ends of responses, and no durations are logged: a long response looks like a late request")
	}
	if s.Refused > 0 {
		p.note("%s answered with 429: a limiter was at work already, and clients may have come again because of it", are(s.Refused, "request"))
	}
	if r.Speed != 0 && r.Speed.Of(l.Window) != l.Window {
		p.note("at %s the window of the limit, %s, is as long as %s of the log were", r.Speed, limiter.FormatDuration(l.Window), limiter.FormatDuration(r.Speed.Of(l.Window)))
	}
}

func are(n int64, what string) string {
	verb := " are"
	if n == 1 {
		verb = " is"
	}
	return scenarios.Counted(n, what) + verb
}

func spreadOf(r scenarios.Replay) string {
	if r.Spread == "" {
		return scenarios.Spreads[0]
	}
	return r.Spread
}
