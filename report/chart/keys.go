package chart

import (
	"cmp"
	"fmt"
)

// Key is a line in words, for where labels have no room. Class is that of a path of the
// same look in a page that has Style.
type Key struct{ Class, Text string }

// Keys are those of all lines that have labels of their own.
func (c *Chart) Keys() []Key {
	var all []Key
	for _, l := range c.Lines {
		if !l.Bound && !l.Reference {
			all = append(all, Key{l.class(), cmp.Or(l.Label, l.Name)})
		}
	}
	return all
}

// class is how a line looks.
func (l Line) class() string {
	switch {
	case l.Reference:
		return "line ref"
	case l.Bound:
		return fmt.Sprintf("line s%d bound", l.Style%styles)
	}
	return fmt.Sprintf("line s%d", l.Style%styles)
}
