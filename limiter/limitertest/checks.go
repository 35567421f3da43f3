package limitertest

import (
	"context"
	"slices"
)

// Check is one thing that every limiter must do.
type Check struct {
	// Name is the subtest's.
	Name string
	// Doc is one sentence that holds for a right limiter.
	Doc string

	run func(context.Context, *subject) error
}

// checks is the table of all checks, in the order in which they run. To add one,
// add its row, and a faulty specimen that only it may catch in kit_test.go.
var checks = []Check{
	{"vectors", "Every hand-written vector gets its answer.", checkVectors},
	{"model", "Random histories get the answers of the algorithm's Model.", checkModel},
	{"retry", "Waiting for RetryAfter admits, one microsecond less denies.", checkRetry},
	{"burst", "A burst of one instant admits the limit exactly, from any number of processes.", checkBurst},
	{"denial", "A denial changes no state.", checkDenial},
	{"peek", "Peek answers as Allow would, and writes nothing.", checkPeek},
	{"reset", "Reset forgets one key and no other.", checkReset},
	{"ttl", "Every key expires: not before its state is worthless, and within Algorithm.TTL.", checkTTL},
	{"heal", "A key that lost its time to live gets one with the next call.", checkHeal},
	{"sizes", "Extreme limits, windows and costs are computed exactly or refused.", checkSizes},
	{"requests", "Impossible requests are errors, and are not sent.", checkRequests},
	{"identities", "Any two identities are independent, whatever bytes they have.", checkIdentities},
	{"policies", "Two policies share nothing.", checkPolicies},
	{"flush", "SCRIPT FLUSH costs no request.", checkFlush},
	{"cancel", "A cancelled context is an error at once, and nothing is counted.", checkCancel},
	{"deadline", "A reply that does not come ends at the context's deadline, fate unknown.", checkDeadline},
	{"lost-reply", "A request whose reply is lost is not sent again, fate unknown.", checkLostReply},
	{"keys", "An identity has the keys that it names, in one slot, and no others.", checkKeys},
}

// Checks lists what Run checks.
func Checks() []Check { return slices.Clone(checks) }

func isCheck(name string) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.Name == name })
}
