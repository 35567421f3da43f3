package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// page writes Markdown.
type page struct {
	io.Writer
	columns int // of the table that is open; 0 is none
}

func (p *page) title(format string, args ...any) {
	p.columns = 0
	fmt.Fprintf(p, "\n### "+format+"\n\n", args...)
}

func (p *page) line(format string, args ...any) {
	p.columns = 0
	fmt.Fprintf(p, "\n"+format+"\n", args...)
}

// row writes a row of a table; the first is its head.
func (p *page) row(cells ...string) {
	fmt.Fprintf(p, "| %s |\n", strings.Join(cells, " | "))
	if p.columns == 0 {
		p.columns = len(cells)
		fmt.Fprintf(p, "|%s\n", strings.Repeat("---|", p.columns))
	}
}

// timings writes a table of a race, with the ratios of some entrants to each.
func (p *page) timings(w workload, timings []timing, of ...string) {
	p.title("%s, limit %s: median of %d rounds of %d decisions (least to most)", w.name, w.limit, len(timings[0].rates), w.decisions)
	head := []string{"limiter", "decisions/s", "p99", "errors"}
	var compared []timing
	for _, name := range of {
		for _, t := range timings {
			if t.name == name {
				head = append(head, t.name+" ÷ it")
				compared = append(compared, t)
			}
		}
	}
	p.row(head...)
	for _, t := range timings {
		rates, p99s := spreadOf(t.rates), spreadOf(micros(t.p99s))
		cells := []string{t.name, fmt.Sprintf("%.0f (%.0f to %.0f)", rates.median, rates.least, rates.most), fmt.Sprintf("%.2f ms", p99s.median/1000), fmt.Sprint(t.errors)}
		for _, c := range compared {
			cells = append(cells, ratio(c, t).String())
		}
		p.row(cells...)
	}
}

func micros(all []time.Duration) []float64 {
	numbers := make([]float64, len(all))
	for i, d := range all {
		numbers[i] = float64(d.Microseconds())
	}
	return numbers
}
