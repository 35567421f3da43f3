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
// inconclusive where they are worth little, and where they are worth nothing nothing is
// recommended.
func (s *study) warn() {
	l, doc := &s.doc.Log, s.doc
	empty := s.left // there is a reason why nothing can be recommended
	unsure := func(code, message, hint string) {
		s.doubt(code, message, hint)
		empty = true
		doc.Recommended, doc.RunnerUp, doc.Rest = nil, nil, []report.Choice{}
	}
	if doc.Interrupted && s.left {
		s.doubt(report.CodeInterrupted, "interrupted before everything was found out", "run it again and let it finish")
	} else if doc.Interrupted {
		s.doubt(report.CodeInterrupted, "interrupted after "+scenarios.Counted(l.Requests, "request"), "run it again and let it finish")
	}
	if s.torn != nil {
		s.doubt(report.CodeTornLog, fmt.Sprintf("not all of the log could be read, and figures are of %s: %v", scenarios.Counted(l.Requests, "request"), s.torn), "give the whole file")
	}
	if l.Clients == 1 {
		unsure(report.CodeOneClient, fmt.Sprintf("there is one client, with %s, and nobody to tell it from", scenarios.Counted(l.Requests, "request")), "if a proxy is in front, log the address that it forwards; --format '$http_x_forwarded_for ...'")
	} else if s.ordinary == 0 {
		unsure(report.CodeNoOrdinary, fmt.Sprintf("all %d clients are heavy: each asks for more than %d in a window", l.Clients, doc.Heavy.Above), "raise --heavy, or leave it out")
	}
	s.warnOfWindows(unsure)
	if doc.Recommended == nil && !empty {
		s.whyNothing(unsure)
	}
	s.warnOfLines()
	s.warnOfTraffic()
}

// note is something to know about the figures.
func (s *study) note(code, message, hint string) {
	s.doc.Reasons = append(s.doc.Reasons, scenarios.Reason{Code: code, Message: message, Hint: hint})
}

// doubt is a note without which figures would be others.
func (s *study) doubt(code, message, hint string) {
	s.note(code, message, hint)
	s.doc.Verdict = scenarios.Inconclusive
}

// warnOfLines tells what is not known of single requests, and what was left out.
func (s *study) warnOfLines() {
	l := &s.doc.Log
	if l.WholeSeconds {
		s.note("whole-seconds", "stamps are of whole seconds, so nobody knows when within one a request came: figures are of --spread "+string(s.Spread)+", with the least and the most over all placements, which are no bounds", "log milliseconds: $msec of nginx, %{usec}t of Apache")
	}
	if !l.Arrivals {
		hint := "log $request_time too"
		if hasNames(l.Format) {
			hint = "name the field of the duration, duration=; or if stamps are of arrivals say arrival= instead of time="
		}
		s.note("completion", "stamps are of when a response was complete, and no durations are logged: slow responses look like late requests", hint)
	}
	if l.Bad > 0 {
		s.note("bad-lines", fmt.Sprintf("%d of %d lines are not of the format %s and are left out", l.Bad, l.Lines, l.Format), "look at the first ones; --format says what they are")
	}
	if l.Late > 0 {
		say, code := s.note, "late-lines"
		if float64(l.Late) > mostLate*float64(l.Lines) {
			say, code = s.doubt, report.CodeManyLate
		}
		say(code, fmt.Sprintf("%d of %d lines are further from their place in time than the reorder buffer is long, and are left out", l.Late, l.Lines), "--reorder "+atLeast(s.summary.Latest)+" finds a place for all of them; or give rotated files one by one, in any order")
	}
}

// mostLate is the share of lines that may be missing without changing what is recommended: it
// is the share that may be of another format.
const mostLate = 0.01

// atLeast is a round duration of no less than some microseconds.
func atLeast(us int64) string {
	for _, unit := range []time.Duration{time.Hour, time.Minute} {
		if d := micros(us); d > unit {
			return limiter.FormatDuration(d.Truncate(unit) + unit)
		}
	}
	return limiter.FormatDuration(micros(us).Truncate(time.Second) + time.Second)
}

// hasNames reports whether a format names its fields.
func hasNames(format string) bool {
	return strings.HasPrefix(format, "csv") || strings.HasPrefix(format, "jsonl")
}

// warnOfTraffic tells what the traffic is not.
func (s *study) warnOfTraffic() {
	l := &s.doc.Log
	if l.Limited > 0 {
		say, code := s.note, "already-limited"
		if 2*l.Limited > l.Requests {
			say, code = s.doubt, report.CodeLimited
		}
		say(code, fmt.Sprintf("%d of %d requests were answered with 429: a limiter was at work, and clients that were refused came less, or more often", l.Limited, l.Requests), "take a log from before, or from in front of the limiter")
	}
	if mostlyGap(l) {
		s.note("gap", fmt.Sprintf("no request is from %s to %s, which is most of the time of the log", l.GapFrom.Format(time.RFC3339), l.GapFrom.Add(micros(l.GapUS)).Format(time.RFC3339)), "give the log that is missing, or only one of its parts")
	}
	if least := 1 / (1 - s.Untouched); s.Untouched < 1 && float64(s.ordinary) < least && s.ordinary > 0 && l.Clients > 1 {
		s.note("few-clients", fmt.Sprintf("%s of %d ordinary clients are all of them", s.doc.Asked.Share(), s.ordinary), fmt.Sprintf("give a log of %.0f clients or more, or a lower --untouched", least))
	}
	if r := s.doc.Recommended; r != nil && r.Policy.Refused == 0 && (r.Policy.Most == nil || r.Policy.Most.Refused == 0) {
		s.note("refuses-nothing", "nothing of this log would be refused: nobody asked for more than the limit, so that the log does not tell what it protects from", "give a log with the traffic that is to be refused, or say with --heavy N who is heavy")
	}
}

// warnOfWindows tells which windows the log is too short for.
func (s *study) warnOfWindows(unsure func(code, message, hint string)) {
	var long []string
	for _, w := range s.Windows {
		if tooLong(s.doc, w.Microseconds()) {
			long = append(long, limiter.FormatDuration(w))
		}
	}
	if len(long) == 0 {
		return
	}
	span, without := spanOf(&s.doc.Log).Round(time.Millisecond), ""
	if mostlyGap(&s.doc.Log) {
		without = " without its gap"
	}
	message := fmt.Sprintf("the log is of %s%s, which is less than two windows of %s", span, without, strings.Join(long, " or "))
	if len(long) == len(s.Windows) {
		unsure(report.CodeTooShort, message, "give a longer log, or a shorter --window")
		return
	}
	s.note("long-window", message+": nothing of the kind is recommended", "give a longer log")
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
