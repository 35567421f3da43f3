package scenarios_test

import (
	"testing"

	"github.com/rlbench/rlbench/scenarios"
)

func TestCounted(t *testing.T) {
	for want, got := range map[string]string{
		"1 run": scenarios.Counted(1, "run"), "0 runs": scenarios.Counted(0, "run"), "2 runs": scenarios.Counted(int64(2), "run"), "3 classes": scenarios.Counted(3, "class"), "2 identities": scenarios.Counted(2, "identity"), "2 keys": scenarios.Counted(2, "key"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
