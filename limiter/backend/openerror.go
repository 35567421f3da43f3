package backend

import (
	"errors"
	"strings"
)

// OpenError says why a Redis could not be opened. Passwords appear in none of
// its texts.
type OpenError struct {
	Spec string // what Open was given, without password and parameters
	Hint string // one line: what to do about it; may be empty
	Err  error
}

func (e *OpenError) Error() string { return "open Redis " + e.Spec + ": " + e.Err.Error() }

func (e *OpenError) Unwrap() error { return e.Err }

// openError makes the OpenError for spec, or completes the one that err is.
func openError(spec string, err error) *OpenError {
	e, ok := errors.AsType[*OpenError](err)
	if !ok {
		e = &OpenError{Err: err}
	}
	e.Spec = redact(spec)
	return e
}

// redact makes a spec safe to print. It trusts no parser, because a password
// with an unescaped '/', '?' or '#' is where parsers go wrong: everything up to
// the last '@' is taken for credentials, and parameters are cut off.
func redact(spec string) string {
	if spec == "" {
		return `""`
	}
	scheme, rest, found := strings.Cut(spec, "://")
	if !found {
		scheme, rest = "", spec
	} else {
		scheme += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && !strings.HasPrefix(rest, "/") {
		user, _, complete := strings.Cut(rest[:at], ":")
		if !complete {
			user = "" // a lone name is often a password that lost its colon
		}
		rest = user + ":***" + rest[at:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + rest
}

// scrub returns err, or if its text quotes the secret, a copy of the text
// without it: servers echo the arguments of commands that they do not know.
// What is not quoted is prose, where a gap would give a short secret away.
func scrub(err error, secret string) error {
	if secret == "" {
		return err
	}
	text := strings.NewReplacer("'"+secret+"'", "'***'", "`"+secret+"`", "`***`", `"`+secret+`"`, `"***"`).Replace(err.Error())
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
