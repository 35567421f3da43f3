//go:build !race

// The race detector makes pools forget.

package identity_test

import "testing"

// TestAllocations: a name is one string.
func TestAllocations(t *testing.T) {
	c := usual
	c.SlotBits = 8
	n, who := open(t, c), client(t, "203.0.113.7")
	got := testing.AllocsPerRun(1000, func() {
		if _, err := n.Name("search", who, T); err != nil {
			t.Fatal(err)
		}
	})
	if got > 2 {
		t.Errorf("%v allocations for a name, want at most 2", got)
	}
}
