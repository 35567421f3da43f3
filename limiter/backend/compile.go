package backend

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// ScriptError is what a server finds wrong with a script that it cannot compile.
type ScriptError struct {
	// Message is in the server's words: one line of printable characters, at
	// most 300 of them.
	Message string
	Line    int // counted from 1; 0 if the server does not tell
}

func (e *ScriptError) Error() string {
	if e.Line == 0 {
		return "compile script: " + e.Message
	}
	return fmt.Sprintf("compile script: line %d: %s", e.Line, e.Message)
}

// Compile has the server compile and keep a script, and does not run it. If it
// cannot be compiled, the error is a *ScriptError. The embedded server sees some
// mistakes, such as a break outside a loop, only when the script runs.
func (s *Server) Compile(ctx context.Context, script string) error {
	err := s.manager.ScriptLoad(ctx, script).Err()
	if err == nil {
		return nil
	}
	if reply, isReply := errors.AsType[redis.Error](err); isReply {
		if fault := scriptFault(reply.Error()); fault != nil {
			return fault
		}
	}
	return fmt.Errorf("compile script: %w", err)
}

// An error reply is about the script, and not about the server or the user, if
// it speaks of one of these.
var scriptWords = []string{"compil", "shebang", "scripting engine"}

var (
	// Redis: "ERR Error compiling script (new function): user_script:2: ...".
	compiling = regexp.MustCompile(`(?i)^(?:ERR )?(?:Error (?:while )?compiling (?:new )?script[^:]*: )?`)
	// The embedded server goes on with "user_script line:2(column:6) near ...",
	// or with "user_script at EOF: ...".
	position = regexp.MustCompile(`^@?user_script(?::(\d+):| line:(\d+)\(column:\d+\))? ?`)
)

// scriptFault is what an error reply to SCRIPT LOAD says about the script, or
// nil if it is about something else.
func scriptFault(reply string) *ScriptError {
	lower, _, _ := strings.Cut(strings.ToLower(reply), ", with args") // what follows is the script itself
	about := false
	for _, word := range scriptWords {
		about = about || strings.Contains(lower, word)
	}
	if !about {
		return nil
	}
	text := plain(reply)
	text = text[len(compiling.FindString(text)):]
	e := &ScriptError{}
	if m := position.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		e.Line, _ = strconv.Atoi(m[1] + m[2]) // one of them is empty; if both are, 0 is right
	}
	const most = 300
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	e.Message = text
	return e
}

// plain makes one line of printable characters: error replies quote the script.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
