package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// record is what is found in one line. Its texts are parts of the line, and gone with it.
type record struct {
	client, method, target, host []byte
	stamp                        int64 // µs since 1970; when is the format's to say
	duration                     int64 // µs from arrival to completion
	status                       int
	has                          field // which of these were found
}

// field is what a variable of a log format stands for; a set of them is their sum.
type field uint16

const (
	fieldClient field = 1 << iota
	fieldStamp
	fieldDuration
	fieldRequest // method, target and protocol in one
	fieldMethod
	fieldTarget
	fieldHost
	fieldStatus
)

// piece of a line: a value up to some text.
type piece struct {
	name    string
	meaning        // zero for what is read over
	until   string // what ends the value; "" is the end of the line
}

// pattern reads lines of one shape.
type pattern struct {
	head   string // before the first value
	pieces []piece
	has    field

	completion bool // the stamp is of that
}

// compile makes a pattern of a log format as nginx ($remote_addr) or Apache (%h) has it.
func compile(source string) (*pattern, error) {
	var p pattern
	literal := func(text string) {
		if len(p.pieces) == 0 {
			p.head += text
		} else {
			p.pieces[len(p.pieces)-1].until += text
		}
	}
	rest := source
	for rest != "" {
		i := strings.IndexAny(rest, "$%")
		if i < 0 {
			i = len(rest)
		}
		literal(rest[:i])
		if rest = rest[i:]; rest == "" {
			break
		}
		name, width := variable(rest)
		switch {
		case name == "%%":
			literal("%")
		case width == 0:
			return nil, fmt.Errorf("log format %q: %.20q is no variable", source, rest)
		case len(p.pieces) > 0 && p.pieces[len(p.pieces)-1].until == "":
			return nil, fmt.Errorf("log format %q: nothing tells %s and %s apart", source, p.pieces[len(p.pieces)-1].name, name)
		default:
			v := variables[name]
			p.pieces = append(p.pieces, piece{name: name, meaning: v})
			p.has |= v.field
		}
		rest = rest[width:]
	}
	if err := p.validate(source); err != nil {
		return nil, err
	}
	p.choose()
	return &p, nil
}

// choose reads one stamp of a line, the finest.
func (p *pattern) choose() {
	best := -1
	for i, piece := range p.pieces {
		if piece.field == fieldStamp && (best < 0 || piece.finer > p.pieces[best].finer) {
			best = i
		}
	}
	for i := range p.pieces {
		if p.pieces[i].field == fieldStamp && i != best {
			p.pieces[i].meaning = meaning{}
		}
	}
	p.completion = p.pieces[best].ends
}

// variable is the name at the start of a text, and how long it is written.
func variable(s string) (name string, width int) {
	if strings.HasPrefix(s, "%%") {
		return "%%", 2
	}
	i := 1
	if s[0] == '%' {
		for i < len(s) && (s[i] == '>' || s[i] == '<' || s[i] == '!' || s[i] == ',' || s[i] >= '0' && s[i] <= '9') {
			i++
		}
		if i < len(s) && s[i] == '{' {
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return "", 0
			}
			i += end + 1
		}
		if i >= len(s) || !letter(s[i]) {
			return "", 0
		}
		return "%" + strings.TrimLeft(s[1:i+1], "<>!,0123456789"), i + 1
	}
	if i < len(s) && s[i] == '{' { // ${name}
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return "", 0
		}
		return "$" + s[2:end], end + 1
	}
	for i < len(s) && (letter(s[i]) || s[i] == '_' || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	if i == 1 {
		return "", 0
	}
	return s[:i], i
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// validate refuses a format that does not say who came when.
func (p *pattern) validate(source string) error {
	var names []string
	for _, piece := range p.pieces {
		if piece.field != 0 && slices.Contains(names, piece.name) {
			return fmt.Errorf("log format %q: %s comes twice", source, piece.name)
		}
		names = append(names, piece.name)
	}
	if p.has&fieldStamp == 0 {
		return fmt.Errorf("log format %q: no time; want one of %s", source, strings.Join(standingFor(fieldStamp), ", "))
	}
	if p.has&fieldClient == 0 {
		return fmt.Errorf("log format %q: no client; want one of %s", source, strings.Join(standingFor(fieldClient), ", "))
	}
	return nil
}

// read fills a record from a line. What a client sends is between quotes, where Apache
// and nginx put a backslash before a quote.
func (p *pattern) read(line []byte, r *record) error {
	*r = record{}
	rest, found := bytes.CutPrefix(line, []byte(p.head))
	if !found {
		return fmt.Errorf("does not begin with %q", p.head)
	}
	for i := range p.pieces {
		piece := &p.pieces[i]
		end := len(rest)
		if piece.until != "" {
			if end = find(rest, piece.until); end < 0 {
				return fmt.Errorf("no %q after %s, from byte %d on", piece.until, piece.name, len(line)-len(rest)+1)
			}
		}
		if piece.read != nil {
			if err := piece.read(rest[:end], r); err != nil {
				return fmt.Errorf("%s: %w", piece.name, err)
			}
		}
		rest = rest[end+len(piece.until):]
	}
	return nil
}

// find is where a text begins, or -1. One that begins with a quote ends a value in quotes,
// in which a backslash hides what follows.
func find(b []byte, text string) int {
	if text[0] != '"' {
		return bytes.Index(b, []byte(text))
	}
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '"')
		if i < 0 {
			return -1
		}
		i += at
		escapes := 0
		for i-escapes > at && b[i-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 && bytes.HasPrefix(b[i:], []byte(text)) {
			return i
		}
		at = i + 1
	}
}
