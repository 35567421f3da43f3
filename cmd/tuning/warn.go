package tuning

import (
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// warn says what makes the figures worth less than they look, and gives the verdict:
// inconclusive where they are worth nothing.
func (s *study) warn() {
	l, doc := &s.doc.Log, s.doc
	window := s.Windows[0]
	span := l.Until.Sub(l.From)
	unsure := func(code, message, hint string) {
		doc.Reasons = append(doc.Reasons, scenarios.Reason{Code: code, Message: message, Hint: hint})
		doc.Verdict = scenarios.Inconclusive
		if code != "interrupted" && code != "torn-log" { // then it is of what was read
			doc.Recommended, doc.RunnerUp, doc.Rest = nil, nil, []report.Choice{}
		}
	}
	warn := func(code, message, hint string) {
		doc.Reasons = append(doc.Reasons, scenarios.Reason{Code: code, Message: message, Hint: hint})
	}
	if doc.Interrupted {
		unsure("interrupted", fmt.Sprintf("interrupted after %d requests", l.Requests), "run it again and let it finish")
	}
	if s.torn != nil {
		unsure("torn-log", fmt.Sprintf("not all of the log could be read, and figures are of %d requests: %v", l.Requests, s.torn), "give the whole file")
	}
	if l.Clients == 1 {
		unsure("one-client", fmt.Sprintf("all %d requests are of one client: there is nobody to tell it from", l.Requests), "if a proxy is in front, log the address that it forwards; --format '$http_x_forwarded_for ...'")
	}
	if span < 2*window {
		unsure("too-short", fmt.Sprintf("the log is of %s, which is less than two windows of %s", span.Round(time.Millisecond), limiter.FormatDuration(window)), "give a longer log, or a shorter --window")
	}
	if doc.Recommended == nil && l.Clients > 1 && span >= 2*window {
		unsure("no-limit", fmt.Sprintf("no limit up to %d leaves %s of ordinary clients untouched", s.Limits[len(s.Limits)-1], percent(s.Untouched)), "give higher --limit, or a lower --untouched")
	}
	if l.Limited > 0 {
		warn("already-limited", fmt.Sprintf("%d of %d requests were answered with 429: a limiter was at work, and clients that were refused came less, or more often", l.Limited, l.Requests), "take a log from before, or from in front of the limiter")
	}
	if l.WholeSeconds {
		warn("whole-seconds", "stamps are of whole seconds, so nobody knows when within one a request came: figures are of --spread "+string(s.Spread)+", with the least and the most over all", "log milliseconds: $msec of nginx, %{usec}t of Apache")
	}
	if !l.Arrivals {
		warn("completion", "stamps are of when a response was complete, and no durations are logged: slow responses look like late requests", "log $request_time too")
	}
	if l.Bad > 0 {
		warn("bad-lines", fmt.Sprintf("%d of %d lines are not of the format %s and are left out", l.Bad, l.Lines, l.Format), "look at the first ones; --format says what they are")
	}
	if l.Late > 0 {
		warn("late-lines", fmt.Sprintf("%d lines are further from their place in time than the reorder buffer is long, and are left out", l.Late), "raise --reorder")
	}
	if least := 1 / (1 - s.Untouched); s.Untouched < 1 && float64(s.ordinary) < least && l.Clients > 1 {
		warn("few-clients", fmt.Sprintf("%s of %d ordinary clients are all of them", percent(s.Untouched), s.ordinary), fmt.Sprintf("give a log of %.0f clients or more, or a lower --untouched", least))
	}
}
