package chart

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Style is the style sheet of pictures in a page, light and dark: it sets what they look
// like, and variables for the colours.
//
//go:embed chart.css
var Style string

//go:embed chart.tmpl
var source string

var svg = template.Must(template.New("svg").Parse(source))

// SVG writes the picture as an element of a page that has Style and, with the
// identifiers ID-title and ID-doc, its title and its explanation.
func (c *Chart) SVG() (template.HTML, error) {
	var b strings.Builder
	if err := svg.ExecuteTemplate(&b, "picture", c.layout()); err != nil {
		return "", fmt.Errorf("draw %s: %w", c.ID, err)
	}
	return template.HTML(b.String()), nil
}

// WriteFile writes pictures under each other as a file of SVG. It follows the reader's
// choice of light and dark.
func WriteFile(w io.Writer, heading string, charts []*Chart) error {
	const top, head, plotMargin = 30.0, 44.0, 8.0
	type placed struct {
		*drawing
		At, TitleY string
		DocLines   []text
	}
	file := struct {
		W, H, Heading string
		Style         template.CSS
		Charts        []placed
	}{W: num(Width), Heading: heading, Style: template.CSS(Style)}
	y := top
	for _, c := range charts {
		d := c.layout()
		d.Standalone = true
		p := placed{drawing: d, TitleY: num(y + 16)}
		for i, line := range wrapped(c.Doc, Width-2*plotMargin) {
			if i > 0 {
				y += lineHeight
			}
			p.DocLines = append(p.DocLines, text{X: num(plotMargin), Y: num(y + 34), Text: line})
		}
		p.At = num(y + head)
		file.Charts = append(file.Charts, p)
		y += head + c.height()
	}
	file.H = num(y + 10)
	if err := svg.ExecuteTemplate(w, "file", file); err != nil {
		return fmt.Errorf("draw %s: %w", heading, err)
	}
	return nil
}
