package report

import "testing"

func TestNumbersInLine(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"{\n  \"a\": [\n    1,\n    -2.5,\n    3e+06\n  ],\n  \"b\": 1\n}\n", "{\n  \"a\": [1, -2.5, 3e+06],\n  \"b\": 1\n}\n", "numbers are put on one line"},
		{"{\n  \"a\": [\n    1,\n    \"2\"\n  ]\n}\n", "{\n  \"a\": [\n    1,\n    \"2\"\n  ]\n}\n", "others are not"},
		{"{\n  \"a [\": \"[\",\n  \"b\": [\n    [\n      1,\n      2\n    ]\n  ]\n}\n", "{\n  \"a [\": \"[\",\n  \"b\": [\n    [1, 2]\n  ]\n}\n", "a bracket in a text is none"},
		{"{\n  \"a  [  b\": [\n    1\n  ]\n}\n", "{\n  \"a  [  b\": [1]\n}\n", "nor is one in a name"},
		{"{\n  \"a\": []\n}\n", "{\n  \"a\": []\n}\n", "what is empty stays"},
	} {
		if got := string(numbersInLine([]byte(c.in))); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.why, got, c.want)
		}
	}
}
