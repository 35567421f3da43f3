package tuning

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
)

// expected is what an algorithm makes of the events, beginning with nothing.
type expected struct {
	Algorithm      string
	Admitted, Most int64 // in all, and in a window of one key
	// Bound is what may be in a window where requests come a little earlier or later.
	Bound int64
}

// expectedOf is what the recommended policy makes of events, and a fixed window and a log with
// the same limit.
func expectedOf(p report.Policy, events []Event) (all []expected, err error) {
	names := []string{p.Algorithm}
	for _, name := range []string{limiter.Fixed.Name, limiter.Log.Name} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		e := expected{Algorithm: name, Bound: bounds[name](p.Limit)}
		states, admitted := map[uint32]*model{}, map[uint32][]int64{}
		for _, q := range events {
			if states[q.Holder] == nil {
				if states[q.Holder], err = modelOf(name, p.Limit, p.WindowUS); err != nil {
					return nil, err
				}
			}
			if !states[q.Holder].admits(q.At) {
				continue
			}
			list := append(admitted[q.Holder], q.At)
			from, _ := slices.BinarySearch(list, q.At-p.WindowUS+1)
			admitted[q.Holder] = list[from:]
			e.Admitted, e.Most = e.Admitted+1, max(e.Most, int64(len(list)-from))
		}
		e.Bound = max(e.Bound, e.Most)
		all = append(all, e)
	}
	return all, nil
}

// bounds are the most that an algorithm may admit to a key in a window: a fixed window and a
// bucket twice the limit; a counter that much only to who is after it, so what choose takes.
var bounds = map[string]func(limit int64) int64{
	limiter.Fixed.Name:         func(limit int64) int64 { return 2 * limit },
	limiter.GCRA.Name:          func(limit int64) int64 { return 2 * limit },
	limiter.Log.Name:           func(limit int64) int64 { return limit },
	limiter.LogPacked.Name:     func(limit int64) int64 { return limit },
	limiter.Counter.Name:       overBy,
	limiter.CounterStrict.Name: overBy,
}

func overBy(limit int64) int64 { return int64(mostOver * float64(limit)) }

// named are routes of a log that are a method and a path.
var named = regexp.MustCompile(`^[A-Z*]+ /`)

// writeEvents writes requests as CSV that rlbench reads again.
func writeEvents(w io.Writer, events []Event) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"arrival", "client", "method", "path", "status"}}
	for _, e := range events {
		method, path := "", ""
		if named.MatchString(e.Route) {
			method, path, _ = strings.Cut(e.Route, " ")
		}
		status := ""
		if e.Status > 0 {
			status = strconv.Itoa(int(e.Status))
		}
		rows = append(rows, []string{time.UnixMicro(e.At).UTC().Format("2006-01-02T15:04:05.000000Z"), fmt.Sprintf("client-%d", e.Holder), method, path, status})
	}
	return out.WriteAll(rows)
}

const scenarioText = `# Replays two windows of the log, in which one client asked for most. What each algorithm
# makes of it is known, as it begins with nothing. Prove it on a Redis with
#   rlbench run riskiest.yaml -a {{list .Expected}} --redis redis://localhost:6379
# With --clock server it is by the clock of that Redis: each limiter takes up to three windows
# of {{.Window}}, as it waits for an edge and plays two. Then only the last check of each is
# made, which says what may be admitted where requests come a little earlier or later.
{{if .Left}}# There are {{.Riskiest}} requests in the two windows, more than a scenario takes: these are
# {{len .Events}} of the client that asked for most, around the moment when it did.
{{end}}version: 1
name: riskiest
description: The riskiest window of a log, as it came.
limit: {{.Limit}}
phases:
  - name: log
    shape: replay
    trace: riskiest.csv
    format: csv
    spread: front # stamps are what they are
checks:
{{range .Expected}}  - {algorithm: {{.Algorithm}}, clock: virtual, metric: admitted, op: "==", value: {{.Admitted}}}
  - {algorithm: {{.Algorithm}}, clock: virtual, metric: peak_in_window, op: "==", value: {{.Most}}}
  - {algorithm: {{.Algorithm}}, metric: peak_in_window, op: "<=", value: {{.Bound}}}
{{end}}`
