package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Assignment replaces one value of a file before it is read: path "limit" or
// "phases.after-edge.count", the value as YAML. A path that ends in "+" adds the
// value to a list.
type Assignment struct{ Path, Value string }

// AddFault adds a fault, such as "{at: after-edge, kind: restart}", to those that a
// file has.
func AddFault(text string) Assignment { return Assignment{"faults.+", text} }

// ParseAssignment reads "path=value".
func ParseAssignment(s string) (Assignment, error) {
	path, value, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return Assignment{}, fmt.Errorf("assignment %q: want path=value, such as phases.after-edge.count=50", s)
	}
	return Assignment{path, value}, nil
}

// assign replaces the value at a path of keys, element names and positions.
func assign(root *yaml.Node, a Assignment) error {
	var value yaml.Node
	if err := yaml.Load([]byte(a.Value), &value); err != nil || len(value.Content) == 0 {
		return errors.New("the value is not YAML")
	}
	replacement := value.Content[0]
	clearPositions(replacement)
	node := root
	steps := strings.Split(a.Path, ".")
	for i, step := range steps {
		last := i == len(steps)-1
		slot, known := slotOf(node, step)
		switch {
		case last && step == "+" && node.Kind == yaml.SequenceNode:
			node.Content = append(node.Content, replacement)
			return nil
		case slot == nil && !last && node.Kind == yaml.MappingNode && mayBeLeftOut(steps[:i+1], steps[i+1]):
			made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			if steps[i+1] == "+" {
				made = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step}, made)
			node = made
			continue
		case node.Kind == yaml.ScalarNode:
			return fmt.Errorf("%s is a single value and has no parts", strings.Join(steps[:i], "."))
		case slot == nil && last && node.Kind == yaml.MappingNode:
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: step}
			node.Content = append(node.Content, key, replacement)
			return nil
		case slot == nil:
			return fmt.Errorf("nothing is called %q there%s; there is %s", step, DidYouMean(step, known), cmp.Or(listed(known), "nothing"))
		case last:
			*slot = replacement
			return nil
		}
		// What is shared by an alias is changed here only.
		if (*slot).Kind == yaml.AliasNode {
			*slot = copied(resolved(*slot))
		}
		node = *slot
	}
	return nil
}

// mayBeLeftOut reports whether a path leads to a mapping that a file need not have,
// or, if its part is to be added, to such a list: the first assignment makes it.
func mayBeLeftOut(path []string, part string) bool {
	last := path[len(path)-1]
	switch {
	case part == "+":
		return len(path) == 1 && (last == "faults" || last == "checks")
	case len(path) == 1:
		return last == "keys"
	case len(path) == 2:
		return path[0] == "keys" && last == "zipf"
	case len(path) == 3:
		return path[0] == "phases" && (last == "repeat" || last == "retry")
	}
	return false
}

// copied is a deep copy of a node.
func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor = ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = copied(child)
	}
	return &c
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
