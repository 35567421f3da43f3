package scenarios

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed library/*.yaml
var library embed.FS

// Builtin is a scenario that comes with rlbench.
type Builtin struct {
	Name   string
	Source []byte // YAML, commented
	// Log is whether it replays a log, and has no traffic before one is named.
	Log bool
}

// Builtins are the embedded scenarios in alphabetical order. To add one, add
// its file to library.
func Builtins() []Builtin {
	entries, err := fs.ReadDir(library, "library")
	if err != nil {
		panic(fmt.Sprintf("embedded scenarios: %v", err)) // the embed directive is wrong
	}
	builtins := make([]Builtin, len(entries))
	for i, e := range entries {
		source, err := fs.ReadFile(library, "library/"+e.Name())
		if err != nil {
			panic(fmt.Sprintf("embedded scenario %s: %v", e.Name(), err))
		}
		builtins[i] = Builtin{strings.TrimSuffix(e.Name(), ".yaml"), source, bytes.Contains(source, []byte("shape: replay"))}
	}
	// The files are in another order: a dash comes before the dot of ".yaml".
	slices.SortFunc(builtins, func(a, b Builtin) int { return strings.Compare(a.Name, b.Name) })
	return builtins
}

// BuiltinNamed finds an embedded scenario.
func BuiltinNamed(name string) (Builtin, error) {
	all := Builtins()
	names := make([]string, len(all))
	for i, b := range all {
		if b.Name == name {
			return b, nil
		}
		names[i] = b.Name
	}
	return Builtin{}, UnknownName("scenario", name, names)
}

// Read parses the embedded scenario.
func (b Builtin) Read(d Defaults, set ...Assignment) (*Scenario, error) {
	return Read(bytes.NewReader(b.Source), b.Name, d, set...)
}

// Scripted are the built-ins that say themselves what is sent, as all do but for those
// that replay a log.
func Scripted() []Builtin {
	return slices.DeleteFunc(Builtins(), func(b Builtin) bool { return b.Log })
}
