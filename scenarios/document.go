package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Document is YAML of another kind than scenarios, for a reader that wants it
// read just as strictly.
type Document struct {
	Name string // in messages
	What string // such as "the mapping", in messages
	Text []byte
}

// Read parses the document and calls read with its root. The error is a
// Problems with every mistake, those that read reports included.
func (d Document) Read(read func(Value)) error {
	src := &source{name: d.Name}
	root := src.parse(d.Text, d.What+" is empty", "want one")
	if root != nil {
		read(Value{src, root, d.What})
	}
	if len(src.problems) > 0 {
		return src.problems.inOrder()
	}
	return nil
}

// Value is a value in a Document. It knows its place and what it is called.
type Value struct {
	src  *source
	node *yaml.Node
	what string
}

// Field is a key that a mapping may have.
type Field struct {
	Name string
	Read func(Value)
}

// Fields reads a mapping by its table, and reports what is unknown or there
// twice.
func (v Value) Fields(fields []Field) {
	table := make([]field, len(fields))
	for i, f := range fields {
		table[i] = field{name: f.Name, read: func(_, value *yaml.Node) { f.Read(Value{v.src, value, f.Name}) }}
	}
	v.src.mapping(v.node, v.what, table)
}

// Items reads a list of at most so many values.
func (v Value) Items(most int, read func(Value)) {
	if v.node.Kind == yaml.SequenceNode && len(v.node.Content) > most {
		v.Report("%s has %d elements; want at most %d", v.what, len(v.node.Content), most)
		return
	}
	v.src.sequence(v.node, v.what, func(n *yaml.Node) { read(Value{v.src, n, "an element of " + v.what}) })
}

// IsSingle reports whether it is neither a mapping nor a list.
func (v Value) IsSingle() bool { return v.node.Kind == yaml.ScalarNode }

// Text is the text of a single value; false, and a report, if it is none.
func (v Value) Text() (string, bool) { return v.src.text(v.node, v.what) }

// OneOf reads one of a few names.
func (v Value) OneOf(known ...string) (string, bool) {
	text, ok := v.Text()
	if ok && !slices.Contains(known, text) {
		v.Report("%v", UnknownName(v.what, text, known))
		return "", false
	}
	return text, ok
}

// Whole reads a whole number.
func (v Value) Whole(least, most int) (int, bool) {
	text, ok := v.Text()
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || strings.HasPrefix(text, "+") {
		v.Report("%s %q: want a whole number from %d to %d", v.what, clip(text), least, most)
		return 0, false
	}
	return n, true
}

// Report notes a mistake at the place of the value.
func (v Value) Report(format string, args ...any) {
	v.src.report(v.node.Line, v.node.Column, "%s", fmt.Sprintf(format, args...))
}

// Sound reports whether nothing was reported about the document so far. What is
// missing from a document with mistakes may only be misspelled.
func (v Value) Sound() bool { return len(v.src.problems) == 0 }
