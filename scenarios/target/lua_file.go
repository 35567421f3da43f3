package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlbench/rlbench/scenarios"
)

// maxScript is the largest script and the largest mapping.
const maxScript = 1 << 20

// loadLua reads a script and how to call it.
func loadLua(path string) (source string, c *convention, err error) {
	data, err := readRegular("script", path)
	if err != nil {
		return "", nil, err
	}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "", nil, fmt.Errorf("read script %s: file is empty", printable(path))
	case !utf8.Valid(data):
		valid := bytes.ToValidUTF8(data, nil)
		same := 0
		for same < len(valid) && valid[same] == data[same] {
			same++
		}
		return "", nil, fmt.Errorf("read script %s: line %d is not valid UTF-8", printable(path), 1+bytes.Count(data[:same], []byte("\n")))
	}
	source = string(data)
	comment, err := mappingComment(printable(path), source)
	if err != nil {
		return "", nil, err
	}
	files := mappingFiles(path)
	switch {
	case len(files) > 1:
		return "", nil, fmt.Errorf("read script %s: two mappings are beside it, %s and %s; keep one", printable(path), printable(files[0]), printable(files[1]))
	case len(files) > 0 && comment != nil:
		return "", nil, fmt.Errorf("read script %s: a mapping is in its comment and another one in %s; keep one", printable(path), printable(files[0]))
	case len(files) > 0:
		text, err := readRegular("mapping", files[0])
		if err != nil {
			return "", nil, err
		}
		c, err = readConvention(scenarios.Document{Name: printable(files[0]), What: "the mapping", Text: text})
		return source, c, err
	case comment != nil:
		c, err = readConvention(comment.document)
		return source, c, comment.placed(err)
	}
	return source, defaultConvention(), nil
}

// readRegular reads a file of bounded size. Pipes and devices are refused: they
// may never end, and a script is read more than once.
func readRegular(what, path string) ([]byte, error) {
	stat, err := os.Stat(path)
	switch before, suffix, _ := strings.Cut(path, "+"); {
	case errors.Is(err, fs.ErrNotExist) && (suffix == denying || suffix == pipelined):
		return nil, fmt.Errorf("read %s %s: +%s is for bundled algorithms, not for scripts", what, printable(before), suffix)
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", what, printable(path), cause(err))
	case stat.IsDir():
		return nil, fmt.Errorf("read %s %s: is a directory", what, printable(path))
	case !stat.Mode().IsRegular():
		return nil, fmt.Errorf("read %s %s: is no regular file", what, printable(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", what, printable(path), cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", what, printable(path), cause(err))
	case len(data) > maxScript:
		return nil, fmt.Errorf("read %s %s: file is larger than %d bytes", what, printable(path), maxScript)
	}
	return data, nil
}

// cause is what went wrong with a file, without its name.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// mappingFiles are the files of the same name that hold a mapping.
func mappingFiles(path string) []string {
	var files []string
	base := strings.TrimSuffix(path, filepath.Ext(path))
	for _, ending := range []string{".yaml", ".yml"} {
		if _, err := os.Stat(base + ending); base+ending != path && !errors.Is(err, fs.ErrNotExist) {
			files = append(files, base+ending)
		}
	}
	return files
}

// printable makes a path fit for a terminal.
func printable(path string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return '�'
	}, path)
}

// comment is a mapping at the top of a script. Its lines stand where they stand
// in the script, so that mistakes have the right places.
type comment struct {
	document scenarios.Document
	dashes   bool         // every line starts with them
	tight    map[int]bool // lines without a blank after them
}

var (
	lineOpens  = regexp.MustCompile(`^--[ \t]*rlbench:(.*)$`)
	blockOpens = regexp.MustCompile(`^--\[(=*)\[[ \t]*rlbench:(.*)$`)
	anyOpens   = regexp.MustCompile(`^[ \t]*--(\[=*\[)?[ \t]*rlbench:`)
)

// mappingComment finds the mapping in a script; nil if there is none.
func mappingComment(name, source string) (*comment, error) {
	lines := strings.Split(source, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	top := 0
	if strings.HasPrefix(lines[0], "#!") { // of Redis 7
		top++
	}
	for top < len(lines) && strings.TrimSpace(lines[top]) == "" {
		top++
	}
	if top == len(lines) {
		return nil, nil
	}
	c := &comment{document: scenarios.Document{Name: name, What: "the mapping"}, tight: map[int]bool{}}
	text := make([]string, top, len(lines)) // blank, to keep the places
	end := top
	if m := blockOpens.FindStringSubmatch(lines[top]); m != nil {
		closing := "]" + m[1] + "]"
		block := strings.Repeat(" ", len(lines[top])-len(m[2])) + m[2]
		for ; ; end++ {
			if end > top {
				if end == len(lines) {
					return nil, fmt.Errorf("%s:%d:1: the comment that starts here does not end", name, top+1)
				}
				block = lines[end]
			}
			before, _, closed := strings.Cut(block, closing)
			text = append(text, before)
			if closed {
				break
			}
		}
	} else if m := lineOpens.FindStringSubmatch(lines[top]); m != nil {
		if strings.TrimSpace(m[1]) != "" {
			return nil, fmt.Errorf("%s:%d:1: the mapping has to start on the next line", name, top+1)
		}
		c.dashes = true
		text = append(text, "")
		for end = top + 1; end < len(lines) && strings.HasPrefix(lines[end], "--"); end++ {
			text = append(text, c.indented(end+1, lines[end]))
		}
		end--
	} else {
		c, end = nil, -1
	}
	for i := end + 1; i < len(lines); i++ {
		if anyOpens.MatchString(lines[i]) {
			return nil, fmt.Errorf("%s:%d:1: a mapping has to be the first thing in a script, and only once", name, i+1)
		}
	}
	if c != nil {
		c.document.Text = []byte(strings.Join(text, "\n"))
	}
	return c, nil
}

// indented replaces the dashes, and the blank after them if there is one, by
// three blanks.
func (c *comment) indented(line int, s string) string {
	rest, blank := strings.CutPrefix(s[2:], " ")
	c.tight[line] = !blank
	return "   " + rest
}

// placed puts mistakes where they are in the script.
func (c *comment) placed(err error) error {
	problems, ok := errors.AsType[scenarios.Problems](err)
	if !ok {
		return err
	}
	for i := range problems {
		p := &problems[i]
		rest, shown := strings.CutPrefix(p.Excerpt, "   ")
		if !c.dashes || !shown {
			continue
		}
		p.Excerpt = "-- " + rest
		if c.tight[p.Line] {
			p.Excerpt = "--" + rest
			p.Column = max(p.Column-1, 1)
		}
	}
	return problems
}
