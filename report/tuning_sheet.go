package report

import (
	"slices"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// sheet is a table of a tuning, which every format for people writes.
type sheet struct {
	caption string
	columns []field
	lines   [][]string
}

// field is a column of a sheet. Those of the highest rank go first when a table is too
// wide; rank 0 always stays.
type field struct {
	head string
	rank int
	left bool
}

// of is a field with what is in it.
type of[T any] struct {
	field
	cell func(T) string
}

// sheetOf has a line for each row.
func sheetOf[T any](caption string, columns []of[T], rows []T) sheet {
	s := sheet{caption: caption, lines: make([][]string, len(rows))}
	for _, c := range columns {
		s.columns = append(s.columns, c.field)
		for i, row := range rows {
			s.lines[i] = append(s.lines[i], c.cell(row))
		}
	}
	return s
}

func (s sheet) heads() []string {
	all := make([]string, len(s.columns))
	for i, c := range s.columns {
		all[i] = c.head
	}
	return all
}

func (s sheet) left() []bool {
	all := make([]bool, len(s.columns))
	for i, c := range s.columns {
		all[i] = c.left
	}
	return all
}

// fitting drops columns until the sheet is at most width wide.
func (s sheet) fitting(width int) sheet {
	for s.width() > width {
		worst := 0
		for i, c := range s.columns {
			if c.rank >= s.columns[worst].rank {
				worst = i
			}
		}
		if s.columns[worst].rank == 0 {
			break
		}
		s = s.without(worst)
	}
	return s
}

func (s sheet) without(column int) sheet {
	cut := sheet{caption: s.caption, columns: slices.Delete(slices.Clone(s.columns), column, column+1)}
	for _, line := range s.lines {
		cut.lines = append(cut.lines, slices.Delete(slices.Clone(line), column, column+1))
	}
	return cut
}

// width is how wide the sheet is on a terminal.
func (s sheet) width() int {
	total := len(gap) * (len(s.columns) - 1)
	for i, c := range s.columns {
		widest := twwidth.Width(c.head)
		for _, line := range s.lines {
			widest = max(widest, twwidth.Width(line[i]))
		}
		total += widest
	}
	return total
}
