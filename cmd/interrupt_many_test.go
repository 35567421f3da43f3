package cmd

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rlbench/rlbench/report"
)

// queue is a scenario that takes seconds, and others that wait behind it. Their
// checks on what was sent are about traffic that never was.
var queue = []string{
	"run", "steady", "retry-storm-constant", "saturate", "--clock", "client", "--limit", "100/2s", "-a", "fixed,log",
}

// Whoever had no turn when the interrupt came is not accused, and takes no table.
func TestInterruptAccusesNobody(t *testing.T) {
	t.Parallel()
	out, errs, code := interruptedWhen(t, hasKeys, append(queue, "-o", "json")...)
	if code != exitInterrupt || !strings.HasSuffix(lastLine(errs), "verdict=inconclusive exit=130") {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	r, err := report.Decode([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Verdict == "fail" && !f.Warn {
			t.Errorf("accused: %+v", f)
		}
	}
	out, _, _ = interruptedWhen(t, hasKeys, queue...)
	if !strings.Contains(out, "not run: retry-storm-constant, saturate") || strings.Contains(out, "saturate  limit") || strings.Count(out, "interrupted: ") != 1 {
		t.Errorf("printed\n%s", out)
	}
}

// Whoever ends a process group signals us twice, by name and with the group: that
// is one request to end, and the report is written.
func TestTerminatedWithItsGroup(t *testing.T) {
	t.Parallel()
	out, errs, code := interrupted(t, append(long, "--redis", "embedded"), syscall.SIGTERM, time.Second, 0)
	if code != exitTerminate || !strings.HasSuffix(lastLine(errs), "verdict=inconclusive exit=143") || !strings.Contains(out, "INCONCLUSIVE") {
		t.Errorf("exit %d, printed\n%s\n%s", code, out, errs)
	}
}

// A selftest that is cut short has found nothing out about the trial at hand.
func TestInterruptedSelftest(t *testing.T) {
	t.Parallel()
	for _, decisions := range []int64{0, 100, 1000} {
		out, errs, code := interruptedWhen(t, hasDecided(decisions), "selftest", "-q")
		if code != exitInterrupt || strings.Contains(out, "SURVIVED") || strings.Contains(out, "ACCUSED") || !strings.Contains(out, "INCONCLUSIVE") {
			t.Errorf("after %d decisions: exit %d, printed\n%s\n%s", decisions, code, out, errs)
		}
	}
}
