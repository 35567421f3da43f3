package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// table reads lines of CSV. A value with a line break in quotes is two broken lines: a log
// is read line by line. What is between values is a comma, or what the first line has more
// of, semicolons or tabs. It is for one goroutine.
type table struct {
	fields  []property
	columns []int // of the fields, from 0 on
	line    oneLine
	csv     *csv.Reader
	numbers bool // of columns, in place of their names
	comma   bool // which one is known
}

func newTable(fields []property) *table {
	t := &table{fields: fields, columns: make([]int, len(fields)), numbers: len(fields) > 0}
	for i, f := range fields {
		n, err := strconv.Atoi(f.paths[0])
		t.columns[i] = n - 1
		t.numbers = t.numbers && err == nil && n > 0
	}
	t.csv = csv.NewReader(&t.line)
	t.csv.FieldsPerRecord, t.csv.ReuseRecord, t.csv.TrimLeadingSpace = -1, true, true
	return t
}

// split is the values of a line, good until the next.
func (t *table) split(line []byte) ([]string, error) {
	if !t.comma {
		t.comma, t.csv.Comma = true, commaOf(line)
	}
	t.line.rest, t.line.ended = line, false
	values, err := t.csv.Read()
	var parse *csv.ParseError
	switch {
	case errors.As(err, &parse): // without the number of a line that it does not know
		return nil, fmt.Errorf("no CSV: %w, at byte %d", parse.Err, parse.Column)
	case err != nil:
		return nil, errors.New("no CSV: a line without values")
	}
	return values, nil
}

func commaOf(line []byte) rune {
	comma, most := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			comma, most = c, n
		}
	}
	return comma
}

// header finds the columns of the fields.
func (t *table) header(line []byte) (bool, error) {
	if t.numbers {
		return false, nil
	}
	t.comma = false
	names, err := t.split(line)
	if err != nil {
		return true, err
	}
	for i, f := range t.fields {
		if t.columns[i] = indexOf(names, f.paths[0]); t.columns[i] < 0 {
			return true, fmt.Errorf("no column is named %q in the first line, which has %d", f.paths[0], len(names))
		}
	}
	return true, nil
}

func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

func (t *table) read(line []byte, r *record) error {
	*r = record{}
	values, err := t.split(line)
	if err != nil {
		return err
	}
	for i, f := range t.fields {
		if t.columns[i] >= len(values) {
			return fmt.Errorf("%d columns, and %s is the %dth", len(values), f.paths[0], t.columns[i]+1)
		}
		if err := f.read([]byte(values[t.columns[i]]), r); err != nil {
			return fmt.Errorf("%s: %w", f.paths[0], err)
		}
	}
	return nil
}

// oneLine gives a line, an end of line, and then io.EOF, again and again.
type oneLine struct {
	rest  []byte
	ended bool
}

func (o *oneLine) Read(b []byte) (int, error) {
	if len(o.rest) > 0 {
		n := copy(b, o.rest)
		o.rest = o.rest[n:]
		return n, nil
	}
	if !o.ended && len(b) > 0 {
		o.ended = true
		b[0] = '\n'
		return 1, nil
	}
	return 0, io.EOF
}
