// Package limiter decides whether a request is within a rate limit, with the
// state in Redis, atomically, and with exact answers.
//
// Pick an Algorithm, say what to do when Redis cannot answer, and ask:
//
//	client, err := limiter.Dial("redis://localhost:6379")
//	...
//	l, err := limiter.New(client, limiter.Config{
//		Algorithm: limiter.Log,
//		Limit:     limiter.Limit{Max: 100, Window: time.Minute},
//		Policy:    "trending",
//		OnFailure: limiter.FailOpen,
//	})
//	...
//	d, err := l.Allow(ctx, limiter.Request{Key: pseudonym})
//
// A denial is a value and never an error; an error means "we do not know".
//
// # Time
//
// A trailing window is half open, (t-W, t]: a request exactly one window old
// has left. Time is a value: a Request without At is decided by the clock of
// the Redis server, one with At by that instant. Resolution is one microsecond.
//
// # When Redis cannot answer
//
// A decision takes Config.Timeout at most, whatever hangs. What Redis did not
// decide, Config.OnFailure does: FailOpen admits, FailClosed denies, FailLocal
// limits in this process with a budget of its own, FailError hands you the error.
// The Decision says so in Source, and why in Cause. A request is sent at most once:
// if no reply came, it may have been counted, and the cause wraps ErrUnknown.
//
// After five requests in a row without an answer the Circuit opens: the policy
// decides at once, and one request every 100 ms finds out whether Redis is back.
// Limiters of one client should share a Circuit, those of one program Counters,
// which an HTTP handler can write as OpenMetrics. docs/failure.md compares the
// policies.
//
// # What is promised
//
// Algorithm.Worst says the most that any trailing window can hold. Fixed and
// Counter can reach twice the limit, CounterStrict and GCRA one less, Log and LogPacked
// never exceed it. Callers that stamp requests themselves and disagree about the time
// weaken every promise.
package limiter
