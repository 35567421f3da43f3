package scenarios_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
)

// logged is a log of a request every so many microseconds, of clients in turn.
func logged(first int64, gap int64, n, clients int) []scenarios.Recorded {
	all := make([]scenarios.Recorded, n)
	for i := range all {
		all[i] = scenarios.Recorded{At: first + int64(i)*gap, Key: int32(i % clients)}
	}
	return all
}

// replaying is a scenario of one phase that replays a log.
func replaying(t testing.TB, limit, fields string, log []scenarios.Recorded) *scenarios.Scenario {
	t.Helper()
	s := scenario(t, limit, "name: log, shape: replay"+fields)
	s.Phases[0].Replay.Requests = log
	return s
}

const tenOClock = 1_767_261_600_000_000 // 2026-01-01T10:00:00Z

// Requests are as far into their window as they were in the log, and their distances are
// those of the log, divided by the speed.
func TestReplayKeepsTheWindowsOfALog(t *testing.T) {
	for _, row := range []struct {
		limit, fields string
		first         int64
		want          []time.Duration
		why           string
	}{
		{"10/1m", "", 7_000_000, []time.Duration{7 * time.Second, 47 * time.Second, 87 * time.Second}, "logged at :07"},
		{"10/1m", "", 0, []time.Duration{0, 40 * time.Second, 80 * time.Second}, "logged at an edge"},
		{"10/1m", "", -1, []time.Duration{time.Minute - 1000, 100*time.Second - 1000, 140*time.Second - 1000}, "logged 1 µs before one"},
		{"10/1m", ", speed: 10", 127_000_000, []time.Duration{12700 * time.Millisecond, 16700 * time.Millisecond, 20700 * time.Millisecond}, "ten minutes of the log become a window"},
		{"10/6s", ", speed: 10x", 7_000_000, []time.Duration{700 * time.Millisecond, 4700 * time.Millisecond, 8700 * time.Millisecond}, "and a minute a window of a tenth"},
		{"10/1m", ", speed: 0.5", 7_000_000, []time.Duration{14 * time.Second, 94 * time.Second, 174 * time.Second}, "half a minute becomes one"},
		{"10/1m", ", at: edge + 5m", 7_000_000, []time.Duration{307 * time.Second, 347 * time.Second, 387 * time.Second}, "an edge of the log comes to the start of the phase"},
		{"10/1m", ", count: 2", 7_000_000, []time.Duration{7 * time.Second, 47 * time.Second}, "the first two"},
		{"10/1m", ", count: 20", 7_000_000, []time.Duration{7 * time.Second, 47 * time.Second, 87 * time.Second}, "there are no more"},
	} {
		p := planned(t, replaying(t, row.limit, row.fields, logged(tenOClock+row.first, 40_000_000, 3, 2)))
		checkPlan(t, p)
		var got []time.Duration
		for _, a := range p.Arrivals {
			got = append(got, a.At)
		}
		end := row.want[len(row.want)-1] + time.Microsecond
		if !slices.Equal(got, row.want) || p.Phases[0].End != end || p.Keys != 2 || p.Arrivals[1].Key != 1 {
			t.Errorf("%s%s, %d µs: at %v until %s, %d keys; want %v until %s, 2 keys (%s)",
				row.limit, row.fields, row.first, got, p.Phases[0].End, p.Keys, row.want, end, row.why)
		}
	}
}

// A log that is replayed so many times faster under a window so many times shorter meets
// the same decisions.
func TestReplayAtAnySpeedIsTheSameUnderAScaledWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		speed := rapid.Int64Range(1, 1000).Draw(rt, "speed")
		gaps := rapid.SliceOfN(rapid.Int64Range(0, 40_000), 1, 60).Draw(rt, "gaps")
		at := tenOClock + rapid.Int64Range(0, 3_600_000_000).Draw(rt, "first")
		at -= at % 1000
		var log []scenarios.Recorded
		for i, gap := range gaps {
			at += gap * speed // so that nothing is cut off
			log = append(log, scenarios.Recorded{At: at, Key: int32(i % 2)})
		}
		at0 := log[0].At % speed
		for i := range log {
			log[i].At -= at0
		}
		slow := replaying(t, fmt.Sprintf("5/%dms", 100*speed), "", log)
		fast := replaying(t, "5/100ms", fmt.Sprintf(", speed: %d", speed), log)
		for _, a := range limitertest.Models() {
			if a.Name == "gcra" {
				continue // it rounds the gap between admissions
			}
			one, other := expect(rt, planned(t, slow), a).Measures, expect(rt, planned(t, fast), a).Measures
			if one.Admitted != other.Admitted || one.PeakInWindow != other.PeakInWindow {
				rt.Errorf("%s at %dx: %d admitted, peak %d; as logged %d and %d", a.Name, speed, other.Admitted, other.PeakInWindow, one.Admitted, one.PeakInWindow)
			}
		}
	})
}

// The timetable is that of the log: another order of clients or another instant is
// another plan, and a day later at the same time is the same.
func TestHashesOfReplays(t *testing.T) {
	hash := func(log []scenarios.Recorded) string { return planned(t, replaying(t, "10/1m", "", log)).Hash() }
	log := logged(tenOClock, 1_000_000, 50, 3)
	const want = "3636c155"
	if got := hash(log)[:8]; got != want {
		t.Errorf("plan %s, and was %s", got, want)
	}
	if got := hash(logged(tenOClock+86_400_000_000, 1_000_000, 50, 3)); got[:8] != want {
		t.Errorf("a day later: plan %s", got)
	}
	for what, other := range map[string][]scenarios.Recorded{
		"a second later": logged(tenOClock+1_000_000, 1_000_000, 50, 3), "other clients": logged(tenOClock, 1_000_000, 50, 2), "one less": log[:49],
	} {
		if got := hash(other); got[:8] == want {
			t.Errorf("%s is the same plan", what)
		}
	}
}

// Several phases, repetitions and clients that retry go with a log as with any traffic.
func TestReplayIsAShapeLikeOthers(t *testing.T) {
	s := scenario(t, "2/1s", "name: log, shape: replay, repeat: {times: 2, every: 10s}, cost: 2, jitter: 1ms", "name: b, shape: burst, count: 1}\nkeys: {count: 9")
	s.Phases[0].Replay.Requests = logged(tenOClock, 1_500_000, 3, 3)
	p := planned(t, s)
	checkPlan(t, p)
	if got := keysOf(p)[:6]; !slices.Equal(got, []int32{0, 1, 2, 0, 1, 2}) || p.Keys != 9 || p.Arrivals[0].Cost != 2 {
		t.Errorf("keys %v of %d", got, p.Keys)
	}
	s = replaying(t, "2/1s", ", retry: {mode: obey}", logged(tenOClock, 1000, 5, 1))
	for _, a := range limitertest.Models() {
		if m := expect(t, planned(t, s), a).Measures; m.Admitted != 5 {
			t.Errorf("%s admits %d of clients that obey, want 5", a.Name, m.Admitted)
		}
	}
}

func TestReplaysThatCannotBePlanned(t *testing.T) {
	decade := int64(3650*24*3600) * 1_000_000
	log := logged(tenOClock, 1000, 3, 1)
	for _, row := range []struct {
		fields string
		log    []scenarios.Recorded
		want   string
	}{
		{"", nil, "plan scenario test: phase log: it replays a log, and there is none"},
		{"}\nkeys: {count: 2, addresses: 198.51.100.0/24", log, "whose clients have no addresses any more"},
		{"", []scenarios.Recorded{{At: 5}, {At: 4}}, "request 2 of the log is before the one before it"},
		{"", []scenarios.Recorded{{At: -1}}, "before 1970"},
		{"", []scenarios.Recorded{{At: 1 << 60}}, "after 2112"},
		{"", []scenarios.Recorded{{Key: 1_000_000}}, "more than 1000000 clients"},
		{"", []scenarios.Recorded{{At: 5}, {At: 5 + decade}}, "longer than 3650d"},
		{", speed: 0.1", []scenarios.Recorded{{At: 5}, {At: 5 + decade/9}}, "longer than 3650d"},
	} {
		_, err := scenarios.NewPlan(replaying(t, "1/31d", row.fields, row.log))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: got %v, want %s", row.fields, err, row.want)
		}
	}
	s := &scenarios.Scenario{Name: "s", Limit: limiter.Limit{Max: 1, Window: time.Second}, Keys: scenarios.Keys{Count: 1}, Phases: []scenarios.Phase{{Name: "a", Shape: "replay"}}}
	if _, err := scenarios.NewPlan(s); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("a phase of no file: %v", err)
	}
}

func TestSpeeds(t *testing.T) {
	for text, want := range map[string]string{"1": "1x", "10x": "10x", "0.1x": "0.1x", "2.5": "2.5x", "1000x": "1000x", "0.125x": "0.125x", "010": "10x"} {
		if s, err := scenarios.ParseSpeed(text); err != nil || s.String() != want {
			t.Errorf("%s: got %s and %v, want %s", text, s, err, want)
		}
	}
	for _, text := range []string{"", "x", "0", "0x", "0.09x", "1001x", "-1x", "1/2", "1e2", "0.1234", "10xx", ".", "999999999999999999999"} {
		if s, err := scenarios.ParseSpeed(text); err == nil || !strings.Contains(err.Error(), "want 0.1x to 1000x") {
			t.Errorf("%q: got %s and %v", text, s, err)
		}
	}
	if got := scenarios.Speed(0).Of(time.Second); got != time.Second {
		t.Errorf("no speed: a second is %s of the log", got)
	}
}

// The first request of the log is of 10:00:00.
func TestMoments(t *testing.T) {
	const second = 1_000_000
	for _, row := range []struct {
		text string
		from int64 // after the first request, µs
		want int64 // after the first request, µs
	}{
		{"2026-01-01T10:00:05Z", 0, 5 * second},
		{"2026-01-01T12:00:05.25+02:00", 0, 5*second + 250_000},
		{"2025-12-31T10:00:00Z", 0, -86400 * second},
		{"10m", 0, 600 * second},
		{"10m", 99, 600 * second},
		{"0s", 0, 0},
		{"1d", 0, 86400 * second},
		{"10:00", 0, 0},
		{"10:00:00", 1, 86400 * second},
		{"10:00:01.5", 0, 1_500_000},
		{"09:59:59", 0, 86399 * second},
		{"23:59", 0, (13*3600 + 59*60) * second},
	} {
		m, err := scenarios.ParseMoment(row.text)
		if err != nil || !m.Present() || m.String() != row.text {
			t.Fatalf("%s: %q and %v", row.text, m, err)
		}
		if got := m.In(tenOClock, tenOClock+row.from) - tenOClock; got != row.want {
			t.Errorf("%s, from %d µs on: got %d µs, want %d", row.text, row.from, got, row.want)
		}
	}
	for _, text := range []string{"", "yesterday", "10", "24:00", "10:60", "-5m", "20000d", "2026-01-01", "2026-13-01T00:00:00Z"} {
		if m, err := scenarios.ParseMoment(text); err == nil || !strings.Contains(err.Error(), "want an instant such as") || m.Present() {
			t.Errorf("%q: got %q and %v", text, m, err)
		}
	}
}
