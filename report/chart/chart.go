// Package chart draws lines and bars over numeric axes as SVG that stands alone or in a
// page, with the numbers that it was drawn from as a table. A drawing depends on its
// input only: no clock, no fonts, no environment.
package chart

import "cmp"

// Chart is a picture. The zero value is empty axes; it is not changed by drawing.
type Chart struct {
	// ID is its name in a document: letters, digits and hyphens.
	ID string
	// Title says what is shown, and Doc how to read it.
	Title, Doc string
	X, Y       Axis
	// Lines are drawn in this order, the last on top. Bars stand on each other.
	Lines []Line
	Bars  []Bars
	// Marks are vertical lines, and Bands are intervals of x, behind everything.
	Marks []Mark
	Bands []Band
	// Height is that of the whole picture; 0 means 280. It is Width wide.
	Height float64
}

// Width of every picture, in the units of its coordinates.
const Width = 760

// height is that of the picture.
func (c *Chart) height() float64 { return cmp.Or(c.Height, 280) }

// Line goes through points, which are in the order of x.
type Line struct {
	Name string
	// Label stands at its right end; "" means its name, and nothing for a Reference.
	Label string
	// Style chooses colour and dashes; equal ones look equal.
	Style  int
	Points []Point
	// Step holds each value until the next point, instead of leading to it.
	Step bool
	// Bound is how far another line of the same Style may be off: it is drawn thin, and
	// has no label.
	Bound bool
	// Reference is a line to compare with, such as a limit: it is drawn thin and grey,
	// with its name at its left end.
	Reference bool
}

// Bars are of one kind, such as what was admitted; Points[i].Y are stacked on those of
// other kinds with the same x, and stand from x to x+Wide.
type Bars struct {
	Name   string
	Kind   Kind
	Wide   float64
	Points []Point
}

// Kind is what bars are about, and chooses their look.
type Kind string

// The kinds.
const (
	Admitted Kind = "admitted"
	Denied   Kind = "denied"
	Failed   Kind = "failed"
)

// Point is a point in units of the axes.
type Point struct{ X, Y float64 }

// Mark is a vertical line with a label.
type Mark struct {
	X     float64
	Label string
}

// Band is an interval with a label.
type Band struct {
	From, Until float64
	Label       string
}

// styles is how many looks of lines there are.
const styles = 6
