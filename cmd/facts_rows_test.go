package cmd

import "slices"

// facts is the table of theory: L is the limit, W the window (100/1m unless set),
// e the share of a window that has passed. A line of want is exact unless it says
// a range.
var facts = slices.Concat(boundaryFacts, raceFacts, pollerFacts, floodFacts, retryFacts, identityFacts, clockFacts, changeFacts, troubleFacts, randomFacts)

// boundaryFacts: L at b before an edge and L at a after it admit 2L, L, L+ceil(L·a/W)
// and L+floor(L·(a+b)/W).
var boundaryFacts = []fact{
	{"1", "boundary-second", []string{
		"phases.before-edge.at=edge - 5s", "phases.before-edge.count=2*limit",
		"phases.after-edge.at=edge + 7s", "phases.after-edge.count=2*limit",
	}, []string{
		"fixed: sent=400 admitted=200 peak=200",
		"log: admitted=100 peak=100",
		"counter: admitted=112 peak=112",
		"gcra: admitted=120 peak=120",
	}, "ceil(700/60) = 12, floor(1200/60) = 20; what is sent beyond the limit changes nothing"},
	{"1a", "boundary-instant", nil, []string{
		"fixed: admitted=200 peak=200 short=200", "log: admitted=100 peak=100", "counter: admitted=100 peak=100", "gcra: admitted=101 peak=101",
	}, "a = 0; floor(100/60) = 1"},
	{"1b", "boundary-second", nil, []string{
		"fixed: admitted=200", "log: admitted=100", "counter: admitted=102", "gcra: admitted=103",
	}, "ceil(100/60) = 2, floor(200/60) = 3"},
	{"1c", "boundary-quarter", nil, []string{
		"fixed: admitted=200", "log: admitted=100", "counter: admitted=125", "gcra: admitted=125",
	}, "a quarter of 100 has faded, or come back"},
	{"1c", "boundary-half", nil, []string{
		"fixed: admitted=200", "log: admitted=100", "counter: admitted=150", "gcra: admitted=150",
	}, "half of 100"},
	{"1d", "counter-worst", []string{"limit=10/1m"}, []string{
		"fixed: peak=20", "log: peak=10", "counter: peak=20", "gcra: peak=19",
	}, "L·(1-e) is below 1, so the first burst weighs nothing; floor(10·54.000002/60) = 9"},
	{"1d", "counter-worst", nil, []string{
		"fixed: peak=200", "log: peak=100", "counter: peak=200", "gcra: peak=199",
	}, "floor(100·59.400002/60) = 99"},
	{"1d-large", "counter-worst", []string{"limit=1000/1m"}, []string{
		"fixed: peak=2000", "log: peak=1000", "counter: peak=2000", "gcra: peak=1999",
	}, "floor(1000·59.940002/60) = 999"},
	// One microsecond earlier e is 1-1/L and the first burst still weighs one.
	{"1.3-strict", "counter-worst", []string{"limit=10/1m", "phases.faded.at=edge + window - window/limit"}, []string{"counter: peak=19"}, "floor(10·0.1) = 1"},
	{"1.3-strict", "counter-worst", []string{"phases.faded.at=edge + window - window/limit"}, []string{"counter: peak=199"}, "floor(100·0.01) = 1"},
	{"1.3-strict", "counter-worst", []string{"limit=1000/1m", "phases.faded.at=edge + window - window/limit"}, []string{"counter: peak=1999"}, "floor(1000·0.001) = 1"},
	// The most in a span s: both bursts s apart, the first a microsecond before the edge.
	{"1.3-0s", "boundary-half", []string{"phases.half.at=edge + 1us"}, spans("101", "100"), "any e > 0 admits one; a bucket gets nothing back"},
	{"1.3-0.6s", "boundary-half", []string{"phases.half.at=edge + 600ms - 1us"}, spans("101", "101"), "100·0.6/60 = 1"},
	{"1.3-6s", "boundary-half", []string{"phases.half.at=edge + 6s - 1us"}, spans("110", "110"), "100·6/60 = 10"},
	{"1.3-15s", "boundary-half", []string{"phases.half.at=edge + 15s - 1us"}, spans("125", "125"), "100·15/60 = 25"},
	{"1.3-30s", "boundary-half", []string{"phases.half.at=edge + 30s - 1us"}, spans("150", "150"), "100·30/60 = 50"},
	{"1.3-45s", "boundary-half", []string{"phases.half.at=edge + 45s - 1us"}, spans("175", "175"), "100·45/60 = 75"},
	{"1.3-59.999s", "boundary-half", []string{"phases.half.at=edge + 59999ms - 1us"}, spans("200", "199"), "100·59.999/60 = 99.998, up and down"},
	// Ten sub-buckets of which the current one and nine before count.
	{"1.5", "counter-worst", nil, []string{"faulty:sub-buckets-forget-early: peak=200"}, "at 0.99 of the window the tenth before the edge is forgotten"},
	// floor(100·(1-e)) by a fraction is one too small at these e.
	{"18", "float-instant", nil, []string{"counter: admitted=190", "faulty:float-weight: admitted=191"}, "100 + 90"},
	{"1.7", "float-instant", []string{"phases.instant.at=edge + 20400ms"}, []string{"counter: admitted=134", "faulty:float-weight: admitted=135"}, "100 + 34"},
	{"1.7", "float-instant", []string{"phases.instant.at=edge + 33s"}, []string{"counter: admitted=155", "faulty:float-weight: admitted=156"}, "100 + 55"},
	{"1.7", "float-instant", []string{"phases.instant.at=edge + 54600ms"}, []string{"counter: admitted=191", "faulty:float-weight: admitted=192"}, "100 + 91"},
}

// spans are the rows of the table of spans: two and one budget, and what differs.
func spans(counter, gcra string) []string {
	return []string{"fixed: peak=200", "log: peak=100", "counter: peak=" + counter, "gcra: peak=" + gcra}
}

var raceFacts = []fact{
	{"2", "same-microsecond", nil, []string{
		"fixed: sent=1000 admitted=100", "log: admitted=100", "counter: admitted=100", "gcra: admitted=100",
	}, "L"},
	{"2a", "same-microsecond", nil, []string{"faulty:bare-timestamp-member: admitted=1000"}, "one member for all"},
	{"2a", "same-microsecond", []string{"limit=2/1m"}, []string{"faulty:bare-timestamp-member: admitted=20"}, "one member is below 2"},
	{"2a", "same-microsecond", []string{"limit=1/1m"}, []string{"faulty:bare-timestamp-member: admitted=1"}, "one member is not below 1"},
	{"2b", "spread-microseconds", nil, []string{
		"fixed: admitted=100", "log: admitted=100", "counter: admitted=100", "gcra: admitted=100",
		"faulty:bare-timestamp-member: admitted=1000",
	}, "20 members are below 100"},
	{"2b", "spread-microseconds", []string{"phases.race.for=150us", "phases.race.count=15*limit"}, []string{
		"faulty:bare-timestamp-member: admitted=991",
	}, "99 microseconds admit their ten, the hundredth its first"},
	// How many come in between is chance: more than L, N at most.
	{"2c", "same-microsecond", nil, []string{"faulty:get-then-set: admitted=101..1000", "faulty:count-then-add: admitted=101..1000"}, "up to N"},
	// At 0, W/2 and W: at W the first burst has left a log. Refused requests of the
	// second are still in the other one.
	{"2d", "same-microsecond", []string{"limit=10/1m", "phases.race.repeat={times: 3, every: window/2}"}, []string{
		"log: admitted=20 last=1m", "faulty:add-then-count: admitted=10 last=0s",
	}, "10 + 0 + 10, and 10 + 0 + 0"},
}

var pollerFacts = []fact{
	// Ten clients with r each at every edge. Window by window, by what a longer run adds.
	{"3-large", "herd", nil, herds("4000", "2000"), "100 in every window, or in every other one"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.repeat.times=1"}, herds("100", "100"), "a counter serves L"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.repeat.times=2"}, herds("200", "100"), "then 0"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.repeat.times=3"}, herds("300", "200"), "then L"},
	{"3", "herd", []string{"limit=10/1m"}, herds("400", "200"), "then 0"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.count=6", "phases.top-of-window.repeat.times=1"}, herds("60", "60"), "r = 6: a counter serves r"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.count=6", "phases.top-of-window.repeat.times=2"}, herds("120", "100"), "then L - r = 4"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.count=6", "phases.top-of-window.repeat.times=3"}, herds("180", "160"), "then r"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.count=6"}, herds("240", "200"), "then L - r"},
	{"3", "herd", []string{"limit=10/1m", "phases.top-of-window.count=3"}, herds("120", "120"), "r below L/2: r, as L - r is more"},

	// L in each of ten windows: a counter serves c(1) = L, c(j+1) = L - floor(c(j)·(1-e)).
	{"4-large", "cron", nil, polls("1000", "500"), "100 0 100 0 100 0 100 0 100 0"},
	{"4-large", "cron-second", nil, polls("1000", "510"), "100 2 99 3 98 4 97 5 96 6"},
	{"4-large", "cron-half", nil, polls("1000", "691"), "100 50 75 63 69 66 67 67 67 67"},
	{"4", "cron", []string{"limit=10/1m"}, polls("100", "50"), "10 0 10 0 10 0 10 0 10 0"},
	{"4", "cron-second", []string{"limit=10/1m"}, polls("100", "55"), "10 1 10 1 10 1 10 1 10 1"},
	{"4", "cron-half", []string{"limit=10/1m"}, polls("100", "71"), "10 5 8 6 7 7 7 7 7 7"},
	{"4a-large", "greedy-camper", nil, append(polls("1000", "505"), "fixed: sent=2000"), "100 1 100 1 100 1 100 1 100 1"},
	{"4a", "greedy-camper", []string{"limit=10/1m"}, polls("100", "55"), "10 1 10 1 10 1 10 1 10 1"},

	// The same by the phase of the poll: ten windows, and twenty that are settled.
	{"1.4-0.1", "cron-half", []string{"phases.poll.at=edge + window/10"}, []string{"counter: admitted=545"}, "100 10 91 19 83 26 77 31 73 35"},
	{"1.4-0.25", "cron-half", []string{"phases.poll.at=edge + window/4"}, []string{"counter: admitted=597"}, "100 25 82 39 71 47 65 52 61 55"},
	{"1.4-0.75", "cron-half", []string{"phases.poll.at=edge + 3*window/4"}, []string{"counter: admitted=817"}, "100 75 82 80 80 80 80 80 80 80"},
	{"1.4-0.9", "cron-half", []string{"phases.poll.at=edge + 9*window/10"}, []string{"counter: admitted=918"}, "100 90 91 91 91 91 91 91 91 91"},
	{"1.4-0.1", "cron-half", []string{"limit=10/1m", "phases.poll.at=edge + window/10"}, []string{"counter: admitted=55"}, "10 1 10 1 10 1 10 1 10 1"},
	{"1.4-0.25", "cron-half", []string{"limit=10/1m", "phases.poll.at=edge + window/4"}, []string{"counter: admitted=61"}, "10 3 8 4 7 5 7 5 7 5"},
	{"1.4-0.75", "cron-half", []string{"limit=10/1m", "phases.poll.at=edge + 3*window/4"}, []string{"counter: admitted=82"}, "10 8 8 8 8 8 8 8 8 8"},
	{"1.4-0.9", "cron-half", []string{"limit=10/1m", "phases.poll.at=edge + 9*window/10"}, []string{"counter: admitted=95"}, "10 9 10 9 10 9 10 9 10 9"},
	settled("", "0s", "10", "1000", "100 and 0"),
	settled("-large", "window/60", "100", "1010", "50 and 51: 100 - floor(50.15), 100 - floor(49.17)"),
	settled("-large", "window/10", "40", "1060", "55 and 51: 100 - floor(45.9), 100 - floor(49.5)"),
	settled("-large", "window/4", "20", "1150", "58 and 57: 100 - floor(42.75), 100 - floor(43.5)"),
	settled("", "window/2", "10", "1340", "67: 100 - floor(33.5)"),
	settled("", "3*window/4", "10", "1600", "80: 100 - 20"),
	settled("", "9*window/10", "10", "1820", "91: 100 - floor(9.1)"),

	{"5", "drip", nil, polls("500", "500"), "off the grid of edges everybody serves all"},
	{"5", "drip", []string{"limit=10/1m"}, polls("50", "50"), "off the grid of edges everybody serves all"},
	{"5", "drip-on-grid", nil, polls("500", "498"), "100 99 100 99 100: at an edge 100 weigh 100, and 99 do not"},
	{"5", "drip-on-grid", []string{"limit=10/1m"}, polls("50", "48"), "10 9 10 9 10"},
}

// herds are what a herd of ten is served in all.
func herds(all, counter string) []string {
	return []string{"fixed: admitted=" + all, "log: admitted=" + all, "counter: admitted=" + counter, "gcra: admitted=" + all}
}

// polls are what a client within its limit is served: all of it but by a counter.
func polls(all, counter string) []string { return herds(all, counter) }

// settled is what a counter serves in twenty windows after so many others.
func settled(size, e, after, admitted, from string) fact {
	return fact{
		row: "1.4-settled" + size, scenario: "cron-settled",
		set: []string{
			"phases.settle.repeat.times=" + after,
			"phases.settle.at=edge + " + e, "phases.poll.at=edge + " + after + "*window + " + e,
		},
		want: []string{"counter: admitted@poll=" + admitted}, from: from,
	}
}

var floodFacts = []fact{
	{"6-large", "saturate", nil, []string{
		"fixed: sent=10000 admitted=1000 peak=100", "log: admitted=1000 peak=100", "counter: admitted=1000 peak=100", "gcra: admitted=1099 peak=199",
	}, "10·L; a bucket starts full: L + floor(L·599.94/60)"},
	{"6a", "alternate-bursts", nil, []string{
		"fixed: admitted=400 peak=200", "log: admitted=200", "counter: admitted=400 peak=200", "gcra: admitted=398",
	}, "a bucket lacks one unit at each second burst"},
	{"9-large", "hot-key", nil, []string{"fixed: peak=100", "log: peak=100", "counter: peak=100"}, "L, all in one window"},
	{"9-large", "hot-key", []string{"keys.count=1"}, []string{
		"fixed: sent=2000 admitted=100", "log: admitted=100", "counter: admitted=100", "gcra: admitted=199",
	}, "L; 99 units come back in 59.4 s, and a request takes each"},
	{"9", "hot-key", []string{"limit=10/1m", "keys.count=1"}, []string{
		"fixed: sent=200 admitted=10", "log: admitted=10", "counter: admitted=10", "gcra: admitted=19",
	}, "L; 9 units come back in 54 s, and a request takes each"},
	// Counting denied requests too blocks whoever stays above the limit.
	{"1.6-all-large", "steady", []string{"phases.steady.for=10*window", "phases.steady.rate=1.2*limit/window"}, []string{
		"fixed: sent=1200 admitted=1000", "log: admitted=1000", "counter: admitted=1000", "gcra: admitted=1099",
		"faulty:log-keeps-denied: admitted=100", "faulty:counter-charges-denied: admitted=100",
	}, "L in each of ten windows, or in the first only"},
	{"1.6-all", "steady", []string{"limit=10/1m", "phases.steady.for=10*window", "phases.steady.rate=1.2*limit/window"}, []string{
		"fixed: sent=120 admitted=100", "log: admitted=100", "counter: admitted=100", "gcra: admitted=109",
		"faulty:log-keeps-denied: admitted=10", "faulty:counter-charges-denied: admitted=10",
	}, "the same for 10; a bucket lasts for five windows, then 10 come back in each: 10 + floor(595/6)"},
	{"1.6-all-large", "steady", []string{"phases.steady.for=10*window", "phases.steady.rate=2*limit/window"}, []string{
		"log: admitted=1000", "counter: admitted=1000", "faulty:log-keeps-denied: admitted=100", "faulty:counter-charges-denied: admitted=100",
	}, "the same"},
}

// retryFacts: 150 wanted at an edge. Denied: 50, of which j seconds later a counter
// (from the next edge on) serves ceil(5j/3) in all and a bucket floor(5j/3).
var retryFacts = []fact{
	{"7-large", "retry-storm-ignore", nil, []string{
		"fixed: wanted=150 admitted=150 sent=3150 last=60s",
		"log: admitted=150 sent=3150 last=60s",
		"counter: admitted=150 sent=3915 last=90s",
		"gcra: admitted=150 sent=935 last=30s",
	}, "150 + 60·50; 3150 + Σ(50 - ceil(5j/3)) = 1500 - 735; 150 + 1500 - 715, j from 0 to 29"},
	{"7a", "retry-storm-constant", nil, []string{
		"fixed: admitted=150 sent=152 last=60s", "log: admitted=150 sent=152 last=60s",
		"counter: admitted=150 sent=153 last=90s", "gcra: admitted=150 sent=151 last=30s",
	}, "a denial at 0 and each 30 s before the last"},
	{"7b", "retry-storm-obey", nil, []string{
		"fixed: admitted=150 sent=151 last=60s", "log: admitted=150 sent=151 last=60s",
		"counter: admitted=150 sent=180 last=90s", "gcra: admitted=150 sent=180 last=30s",
	}, "a denial at 0, and one in each of 29 seconds in which something came back, but not all"},
	// Everybody is told the same wait: all come back in one instant.
	{"8", "synchronised-retry", []string{
		"limit=10/1m", "phases.stampede.count=limit + 3", "phases.stampede.retry={mode: ignore, wait: window, within: 3*window}",
	}, []string{
		"fixed: crowd@stampede.retry=120 admitted=520 sent=640 last=60s", "log: crowd@stampede.retry=120 admitted=520 sent=640 last=60s",
		"counter: crowd@stampede.retry=120 admitted=520 sent=760 last=120s", "gcra: crowd@stampede.retry=120 admitted=520 sent=640 last=60s",
	}, "40·3; at the next edge a counter still weighs all of L"},
	// 40 instants, even over 30 s, seen through 2 s: a mean of 40/15. Some stretch
	// has 3, and 13 in any of 40 have a chance below 40·C(39,12)/15^12 = 0.0012.
	{"8", "synchronised-retry-jitter", []string{"limit=10/1m"}, []string{"fixed: crowd@stampede.retry=3..12"}, "M·Δ/J = 2.7"},
}

var identityFacts = []fact{
	{"10-large", "key-explosion", nil, []string{
		"fixed: admitted=2000 keys=2000", "log: admitted=2000 keys=2000", "counter: admitted=2000 keys=2000", "gcra: admitted=2000 keys=2000",
	}, "nobody reaches a limit"},
	// Five requests of each, 12 s apart, and a unit of a bucket comes back in 30 s:
	// it serves those at 0, 12 and 36 s.
	{"10", "key-explosion", []string{"limit=2/1m", "keys.count=100", "phases.walk.count=500"}, []string{
		"fixed: admitted=200", "log: admitted=200", "counter: admitted=200", "gcra: admitted=300",
	}, "the sum of min(5, 2)"},
	{"10a", "key-explosion", []string{"keys.count=1", "phases.walk.count=400"}, []string{
		"fixed: admitted=100 keys=1", "log: admitted=100", "counter: admitted=100", "gcra: admitted=199",
	}, "as one key L; floor(59.85/0.6) = 99 come back"},
	{"13", "day-rollover", nil, []string{
		"fixed: admitted=200 short=200", "log: admitted=200 short=200", "counter: admitted=200 short=200", "gcra: admitted=200 short=200",
	}, "two budgets at once"},
	{"13", "day-rollover-inside", []string{
		"phases.old-pseudonym.at=edge - 1us", "phases.new-pseudonym.at=edge", "phases.next-window.at=edge + window - 2us",
	}, []string{
		"fixed: peak=200", "log: peak=200", "counter: peak=200", "gcra: peak=299",
	}, "the new name's window is full; its bucket got back floor(100·59.999998/60)"},
	// The limiter is told the old name too, for as long as it matters.
	{"13", "midnight-rotation", nil, []string{
		"fixed: peak=200 short=200", "log: peak=100", "counter: peak=101", "gcra: peak=100",
		"faulty:forgets-on-rotation: peak=200 short=200",
	}, "as at any edge: 2L, L, L + 1, L; who is not told has two budgets at once"},
	{"13a", "midnight-rotation-inside", nil, []string{
		"fixed: peak=200", "log: peak=100", "counter: peak=100", "gcra: peak=110",
	}, "no third budget; floor(100·6/60) = 10 come back"},
	{"13a", "day-rollover-inside", nil, []string{"fixed: peak=300", "log: peak=200"}, "a third budget at the next edge"},
	{"13a", "day-rollover-inside", []string{
		"phases.old-pseudonym.at=edge - 2us", "phases.new-pseudonym.at=edge - 1us",
		"phases.next-window.at=edge + window - window/limit + 1us",
	}, []string{
		"fixed: peak=300", "log: peak=200", "counter: peak=300", "gcra: peak=299",
	}, "a third budget as soon as the new name's has faded, as in counter-worst"},
}

// clockFacts: server B is ahead of A by d. The scripts of people keep a count for
// each window and look at none ahead; the bundled ones never go back.
var clockFacts = []fact{
	{"11", "clock-ahead", []string{
		"phases.ahead.skew=5s", "phases.ahead-again.skew=5s", "phases.ahead-again.at=edge + window - 5s",
	}, []string{
		"fixed: peak=300 short=200", "article-fixed: peak=300 short=200",
		"log: peak=200", "article-log: peak=200",
		"counter: admitted@ahead=9 peak=200", "article-counter: admitted@ahead=9 peak=200",
		"gcra: admitted@ahead=8 short=108",
	}, "three windows; W-d later A's entries look old; ceil(500/60) = 9, then 91; floor(500/60) = 8"},
	// Newest window first, and a third time where a trailing window ends, which is
	// e = d/W for B: 2L + ceil(L·d/W). In ours the count of B's window holds A too.
	{"11", "clock-behind", newestFirst("5s"), []string{
		"article-counter: short=200 peak=209", "counter: admitted@on-time=0 peak=109",
		"article-fixed: short=200 peak=300", "fixed: admitted@on-time=0 peak=200",
		"article-log: peak=100", "log: peak=100",
	}, "200 + ceil(500/60), 100 + 9"},
	{"11", "clock-behind", newestFirst("30s"), []string{"article-counter: peak=250", "counter: peak=150"}, "200 + 50, 100 + 50"},
	{"11", "clock-behind", append(newestFirst("5s"), "limit=10/1m"), []string{"article-counter: peak=21", "counter: peak=11"}, "20 + ceil(50/60)"},
	{"11a", "clock-ladder", nil, []string{"log: admitted=65 peak=65", "article-log: admitted=65 peak=65"}, "10 + 9 + ... + 1, and 10 wipes"},
	{"11a-large", "clock-ladder", []string{"limit=100/1m"}, []string{"log: admitted=5150", "article-log: admitted=5150"}, "100·103/2"},
	// More than a window apart: A sees windows k and k+1, B k+2 and k+3.
	{"11a", "clocks-apart", nil, []string{
		"article-fixed: short=200 peak=400", "fixed: peak=200",
		// 2L at once, L when k has faded in k+1, and ceil(100·5/60) = 9 in k+3.
		"article-counter: short=200 peak=309", "counter: peak=109",
	}, "L in each window; in ours only in k+2 and k+3"},
	{"11a", "clocks-apart", []string{"phases.ahead.at=edge + 1us", "phases.on-time-again.at=edge"}, []string{
		"article-fixed: peak=400", "fixed: peak=400",
	}, "in the order of windows ours serves each of them too"},
}

func newestFirst(d string) []string {
	return []string{"phases.ahead.skew=" + d, "phases.ahead-again.skew=" + d, "phases.ahead-again.at=edge + window - 3us"}
}

var changeFacts = []fact{
	// A counter needs floor(100·(1-e)) <= 9 in the window after: e > 0.9, 54.1 s on
	// the grid of 0.1 s. A bucket owes 30 s at 30 s, half of what it may.
	{"14", "limit-cut", nil, []string{
		"fixed: first@after-cut=60s", "log: first@after-cut=60s", "counter: first@after-cut=114.1s", "gcra: first@after-cut=30s",
	}, "W, W, W + 0.9·W and the next request, at once"},
	{"14-large", "limit-cut", []string{"phases.after-cut.for=150s"}, []string{
		"fixed: admitted@after-cut=20", "log: admitted@after-cut=20", "counter: admitted@after-cut=20", "gcra: admitted@after-cut=29",
	}, "10 in each of two windows; floor(179.9/6)"},
	{"14a", "limit-raise", nil, []string{
		"fixed: admitted@raised=90", "log: admitted@raised=90", "counter: admitted@raised=90", "gcra: admitted@raised=50",
	}, "100 - 10; a bucket owes 30 s of 60"},
	{"15", "boundary-burst", nil, []string{"faulty:ttl-never-healed: failed@heal=1", "fixed: failed@heal=0"}, "a key that lost its time to live stays"},
}

// troubleFacts: R requests a second while Redis is away for D seconds, and state that
// is lost where it hurts most.
var troubleFacts = []fact{
	{"12", "redis-outage-open", nil, alike("admitted@away=1000 open@away=1000 open=1000 errored=0"), "R·D are admitted"},
	{"12", "redis-outage-closed", nil, alike("admitted@away=0 closed@away=1000 closed=1000 errored=0"), "none is"},
	{"12", "redis-outage", nil, alike("admitted@away=0 errored@away=1000 errored=1000 unknown=0 admitted@back=100"), "nobody decides, and then all is forgotten"},
	{"12a", "redis-restart", nil, []string{
		"fixed: peak=300", "log: peak=200", "counter: peak=200", "gcra: peak=200",
	}, "L in one window, L in the next, L after the loss; L and L where the edge gives nothing"},
	{"12a", "redis-restart-late", nil, []string{
		"fixed: peak=300", "log: peak=200", "counter: peak=300", "gcra: peak=299",
	}, "2L, L, 2L and 2L - 1 as in counter-worst, and L after the loss"},
	{"12a", "redis-restart", []string{
		"phases.+={name: once-more, at: edge + 2us, shape: burst, count: limit}", "faults.+={at: once-more, kind: restart}",
	}, []string{
		"fixed: peak=400", "log: peak=300", "counter: peak=300", "gcra: peak=300",
	}, "each loss gives one more"},
	{"12b", "failover", nil, []string{
		"fixed: admitted=125", "log: admitted=125", "counter: admitted=125", "gcra: admitted=129",
	}, "L + 25; a bucket gets back floor(2.99/0.6)"},
	{"12b", "failover", []string{"phases.replicated.count=0", "phases.lost.count=3*limit"}, []string{
		"fixed: admitted@lost=100 admitted@after=100", "log: admitted@lost=100 admitted@after=100", "counter: admitted@lost=100 admitted@after=100",
	}, "L + min(L, 3L)"},
	// Sent once, and up to three times more.
	{"12c", "lost-reply", []string{"phases.lossy.count=24", "faults.0.every=1"}, []string{
		"fixed: unknown@lossy=24 admitted@after=76", "faulty:client-retries: unknown@lossy=24 admitted@after=4",
	}, "100 - 24, 100 - 4·24"},
	{"16", "script-flush", nil, []string{
		"fixed: errored=0 admitted=100", "log: errored=0 admitted=100", "counter: errored=0 admitted=100", "gcra: errored=0 admitted=104",
		"faulty:noscript-unhandled: errored@before=0 errored@after=100 errored@again=100",
	}, "the script is sent again, or every request fails"},
	{"17", "oom", nil, []string{
		"fixed: errored@full=100 admitted@after=50", "log: errored@full=100 admitted@after=50", "counter: errored@full=100 admitted@after=50", "gcra: errored@full=100 admitted@after=54",
	}, "whose first write is refused counts nothing; floor(2.99/0.6) come back"},
}

// alike wants the same of every algorithm.
func alike(want string) []string {
	return []string{"fixed: " + want, "log: " + want, "counter: " + want, "gcra: " + want}
}

// randomFacts: Poisson traffic at ρ·L a window. The share that a fixed window admits
// is E[min(X, L)]/(ρ·L), X Poisson: at ρ = 1 1 - E[(X-100)⁺]/100 = 1 - 3.99/100. Over
// n windows its deviation is 0.055/√n, from the variance of min(X, L) - 0.96·X,
// which is about 30; the others' is at most 0.071/√n, by simulation. Four of them.
var randomFacts = []fact{
	{"1.6-large", "steady", []string{"phases.steady.shape=poisson", "phases.steady.for=100*window", "phases.steady.rate=limit/window"}, []string{
		"fixed: permille=937..982", "log: permille=895..953 peak=100", "counter: permille=911..969", "gcra: permille=967..1000",
	}, ".960, .924, .940, .996 within four deviations"},
	{"1.6-large", "poisson", nil, []string{
		"fixed: denied@half=0 admitted@double=1000", "log: denied@half=0 admitted@double=970..1000",
		"counter: denied@half=0 admitted@double=970..1000", "gcra: denied@half=0 admitted@double=1095..1099",
	}, "100 are five deviations of √50 above 50, and ten of √200 below 200; a bucket gives L + L·t/W up to the last request"},
}
