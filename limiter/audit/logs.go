package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	slowlogEntries = 128    // entries of the slow log that are read; it keeps as many by default
	mostClients    = 10_000 // of a list that has no pages
)

// slowlog looks for addresses and keys of limiters in the slow log. Redis keeps
// the first 31 arguments and 128 bytes of each.
func (s *sweep) slowlog(ctx context.Context, _ facts) error {
	entries, err := s.client.Do(ctx, "SLOWLOG", "GET", slowlogEntries).Slice()
	if err != nil {
		return s.refused("SLOWLOG GET", "whether the slow log holds addresses", 0, err)
	}
	identities := int64(0)
	for _, entry := range entries {
		fields, _ := entry.([]any)
		if len(fields) < 4 {
			continue
		}
		named := false
		for _, arg := range texts(fields[3]) {
			for _, m := range s.matcher.Find([]byte(arg)) {
				s.tally.add(SlowlogAddress, InServer, m.Form, "", Example{Shown: m.Shown()})
			}
			_, isOurs := windowOf(arg)
			named = named || isOurs || s.options.Prefix != "" && strings.HasPrefix(arg, s.options.Prefix)
		}
		if named {
			identities++
		}
	}
	if identities > 0 {
		s.tally.say(SlowlogIdentity, fmt.Sprintf("%s: %s of the last %d", KindOf(SlowlogIdentity).Doc, plural(int(identities), "command"), len(entries)))
	}
	return nil
}

// clients looks for somebody who reads along.
func (s *sweep) clients(ctx context.Context, f facts) error {
	if n, _ := strconv.Atoi(f["connected_clients"]); n > mostClients {
		s.tally.gap(Gap{Code: "too-many-clients", Command: "CLIENT LIST", Message: fmt.Sprintf("CLIENT LIST: not asked of a server with %d clients; not checked: who uses MONITOR", n), Hint: "redis-cli client list | grep flags=O"})
		return nil
	}
	text, err := s.client.ClientList(ctx).Result()
	if err != nil {
		return s.refused("CLIENT LIST", "who uses MONITOR", 0, err)
	}
	monitors := 0
	for line := range strings.Lines(text) {
		for field := range strings.FieldsSeq(line) {
			if flags, ok := strings.CutPrefix(field, "flags="); ok && strings.Contains(flags, "O") {
				monitors++
			}
		}
	}
	if monitors > 0 {
		s.tally.say(Monitor, fmt.Sprintf("%s: %s", KindOf(Monitor).Doc, plural(monitors, "client")))
	}
	return nil
}
