package scenarios

import ("testing";"strings";"fmt";"time")

func TestZZ(t *testing.T) {
	for _, n := range []int{2000, 10000, 20000} {
		var b strings.Builder
		b.WriteString("version: 1\nname: x\nphases:\n")
		for i := range n { fmt.Fprintf(&b, "- {name: a%d}\n", i) }
		b.WriteString("checks:\n")
		for i := range n { fmt.Fprintf(&b, "- {phase: b%d}\n", i) }
		start := time.Now()
		_, err := Read(strings.NewReader(b.String()), "x", BuiltinDefaults())
		d := time.Since(start)
		fmt.Println(n, b.Len(), d, len(fmt.Sprint(err)))
	}
}
