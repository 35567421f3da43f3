package scenarios_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/scenarios"
)

// shelf is a document with one field of each kind.
type shelf struct {
	Room  string
	Size  int
	Boxes []string
	sound bool
}

func readShelf(text string) (shelf, error) {
	var s shelf
	err := scenarios.Document{Name: "f.yaml", What: "the shelf", Text: []byte(text)}.Read(func(root scenarios.Value) {
		root.Fields([]scenarios.Field{
			{Name: "room", Read: func(v scenarios.Value) { s.Room, _ = v.OneOf("attic", "cellar") }},
			{Name: "size", Read: func(v scenarios.Value) { s.Size, _ = v.Whole(1, 9) }},
			{Name: "boxes", Read: func(v scenarios.Value) {
				v.Items(2, func(item scenarios.Value) {
					if text, ok := item.Text(); ok && item.IsSingle() {
						s.Boxes = append(s.Boxes, text)
					}
				})
			}},
		})
		s.sound = root.Sound()
	})
	return s, err
}

func TestDocument(t *testing.T) {
	s, err := readShelf("\xef\xbb\xbfroom: attic\nsize: 9\nboxes: [&b a, *b]\n")
	want := shelf{Room: "attic", Size: 9, Boxes: []string{"a", "a"}, sound: true}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(shelf{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if s, err := readShelf("{}"); err != nil || !s.sound {
		t.Errorf("nothing is required: %v", err)
	}
}

func TestBadDocuments(t *testing.T) {
	for _, row := range []struct{ text, want, why string }{
		{"room: atic", `f.yaml:1:7: unknown room "atic" (did you mean "attic"?); known: attic, cellar`, "a typo"},
		{"romo: attic", `f.yaml:1:1: unknown key "romo" in the shelf (did you mean "room"?); known: room, size, boxes`, "an unknown key"},
		{"size: 1\nsize: 2", `f.yaml:2:1: key "size" is there twice`, "a key that is there twice"},
		{"size: 10", `f.yaml:1:7: size "10": want a whole number from 1 to 9`, "too large"},
		{"size: +1", `f.yaml:1:7: size "+1": want a whole number from 1 to 9`, "a sign"},
		{"size: [1]", "f.yaml:1:7: size has to be a single value", "a list for a number"},
		{"size:", "f.yaml:1:6: size has no value", "a value that was forgotten"},
		{"boxes: a", "f.yaml:1:8: boxes has to be a list", "a value for a list"},
		{"boxes: [a, b, c]", "f.yaml:1:8: boxes has 3 elements; want at most 2", "one too many"},
		{"boxes: [{a: b}]", "f.yaml:1:9: an element of boxes has to be a single value", "a mapping in a list"},
		{"- attic", "f.yaml:1:1: the shelf has to be a mapping of keys to values", "a list for a mapping"},
		{"", "f.yaml: the shelf is empty", "nothing"},
		{"---\n", "f.yaml: the shelf is empty", "a document of nothing"},
		{"room: attic\n---\nroom: attic\n", "f.yaml:2:1: a second document starts here; want one", "two documents"},
		{"room: \"attic", "f.yaml:1:13:", "a quote that is not closed"},
		{"room: \xe9", "f.yaml:1:7: line is not valid UTF-8", "Latin-1"},
		{strings.Repeat("#", 1<<20+1), "f.yaml: file is larger than 1048576 bytes", "a byte too many"},
	} {
		s, err := readShelf(row.text)
		if err == nil {
			t.Errorf("%s: accepted as %+v", row.why, s)
			continue
		}
		got, _, _ := strings.Cut(err.Error(), "\n")
		if got != row.want && !(strings.HasSuffix(row.want, ":") && strings.HasPrefix(got, row.want)) {
			t.Errorf("%s; got\n%s\nwant\n%s", row.why, got, row.want)
		}
		if s.sound {
			t.Errorf("%s: called sound", row.why)
		}
	}
}
