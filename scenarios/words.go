package scenarios

import (
	"fmt"
	"strings"
)

// Counted is a number of something, in words: 1 key, 2 keys.
func Counted[N int | int64](n N, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ty"):
		what = strings.TrimSuffix(what, "y") + "ies"
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
