package tuning

import (
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
)

// Entries are the sizes of a log that are measured: around the edge of the small encoding
// of a sorted set, and some below and above.
var Entries = []int64{1, 10, 32, 64, 100, 128, 129, 256, 1000}

// builtInServer is where the built-in figures were measured. BENCHMARKS.md has the command.
var builtInServer = report.Redis{Flavour: "managed", Server: "redis", Version: "7.0.15"}

// builtIn are figures of builtInServer: bytes of a key are exact and the same everywhere,
// microseconds of a script are of one machine.
var builtIn = []struct {
	algorithm limiter.Algorithm
	scriptUS  float64
	bytes     []int64 // for Entries; one alone if it does not grow
}{
	{limiter.Fixed, 17.5, []int64{120}},
	{limiter.Log, 27.6, []int64{136, 328, 872, 1640, 2664, 3176, 16056, 26896, 103184}},
	{limiter.LogPacked, 31.1, []int64{136, 152, 232, 328, 424, 552, 552, 1000, 3176}},
	{limiter.Counter, 15.6, []int64{136}},
	{limiter.CounterStrict, 14.5, []int64{136}},
	{limiter.GCRA, 13.2, []int64{136}},
}

// BuiltIn are the figures that come with rlbench, and of which server they are.
func BuiltIn() (report.Redis, []report.MeasuredKey) {
	var all []report.MeasuredKey
	for _, b := range builtIn {
		for i, bytes := range b.bytes {
			all = append(all, report.MeasuredKey{Algorithm: b.algorithm.Name, Entries: Entries[i], Bytes: bytes, ScriptUS: b.scriptUS})
		}
	}
	return builtInServer, all
}
