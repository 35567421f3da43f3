package report

// comparedMetric is a figure of a row that two reports are compared by.
type comparedMetric struct {
	name, unit, better string
	kind               metricKind
	of                 func(*Row) value
}

// metricKind is how a figure is compared.
type metricKind int

const (
	exactCount  metricKind = iota // exactly, where the old one does not vary
	exactCost                     // exactly where neither varies, down to the least effect
	sampledTime                   // as samples
)

// comparedMetrics are those that say something: of an emulator no times do.
func comparedMetrics(r *Report) []comparedMetric {
	if r.Env.Redis.Flavour == "embedded" {
		return comparedCounts
	}
	return append(comparedCounts[:len(comparedCounts):len(comparedCounts)], comparedTimes...)
}

var comparedCounts = []comparedMetric{
	{"admitted", "", "", exactCount, func(r *Row) value { return count(r.Admitted) }},
	{"peak in a window", "", "lower", exactCount, func(r *Row) value { return count(r.PeakInWindow) }},
	{"wrong admissions", "", "lower", exactCount, func(r *Row) value { return count(r.Wrong.Admissions) }},
	{"wrong denials", "", "lower", exactCount, func(r *Row) value { return count(r.Wrong.Denials) }},
	{"errors", "", "lower", exactCount, func(r *Row) value { return count(r.Errored + r.Unknown) }},
	{"not sent", "", "lower", exactCount, func(r *Row) value { return count(r.Missed) }},
	{"promise kept", "", "higher", exactCount, within(func(r *Row) *Promise { return r.Promise }, func(p *Promise) value { return yes(p.Kept) })},
	{"memory of an identity", "bytes", "lower", exactCost, within(redisOf, func(c *Cost) value { return maybe(c.BytesPerIdentity) })},
	{"commands of a decision", "", "lower", exactCost, within(redisOf, func(c *Cost) value { return maybe(c.CommandsPerDecision) })},
}

var comparedTimes = []comparedMetric{
	{"service p50", "us", "lower", sampledTime, ofService(func(l *Latency) *int64 { return l.P50 })},
	{"service p99", "us", "lower", sampledTime, ofService(func(l *Latency) *int64 { return l.P99 })},
	{"response p99", "us", "lower", sampledTime, within(func(r *Row) *Outcomes { return r.ResponseUS }, func(o *Outcomes) value { return quantileOf(o.All, func(l *Latency) *int64 { return l.P99 }) })},
	{"script time", "us", "lower", sampledTime, within(redisOf, func(c *Cost) value { return maybe(c.ScriptUSPerDecision) })},
	{"capacity", "1/s", "higher", sampledTime, within(func(r *Row) *Capacity { return r.Capacity }, func(c *Capacity) value { return count(c.PerSecond) })},
}

func ofService(of func(*Latency) *int64) func(*Row) value {
	return func(r *Row) value { return quantileOf(r.ServiceUS.All, of) }
}

func quantileOf(l *Latency, of func(*Latency) *int64) value {
	if l == nil {
		return value{}
	}
	return maybe(of(l))
}
