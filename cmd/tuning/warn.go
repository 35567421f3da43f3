package tuning

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// warn says what makes the figures worth less than they look, and gives the verdict:
// inconclusive where they are worth nothing.
func (s *study) warn() {
	l, doc := &s.doc.Log, s.doc
	empty := s.left // there is a reason why nothing can be recommended
	unsure := func(code, message, hint string) {
		doc.Reasons = append(doc.Reasons, scenarios.Reason{Code: code, Message: message, Hint: hint})
		doc.Verdict = scenarios.Inconclusive
		if code != report.CodeInterrupted && code != report.CodeTornLog { // then it is of what was read
			empty = true
			doc.Recommended, doc.RunnerUp, doc.Rest = nil, nil, []report.Choice{}
		}
	}
	warn := func(code, message, hint string) {
		doc.Reasons = append(doc.Reasons, scenarios.Reason{Code: code, Message: message, Hint: hint})
	}
	if doc.Interrupted && s.left {
		unsure(report.CodeInterrupted, "interrupted before everything was found out", "run it again and let it finish")
	} else if doc.Interrupted {
		unsure(report.CodeInterrupted, fmt.Sprintf("interrupted after %d requests", l.Requests), "run it again and let it finish")
	}
	if s.torn != nil {
		unsure(report.CodeTornLog, fmt.Sprintf("not all of the log could be read, and figures are of %d requests: %v", l.Requests, s.torn), "give the whole file")
	}
	if l.Clients == 1 {
		unsure(report.CodeOneClient, fmt.Sprintf("all %d requests are of one client: there is nobody to tell it from", l.Requests), "if a proxy is in front, log the address that it forwards; --format '$http_x_forwarded_for ...'")
	} else if s.ordinary == 0 {
		unsure(report.CodeNoOrdinary, fmt.Sprintf("all %d clients are heavy: each asks for more than %d in a window", l.Clients, doc.Heavy.Above), "raise --heavy, or leave it out")
	}
	s.warnOfWindows(unsure, warn)
	if doc.Recommended == nil && !empty {
		s.whyNothing(unsure)
	}
	if l.Limited > 0 {
		warn("already-limited", fmt.Sprintf("%d of %d requests were answered with 429: a limiter was at work, and clients that were refused came less, or more often", l.Limited, l.Requests), "take a log from before, or from in front of the limiter")
	}
	if l.WholeSeconds {
		warn("whole-seconds", "stamps are of whole seconds, so nobody knows when within one a request came: figures are of --spread "+string(s.Spread)+", with the least and the most over all placements, which are no bounds", "log milliseconds: $msec of nginx, %{usec}t of Apache")
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
		warn("few-clients", fmt.Sprintf("%s of %d ordinary clients are all of them", doc.Asked.Share(), s.ordinary), fmt.Sprintf("give a log of %.0f clients or more, or a lower --untouched", least))
	}
}

// warnOfWindows tells which windows the log is too short for.
func (s *study) warnOfWindows(unsure, warn func(code, message, hint string)) {
	var long []string
	for _, w := range s.Windows {
		if tooLong(s.doc, w.Microseconds()) {
			long = append(long, limiter.FormatDuration(w))
		}
	}
	if len(long) == 0 {
		return
	}
	span := s.doc.Log.Until.Sub(s.doc.Log.From).Round(time.Millisecond)
	message := fmt.Sprintf("the log is of %s, which is less than two windows of %s", span, strings.Join(long, " or "))
	if len(long) == len(s.Windows) {
		unsure(report.CodeTooShort, message, "give a longer log, or a shorter --window")
		return
	}
	warn("long-window", message+": nothing of the kind is recommended", "give a longer log")
}

// whyNothing tells why no policy is recommended, though there is enough of a log.
func (s *study) whyNothing(unsure func(code, message, hint string)) {
	if rest := s.doc.Rest; len(rest) > 0 {
		var all []string
		for _, c := range rest {
			all = append(all, c.Policy.Algorithm+": "+strings.ToLower(c.Against[:1])+strings.TrimSuffix(c.Against[1:], "."))
		}
		unsure(report.CodeNoAlgorithm, "no algorithm of those that were tried is fit for this traffic: "+strings.Join(all, "; "), "try all of them, without --algorithm; or allow for more --memory")
		s.doc.Rest = rest
		return
	}
	unsure(report.CodeNoLimit, fmt.Sprintf("no limit up to %d leaves %s of ordinary clients untouched", s.Limits[len(s.Limits)-1], s.doc.Asked.Share()), "give higher --limits, or a lower --untouched")
}
