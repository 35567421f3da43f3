package cmd

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
)

// auditSpec is the URL of the Redis to look at: the flag, which RLBENCH_REDIS
// fills, or REDIS_URL. A private server would be empty.
func auditSpec(a *app, spec string) (string, error) {
	const example = "rlbench audit --redis redis://localhost:6379"
	if spec == "" {
		spec, _ = a.Env("REDIS_URL")
	}
	switch spec {
	case "":
		return "", usagef(example, "audit: no Redis is named; RLBENCH_REDIS and REDIS_URL are not set either")
	case backend.Auto, string(backend.Managed), string(backend.Embedded):
		return "", usagef(example, "--redis %s cannot apply: a private server holds nothing to look at", spec)
	}
	if err := backend.Check(spec); err != nil {
		hint := example
		var open *backend.OpenError
		if errors.As(err, &open) && !strings.Contains(open.Hint, "auto") {
			hint = open.Hint
		}
		return "", usage(err, hint)
	}
	return spec, nil
}

// withoutPrivate takes advice out of a hint that is none here: to use a private
// server instead.
func withoutPrivate(err error) error {
	var p *problem
	if !errors.As(err, &p) {
		return err
	}
	hint, _, _ := strings.Cut(p.hint, "; or use --redis managed")
	return &problem{p.code, p.err, hint}
}

// auditTrouble classifies what ended an audit early.
func auditTrouble(err error) error {
	if err == nil {
		return nil
	}
	return &problem{exitTarget, err, "run it again, with a longer --timeout if the server is slow"}
}

// addressesOf reads addresses of flags.
func addressesOf(flags []string) (all []netip.Addr, errs []error) {
	n := 0
	for _, flag := range flags {
		for text := range strings.SplitSeq(flag, ",") {
			n++
			address, err := netip.ParseAddr(strings.TrimSpace(text))
			if err != nil {
				errs = append(errs, fmt.Errorf("--address: number %d is no IP address", n))
				continue
			}
			all = append(all, address)
		}
	}
	return all, errs
}

// addressesIn reads a file of addresses, one a line, with blank lines and
// comments.
func (a *app) addressesIn(name string) (all []netip.Addr, err error) {
	data, err := a.readAll(name)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	const most = 10 // lines that are told
	var errs []error
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		address, err := netip.ParseAddr(text)
		if err != nil {
			if len(errs) < most {
				errs = append(errs, fmt.Errorf("%s:%d: no IP address", name, n))
			}
			continue
		}
		all = append(all, address)
	}
	if len(all) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s holds no address", name))
	}
	return all, errors.Join(errs...)
}

func tooManyAddresses(n int) error {
	return fmt.Errorf("%d addresses are given, want at most %d: thousands of digests are made of each", n, audit.MaxAddresses)
}

// withoutAddresses is what a document keeps of a command line: no address, other
// than in the URL of the server.
func withoutAddresses(command []string) []string {
	var written audit.Matcher
	kept := make([]string, len(command))
	next := false
	for i, arg := range command {
		switch {
		case next:
			arg = "redacted"
		case strings.HasPrefix(arg, "--address="):
			arg = "--address=redacted"
		case !strings.Contains(arg, "://"):
			arg = written.Redact(arg)
		}
		next = !next && command[i] == "--address"
		kept[i] = arg
	}
	return kept
}
