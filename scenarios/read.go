package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
)

// maxFile is the largest scenario file; one that is written by hand is a
// thousandth of it.
const maxFile = 1 << 20

// Defaults fill what a scenario file leaves out.
type Defaults struct {
	Limit limiter.Limit
	Clock Clock
	Seed  uint64
}

// BuiltinDefaults are the defaults of a scenario file.
func BuiltinDefaults() Defaults {
	return Defaults{Limit: limiter.Limit{Max: 100, Window: 60_000_000_000}, Clock: Virtual, Seed: 1}
}

// Read parses a scenario file strictly: unknown and duplicate keys, missing
// units and names that do not exist are mistakes. The error is a Problems with
// all of them. The name is used in messages only.
func Read(r io.Reader, name string, d Defaults, set ...Assignment) (*Scenario, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	src := &source{name: name}
	root := src.parse(data, "file is empty; rlbench show boundary-burst prints one to start from", "a file holds one scenario")
	if root == nil {
		return nil, src.problems
	}
	for _, a := range set {
		if err := assign(root, a); err != nil {
			src.report(0, 0, "set %s=%s: %v", a.Path, a.Value, err)
		}
	}
	s := src.scenario(root, d)
	if len(src.problems) > 0 {
		return nil, src.problems.inOrder()
	}
	return s, nil
}

// parse turns bytes into the root node of the one document, or reports why not:
// in the words of empty if there is none, in those of single if there are more.
func (s *source) parse(data []byte, empty, single string) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > maxFile {
		s.report(0, 0, "file is larger than %d bytes", maxFile)
		return nil
	}
	s.lines = lineBreak.Split(string(data), -1)
	if !s.isText() {
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	var doc, second yaml.Node
	if err == nil {
		err = loader.Load(&doc)
	}
	switch {
	case errors.Is(err, io.EOF):
		s.report(0, 0, "%s", empty)
		return nil
	case err != nil:
		s.reportSyntax(err)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		s.report(second.Line, second.Column, "a second document starts here; %s", single)
		return nil
	} else if !errors.Is(err, io.EOF) {
		s.reportSyntax(err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 || isNull(doc.Content[0]) {
		s.report(0, 0, "%s", empty)
		return nil
	}
	return doc.Content[0]
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// lineBreak is what YAML counts as one.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// isText reports the first byte that is no UTF-8 and the first character that
// YAML forbids, which the library finds without saying where.
func (s *source) isText() bool {
	for i, line := range s.lines {
		for column, at := 1, 0; at < len(line); column++ {
			r, size := utf8.DecodeRuneInString(line[at:])
			switch {
			case r == utf8.RuneError && size == 1:
				s.report(i+1, column, "line is not valid UTF-8")
				return false
			case r < ' ' && r != '\t' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff:
				s.report(i+1, column, "character %U is not allowed", r)
				return false
			}
			at += size
		}
	}
	return true
}

var positionInError = regexp.MustCompile(`line (\d+)(?:, column (\d+))?`)

// reportSyntax places an error of the YAML library.
func (s *source) reportSyntax(err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) || load.Mark.Line == 0 {
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		line, column := 0, 0
		if m := positionInError.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1])
			column, _ = strconv.Atoi(m[2])
		}
		if line > 0 {
			column = max(column, 1)
		}
		s.report(line, column, "%s", message)
		return
	}
	message, at, from := load.Message, load.Mark, load.ContextMark
	if load.ContextMsg != "" && from.Line > 0 && from != at {
		message += fmt.Sprintf(" (%s from %d:%d)", load.ContextMsg, from.Line, from.Column)
	}
	if at.Line <= len(s.lines) && strings.HasPrefix(s.lines[at.Line-1][min(at.Column-1, len(s.lines[at.Line-1])):], "\t") {
		message += "; indent with blanks, not tabs"
	}
	if at.Line <= len(s.lines) {
		if m := bareOperator.FindStringSubmatch(s.lines[at.Line-1]); m != nil {
			message += fmt.Sprintf("; write operators in quotes, such as %q", m[1])
		}
	}
	s.report(at.Line, at.Column, "%s", message)
}

// bareOperator is an op that means something else to YAML.
var bareOperator = regexp.MustCompile(`\bop:\s*([<>=!]=?)`)

// field is a key that a mapping may have.
type field struct {
	name     string
	required bool
	read     func(key, value *yaml.Node)
}

// mapping reads a mapping by its table of fields, and reports what is missing,
// unknown or there twice.
func (s *source) mapping(n *yaml.Node, what string, fields []field) {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		s.report(n.Line, n.Column, "%s has to be a mapping of keys to values", what)
		return
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if seen[key.Value] {
			s.report(key.Line, key.Column, "key %q is there twice", clip(key.Value))
			continue
		}
		seen[key.Value] = true
		known := false
		for _, f := range fields {
			if f.name == key.Value {
				known = true
				f.read(key, resolved(value))
			}
		}
		if !known {
			s.report(key.Line, key.Column, "unknown key %q in %s%s; known: %s",
				clip(key.Value), what, DidYouMean(key.Value, names), strings.Join(names, ", "))
		}
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			s.report(n.Line, n.Column, "%s has no %q", what, f.name)
		}
	}
}

// sequence calls read for each element.
func (s *source) sequence(n *yaml.Node, what string, read func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		s.report(n.Line, n.Column, "%s has to be a list", what)
		return
	}
	const most = 1000 // they are compared with each other
	if len(n.Content) > most {
		s.report(n.Line, n.Column, "%s has %d elements; want at most %d", what, len(n.Content), most)
		return
	}
	for _, element := range n.Content {
		read(resolved(element))
	}
}

// text is the text of a scalar; false if it is none or null.
func (s *source) text(n *yaml.Node, what string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		s.report(n.Line, n.Column, "%s has to be a single value", what)
		return "", false
	case isNull(n):
		s.report(n.Line, n.Column, "%s has no value", what)
		return "", false
	}
	return n.Value, true
}

// resolved follows an alias. An alias never points at an alias.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}
