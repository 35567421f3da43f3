package scenarios

import (
	"fmt"

	"github.com/agnivade/levenshtein"
)

// DidYouMean is " (did you mean ...?)" if one of the known words is close to
// the given one, and nothing otherwise.
func DidYouMean(word string, known []string) string {
	if nearest, ok := Nearest(word, known); ok {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return ""
}

// Nearest is the known word with the fewest edits to the given one, if there
// are at most as many as a third of its length, rounded up.
func Nearest(word string, known []string) (string, bool) {
	const tooLong = 64 // the distance costs length × length
	if word == "" || len(word) > tooLong {
		return "", false
	}
	best, distance := "", 0
	for _, k := range known {
		d := levenshtein.ComputeDistance(word, k)
		if d <= (len(k)+2)/3 && (best == "" || d < distance) {
			best, distance = k, d
		}
	}
	return best, best != ""
}
