package report

import (
	_ "embed"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// TuningSchema names the version of the document of a tuning.
const TuningSchema = "rlbench.tuning/v1"

// TuningJSONSchema is the JSON Schema of a tuning. It is generated from the types in this
// package by "go test ./report -update".
//
//go:embed tuning_schema.json
var TuningJSONSchema []byte

// Tuning is what policies would do to the traffic of an access log. Clients are counted and
// never named. Shares are from 0 to 1; what was not measured is absent.
type Tuning struct {
	Schema      string             `json:"schema" jsonschema:"enum=rlbench.tuning/v1"`
	Verdict     scenarios.Verdict  `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"` // inconclusive: too little to recommend anything
	Interrupted bool               `json:"interrupted"`
	Reasons     []scenarios.Reason `json:"reasons"`
	Command     []string           `json:"command"`
	Started     time.Time          `json:"started"`
	ElapsedUS   int64              `json:"elapsed_us"`
	Env         Env                `json:"env"`

	Log      TunedLog `json:"log"`
	Asked    Asked    `json:"asked"`
	Heavy    Heavy    `json:"heavy"`
	Demands  []Demand `json:"demands"`  // of each window and key
	Routes   []Route  `json:"routes"`   // the busiest, and the others together as ""
	Policies []Policy `json:"policies"` // of each algorithm, window, key and limit
	// Recommended and RunnerUp are the best of one algorithm and the best of another;
	// absent if nothing is.
	Recommended *Choice `json:"recommended,omitempty"`
	RunnerUp    *Choice `json:"runner_up,omitempty"`
	// Rest are the best of each other algorithm.
	Rest []Choice `json:"rest"`
	// Riskiest is the window in which one client asked for most.
	Riskiest *Riskiest `json:"riskiest,omitempty"`
	Memory   Memory    `json:"memory"`
}

// TunedLog is what was read.
type TunedLog struct {
	Files    int       `json:"files"`
	Format   string    `json:"format"`
	Lines    int64     `json:"lines"` // without empty ones
	Bytes    int64     `json:"bytes"` // as they are on disk
	Bad      int64     `json:"bad"`   // lines that are not of the format
	Late     int64     `json:"late"`  // lines too far from their place in time
	Requests int64     `json:"requests"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"` // the last arrival
	Clients  int64     `json:"clients"`
	Networks int64     `json:"networks"`
	Routes   int64     `json:"routes"`
	// WholeSeconds is that nobody knows when within a second a request came.
	WholeSeconds bool `json:"whole_seconds"`
	// Arrivals is that stamps are of arrivals, and not of when a response was complete.
	Arrivals bool  `json:"arrivals"`
	Limited  int64 `json:"limited"` // answered with 429: a limiter was at work already
	// GapUS is the longest time without a request, from GapFrom on.
	GapUS   int64     `json:"gap_us"`
	GapFrom time.Time `json:"gap_from"`
	// Examples are the first bad lines.
	Examples []BadLine `json:"examples"`
}

// BadLine is a line that could not be read. What is in it is not told.
type BadLine struct {
	File string `json:"file"`
	Line int64  `json:"line"` // from 1 on
	Why  string `json:"why"`
}

// Asked is what was to be found out.
type Asked struct {
	Untouched   float64  `json:"untouched"`    // share of ordinary clients that nothing is to be refused
	MemoryBytes int64    `json:"memory_bytes"` // what the state may take of a Redis
	Algorithms  []string `json:"algorithms"`
	WindowsUS   []int64  `json:"windows_us"`
	Keys        []string `json:"keys" jsonschema:"enum=ip,enum=ip+route,enum=prefix"`
	Limits      []int64  `json:"limits"`
	// Spreads say where within a second requests may have come: one where that is known.
	// The first is what figures are of, and the others what they are at least and at most.
	Spreads []string `json:"spreads"`
}

// Heavy are the clients that ask for far more than others: a peak of more than Above in a
// window of WindowUS, which is the one that tells them best, or the first if it was stated what
// is heavy.
type Heavy struct {
	Above    int64 `json:"above"`
	WindowUS int64 `json:"window_us"`
	// Gap is how many times more the least of them asks for than the most of the others;
	// 0 if it was stated what is heavy, or there is no such gap.
	Gap      float64 `json:"gap,omitempty"`
	Stated   bool    `json:"stated,omitempty"`
	Clients  int64   `json:"clients"`
	Requests int64   `json:"requests"`
}

// Demand is what clients ask for at most, if nothing is refused: the peak of a client in
// any trailing window, and in any second, of the busiest key that it has.
type Demand struct {
	WindowUS int64     `json:"window_us"`
	Key      string    `json:"key" jsonschema:"enum=ip,enum=ip+route,enum=prefix"`
	InWindow Quantiles `json:"in_window"`
	InSecond Quantiles `json:"in_second"`
	Ordinary Quantiles `json:"ordinary"` // in a window, without heavy clients
	// Curve is how many clients ask for at most so many in a window: all, and those that
	// are not heavy. It is thinned out.
	Curve []DemandPoint `json:"curve"`
}

// Quantiles are of a count over clients: the least that so many percent do not exceed.
type Quantiles struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// DemandPoint is that so many clients ask for at most Peak.
type DemandPoint struct {
	Peak     int64 `json:"peak"`
	Clients  int64 `json:"clients"`
	Ordinary int64 `json:"ordinary"`
}

// Route is what is asked of one route, with a budget of each client on it alone, in the
// first of the windows.
type Route struct {
	Route    string    `json:"route"`
	Requests int64     `json:"requests"`
	Clients  int64     `json:"clients"`
	Demand   Quantiles `json:"demand"`
	// Limit is the least that leaves the share of its ordinary clients untouched, in a
	// log, or 0 if there is none; and Refused what it would refuse.
	Limit   int64 `json:"limit"`
	Refused int64 `json:"refused"`
}

// Policy is what one policy would have done.
type Policy struct {
	Algorithm string `json:"algorithm"`
	WindowUS  int64  `json:"window_us"`
	Limit     int64  `json:"limit"`
	Key       string `json:"key" jsonschema:"enum=ip,enum=ip+route,enum=prefix"`

	Requests        int64 `json:"requests"`
	Refused         int64 `json:"refused"`
	RefusedOrdinary int64 `json:"refused_ordinary"` // of clients that are not heavy
	// Touched are clients that something was refused.
	TouchedOrdinary int64 `json:"touched_ordinary"`
	TouchedHeavy    int64 `json:"touched_heavy"`
	// PeakInWindow and PeakInSecond are the most that was admitted to one key.
	PeakInWindow int64     `json:"peak_in_window"`
	PeakInSecond int64     `json:"peak_in_second"`
	PeakAt       time.Time `json:"peak_at"`
	Wrong        Wrong     `json:"wrong"`
	Differ       int64     `json:"differ"`   // decisions that a log makes otherwise
	Repeated     int64     `json:"repeated"` // denials right after a denial of the same key
	// Keys are the most that Redis would have held at once, and Bytes what they take.
	Keys  int64 `json:"keys"`
	Bytes int64 `json:"bytes"`
	// ServerShare is how much of a processor the scripts take of Redis in the busiest
	// second.
	ServerShare float64 `json:"server_share"`
	// Least and Most are over all placements within a second; absent where it is known
	// when requests came.
	Least *Placement `json:"least,omitempty"`
	Most  *Placement `json:"most,omitempty"`
}

// Placement are figures that depend on where within a second requests came.
type Placement struct {
	Refused         int64 `json:"refused"`
	TouchedOrdinary int64 `json:"touched_ordinary"`
	PeakInWindow    int64 `json:"peak_in_window"`
	PeakInSecond    int64 `json:"peak_in_second"`
}

// Choice is a policy, what speaks for it or against it, and what it costs, as sentences.
type Choice struct {
	Policy Policy `json:"policy"`
	Why    string `json:"why,omitempty"`
	// Against is why it is not to be recommended; then there is no Why.
	Against string `json:"against,omitempty"`
	Price   string `json:"price"`
}

// Riskiest is a window of the log, and what each policy that was chosen lets through in it
// of the client that asks for most.
type Riskiest struct {
	From     time.Time `json:"from"` // the first bin
	BinUS    int64     `json:"bin_us"`
	WindowUS int64     `json:"window_us"`
	Requests int64     `json:"requests"` // of all clients
	Wanted   []int64   `json:"wanted"`   // by the busiest client, in each bin
	Courses  []Course  `json:"courses"`
}

// Course is what one policy admits in each bin.
type Course struct {
	Algorithm string  `json:"algorithm"`
	Limit     int64   `json:"limit"`
	Admitted  []int64 `json:"admitted"`
	// InWindow is the most in the trailing window of any instant of the bin.
	InWindow []int64 `json:"in_window"`
}

// Memory says where the projection of memory and work comes from.
type Memory struct {
	// Redis is the server that was measured; the figures that rlbench has built in are of
	// another machine.
	Redis    Redis         `json:"redis"`
	BuiltIn  bool          `json:"built_in"`
	Measured []MeasuredKey `json:"measured"`
	// CheapUntil is the limit up to which a log is in the small encoding, and Costs how
	// many times more a log takes than a counter there and just above.
	CheapUntil int64   `json:"cheap_until"`
	Below      float64 `json:"log_to_counter_below"`
	Above      float64 `json:"log_to_counter_above"`
}

// MeasuredKey is what one identity takes of Redis with so many entries, and how long a
// decision of it takes.
type MeasuredKey struct {
	Algorithm string  `json:"algorithm"`
	Entries   int64   `json:"entries"`
	Bytes     int64   `json:"bytes"`
	ScriptUS  float64 `json:"script_us"`
}
