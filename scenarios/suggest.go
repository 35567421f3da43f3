package scenarios

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// UnknownName is the error for a name that is not in a closed list.
func UnknownName(what, got string, known []string) error {
	return fmt.Errorf("unknown %s %q%s; known: %s", what, clip(got), DidYouMean(got, known), listed(known))
}

// listed is a list of names that a message can hold.
func listed(names []string) string {
	const most = 40
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

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
