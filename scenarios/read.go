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

// Assignment replaces one value of a file before it is read: path "limit" or
// "phases.after-edge.count", the value as YAML.
type Assignment struct{ Path, Value string }

// ParseAssignment reads "path=value".
func ParseAssignment(s string) (Assignment, error) {
	path, value, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return Assignment{}, fmt.Errorf("assignment %q: want path=value, such as phases.after-edge.count=50", s)
	}
	return Assignment{path, value}, nil
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
	root := src.parse(data)
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

// parse turns bytes into the root node of the one document, or reports why not.
func (s *source) parse(data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > maxFile {
		s.report(0, 0, "file is larger than %d bytes", maxFile)
		return nil
	}
	s.lines = strings.Split(string(data), "\n")
	for i, line := range s.lines {
		if !utf8.ValidString(line) {
			s.report(i+1, 1, "line is not valid UTF-8")
			return nil
		}
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		s.reportSyntax(err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		s.report(0, 0, "file is empty; rlbench show boundary-burst prints one to start from")
		return nil
	}
	return doc.Content[0]
}

var positionInError = regexp.MustCompile(`line (\d+)(?:, column (\d+))?`)

// reportSyntax places an error of the YAML library. Its types carry marks only
// in part, its texts always do.
func (s *source) reportSyntax(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var load *yaml.LoadError
	if errors.As(err, &load) && load.Mark.Line > 0 {
		s.report(load.Mark.Line, max(load.Mark.Column, 1), "%s", load.Message)
		return
	}
	if m := positionInError.FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		s.report(line, max(column, 1), "%s", message)
		return
	}
	s.report(0, 0, "%s", message)
}

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
			s.report(key.Line, key.Column, "key %q is there twice", key.Value)
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
				key.Value, what, DidYouMean(key.Value, names), strings.Join(names, ", "))
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
	for _, element := range n.Content {
		read(resolved(element))
	}
}

// text is the text of a scalar; false if it is none or null.
func (s *source) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		s.report(n.Line, n.Column, "%s has to be a single value", what)
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

// assign replaces the value at a path of keys, element names and positions.
func assign(root *yaml.Node, a Assignment) error {
	var value yaml.Node
	if err := yaml.Load([]byte(a.Value), &value); err != nil || len(value.Content) == 0 {
		return errors.New("the value is not YAML")
	}
	replacement := value.Content[0]
	clearPositions(replacement)
	node := resolved(root)
	steps := strings.Split(a.Path, ".")
	for i, step := range steps {
		last := i == len(steps)-1
		slot, known := slotOf(node, step)
		switch {
		case slot == nil && last && node.Kind == yaml.MappingNode:
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step}
			node.Content = append(node.Content, key, replacement)
			return nil
		case slot == nil:
			return fmt.Errorf("nothing is called %q there%s; there is %s", step, DidYouMean(step, known), strings.Join(known, ", "))
		case last:
			*slot = replacement
			return nil
		}
		node = resolved(*slot)
	}
	return nil
}

// slotOf finds where a child is kept: by key in a mapping, by position or
// "name" in a list. If there is none it returns what could have been meant.
func slotOf(n *yaml.Node, step string) (slot **yaml.Node, known []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return &n.Content[i+1], nil
			}
			known = append(known, n.Content[i].Value)
		}
	case yaml.SequenceNode:
		for i := range n.Content {
			name := strconv.Itoa(i)
			if inner, _ := slotOf(resolved(n.Content[i]), "name"); inner != nil && resolved(n.Content[i]).Kind == yaml.MappingNode {
				name = (*inner).Value
			}
			if step == name || step == strconv.Itoa(i) {
				return &n.Content[i], nil
			}
			known = append(known, name)
		}
	}
	return nil, known
}

// clearPositions marks nodes that are in no file.
func clearPositions(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	for _, child := range n.Content {
		clearPositions(child)
	}
}
