package backend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Health is what of a server's state distorts what is measured on it. What the server
// does not tell is the zero value.
type Health struct {
	Told         bool   // whether it told anything: an embedded server does not
	Role         string // "master" or "slave"
	Loading      bool
	Saving       bool // a snapshot or a rewrite of its log is under way
	AppendOnly   bool
	AppendFsync  string // "always", "everysec" or "no", with AppendOnly
	MaxMemory    int64  // bytes; 0 is no bound
	UsedMemory   int64
	Policy       string // what it evicts when that is full
	Clients      int64
	MaxClients   int64
	OpsPerSecond int64 // of all its clients, lately
}

// Health asks for it.
func (s *Server) Health(ctx context.Context) (Health, error) {
	all := map[string]string{}
	for _, section := range []string{"replication", "persistence", "memory", "clients", "stats"} {
		fields, err := s.info(ctx, section)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			return Health{}, fmt.Errorf("examine Redis: %w", err)
		}
		for name, value := range fields {
			all[name] = value
		}
	}
	h := Health{
		Told: all["role"] != "", Role: all["role"], Policy: all["maxmemory_policy"],
		Loading: all["loading"] == "1", AppendOnly: all["aof_enabled"] == "1",
		Saving:    all["rdb_bgsave_in_progress"] == "1" || all["aof_rewrite_in_progress"] == "1",
		MaxMemory: whole(all["maxmemory"]), UsedMemory: whole(all["used_memory"]),
		Clients: whole(all["connected_clients"]), MaxClients: whole(all["maxclients"]),
		OpsPerSecond: whole(all["instantaneous_ops_per_sec"]),
	}
	if h.AppendOnly {
		h.AppendFsync, _ = s.config(ctx, "appendfsync") // not everybody may ask
	}
	return h, nil
}

// whole is a number of INFO, 0 if it is none.
func whole(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// RoundTrips times so many PINGs, one after another, on a connection that is open.
func (s *Server) RoundTrips(ctx context.Context, n int) ([]time.Duration, error) {
	trips := make([]time.Duration, 0, n)
	for i := range n + 1 {
		sent := time.Now()
		if err := s.client.Ping(ctx).Err(); err != nil {
			return trips, fmt.Errorf("ping Redis: %w", err)
		}
		if i > 0 { // the first may have had to connect
			trips = append(trips, time.Since(sent))
		}
	}
	return trips, nil
}
