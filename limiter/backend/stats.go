package backend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CommandStats are the server's counters by command, in lower case, subcommands
// as "client|list". They count since the server started, for all its clients.
type CommandStats map[string]CommandStat

// CommandStat is what a server counted for one command.
type CommandStat struct {
	Calls  int64
	Micros int64 // microseconds of the server's time for all calls
	Failed int64 // calls that ended with an error; not counted before Redis 6.2
}

// CommandStats reads the counters. If the server has none (it is embedded, or
// refuses), the error wraps errors.ErrUnsupported.
func (s *Server) CommandStats(ctx context.Context) (CommandStats, error) {
	fields, err := s.info(ctx, "commandstats")
	if err != nil {
		return nil, fmt.Errorf("read command statistics: %w", err)
	}
	stats := CommandStats{}
	for field, value := range fields {
		command, ok := strings.CutPrefix(field, "cmdstat_")
		if !ok {
			continue
		}
		if stats[strings.ToLower(command)], err = parseStat(value); err != nil {
			return nil, fmt.Errorf("read command statistics: %s:%s: %w", field, value, err)
		}
	}
	return stats, nil
}

// Reads is how often the server has read from its clients since it started:
// about once for each request. The error wraps errors.ErrUnsupported as that of
// CommandStats does, and where the server does not count.
func (s *Server) Reads(ctx context.Context) (int64, error) {
	fields, err := s.info(ctx, "stats")
	if err != nil {
		return 0, fmt.Errorf("count reads: %w", err)
	}
	reads, err := strconv.ParseInt(fields["total_reads_processed"], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count reads: %w", errors.ErrUnsupported)
	}
	return reads, nil
}

// parseStat reads "calls=1,usec=2,usec_per_call=2.00,...".
func parseStat(text string) (c CommandStat, err error) {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "calls":
			c.Calls, err = strconv.ParseInt(value, 10, 64)
		case "usec":
			c.Micros, err = strconv.ParseInt(value, 10, 64)
		case "failed_calls":
			c.Failed, err = strconv.ParseInt(value, 10, 64)
		}
		if err != nil {
			return CommandStat{}, err
		}
	}
	return c, nil
}

// info reads a section of INFO. A refusal wraps errors.ErrUnsupported.
func (s *Server) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.manager.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, unsupported(err))
	}
	return parseInfo(text), nil
}

func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// process is the id of the server's process.
func (s *Server) process(ctx context.Context) (pid int, err error) {
	server, err := s.info(ctx, "server")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(server["process_id"])
}
