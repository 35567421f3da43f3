package tuning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
)

// asked is a request as this file sees it: it reads no log, plays no tape and knows no
// simulator.
type asked struct {
	at            int64 // µs since 1970
	client, route string
}

// network is the /24 of a client.
func (a asked) network() string { return a.client[:strings.LastIndexByte(a.client, '.')] }

func (a asked) key(kind string) string {
	switch kind {
	case "ip+route":
		return a.client + " " + a.route
	case "prefix":
		return a.network()
	}
	return a.client
}

// traffic is some ordinary clients, and some that ask for far more around whole minutes.
func traffic(seed uint64, clients, heavy int) []asked {
	random := rand.New(rand.NewPCG(seed, 7))
	begin := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).UnixMicro()
	var all []asked
	for c := range clients {
		name := fmt.Sprintf("198.18.%d.%d", c/10, c%10)
		at := begin + random.Int64N(60e6)
		for range 5 + random.IntN(25) {
			all = append(all, asked{at, name, []string{"GET /list", "GET /search", "GET /play"}[random.IntN(3)]})
			at += int64(random.ExpFloat64() * 4e6)
		}
	}
	for h := range heavy {
		name := fmt.Sprintf("198.19.0.%d", h)
		for minute := range int64(3) {
			for i := range int64(60) {
				all = append(all, asked{begin + (minute+1)*60e6 + (i-30)*20e3 + random.Int64N(1000), name, "GET /list"})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b asked) int { return int(a.at - b.at) })
	return all
}

// logOf is traffic as CSV.
func logOf(all []asked) string {
	var b strings.Builder
	b.WriteString("arrival,client,method,path,status\n")
	for _, a := range all {
		method, path, _ := strings.Cut(a.route, " ")
		fmt.Fprintf(&b, "%s,%s,%s,%s,200\n", time.UnixMicro(a.at).UTC().Format("2006-01-02T15:04:05.000000Z"), a.client, method, path)
	}
	return b.String()
}

// decided is what a policy makes of traffic, by the models.
func decided(all []asked, algorithm string, max, window int64, kind string) []bool {
	a, _ := limiter.Named(algorithm)
	limit := limiter.Limit{Max: max, Window: micros(window)}
	states, out := map[string]any{}, make([]bool, len(all))
	for i, q := range all {
		k := q.key(kind)
		if states[k] == nil {
			states[k] = a.Model.Init()
		}
		var d limiter.Decision
		states[k], d = a.Model.Step(limit, states[k], limiter.Request{At: time.UnixMicro(q.at), Cost: 1})
		out[i] = d.Allowed
	}
	return out
}

// behind counts those before i, and i itself if it is among them, of the same key in (t − span, t].
func behind(all []asked, i int, span int64, kind string, among func(int) bool) int64 {
	n := int64(0)
	for j := i; j >= 0 && all[j].at > all[i].at-span; j-- {
		if among(j) && all[j].key(kind) == all[i].key(kind) {
			n++
		}
	}
	return n
}

// naive is a policy of a report, counted one request after another.
func naive(all []asked, p report.Policy, heavy map[string]bool, measured []report.MeasuredKey) report.Policy {
	admit, log := decided(all, p.Algorithm, p.Limit, p.WindowUS, p.Key), decided(all, "log", p.Limit, p.WindowUS, p.Key)
	n := report.Policy{Algorithm: p.Algorithm, WindowUS: p.WindowUS, Limit: p.Limit, Key: p.Key, Requests: int64(len(all))}
	touched, refusedLast := map[string]bool{}, map[string]bool{}
	for i, q := range all {
		mine := func(j int) bool { return admit[j] }
		before := behind(all, i, p.WindowUS, p.Key, func(j int) bool { return j < i && admit[j] })
		if admit[i] != log[i] {
			n.Differ++
		}
		if admit[i] {
			if before >= p.Limit {
				n.Wrong.Admissions++
			}
			if peak := behind(all, i, p.WindowUS, p.Key, mine); peak > n.PeakInWindow {
				n.PeakInWindow, n.PeakAt = peak, instant(q.at)
			}
			n.PeakInSecond = max(n.PeakInSecond, behind(all, i, 1e6, p.Key, mine))
			refusedLast[q.key(p.Key)] = false
			continue
		}
		if before < p.Limit {
			n.Wrong.Denials++
		}
		n.Refused++
		if !heavy[q.client] {
			n.RefusedOrdinary++
		}
		if refusedLast[q.key(p.Key)] {
			n.Repeated++
		}
		refusedLast[q.key(p.Key)], touched[q.client] = true, true
	}
	for client := range touched {
		if heavy[client] {
			n.TouchedHeavy++
		} else {
			n.TouchedOrdinary++
		}
	}
	n.Keys = liveKeys(all, p)
	n.Bytes, n.ServerShare = naiveBytes(all, p, n.Keys, measured), float64(busiestSecond(all))*scriptOf(measured, p.Algorithm, p.Limit)/1e6
	return n
}

// liveKeys is the most keys that were used within the time that they live.
func liveKeys(all []asked, p report.Policy) (most int64) {
	life := p.WindowUS
	if strings.HasPrefix(p.Algorithm, "counter") {
		life *= 2
	}
	for i, q := range all {
		live := map[string]bool{}
		for j := i; j >= 0 && all[j].at > q.at-life; j-- {
			live[all[j].key(p.Key)] = true
		}
		most = max(most, int64(len(live)))
	}
	return most
}

func busiestSecond(all []asked) int64 {
	bySecond, most := map[int64]int64{}, int64(0)
	for _, q := range all {
		bySecond[q.at/1e6]++
		most = max(most, bySecond[q.at/1e6])
	}
	return most
}

// naiveBytes is what keys take: of a log each with its peak, as a power of two, or its limit.
func naiveBytes(all []asked, p report.Policy, keys int64, measured []report.MeasuredKey) int64 {
	if !strings.HasPrefix(p.Algorithm, "log") {
		return int64(float64(keys) * bytesOf(measured, p.Algorithm, 1))
	}
	peaks, last := map[string]int64{}, map[string]int64{}
	var ended []int64
	for i, q := range all {
		k := q.key(p.Key)
		if at, ok := last[k]; ok && q.at-at >= max(2*p.WindowUS, 1e6) {
			ended = append(ended, peaks[k])
			peaks[k] = 0
		}
		last[k], peaks[k] = q.at, max(peaks[k], behind(all, i, p.WindowUS, p.Key, func(int) bool { return true }))
	}
	for _, peak := range peaks {
		ended = append(ended, peak)
	}
	sum := 0.0
	for _, peak := range ended {
		power := int64(math.Pow(2, math.Ceil(math.Log2(float64(peak)))))
		sum += bytesOf(measured, p.Algorithm, min(power, p.Limit))
	}
	return int64(sum / float64(len(ended)) * float64(keys))
}

// naivePeaks is the most that each client asked for of one key in a span, in order.
func naivePeaks(all []asked, span int64, kind string, only func(asked) bool) []int64 {
	peaks := map[string]int64{}
	for i, q := range all {
		if n := behind(all, i, span, kind, func(int) bool { return true }); only(q) {
			peaks[q.client] = max(peaks[q.client], n)
		}
	}
	var sorted []int64
	for _, n := range peaks {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	return sorted
}

// nearestRank is the least that a share of values does not exceed.
func nearestRank(sorted []int64, thousandths int) int64 {
	for i, v := range sorted {
		if (i+1)*1000 >= thousandths*len(sorted) {
			return v
		}
	}
	return 0
}
