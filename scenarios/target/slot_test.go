package target

import "testing"

func TestOneSlot(t *testing.T) {
	for _, row := range []struct {
		keys []string
		want bool
	}{
		{nil, true},
		{[]string{"foo"}, true},
		{[]string{"a:{x}", "b:{x}", "{x}"}, true},
		{[]string{"foo", "bar"}, false},
		{[]string{"{x}:1", "{x}:2", "{y}:1"}, false},
		{[]string{"foo{}{bar}", "bar"}, false},
	} {
		if got := oneSlot(row.keys); got != row.want {
			t.Errorf("%q in one slot: %t", row.keys, got)
		}
	}
}
