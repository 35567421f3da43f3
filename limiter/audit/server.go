package audit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// facts are settings and figures of a server, by their names in CONFIG and INFO.
// What it does not tell is missing.
type facts map[string]string

// setting is one thing that CONFIG tells.
type setting struct {
	name string // as CONFIG GET takes it
	what string // for people
	info string // field of INFO that tells it to who may not CONFIG; may be empty
}

var settings = []setting{
	{"maxmemory", "maxmemory", "maxmemory"},
	{"maxmemory-policy", "maxmemory-policy", "maxmemory_policy"},
	{"appendonly", "appendonly", "aof_enabled"},
	{"save", "save points", ""},
	{"slowlog-log-slower-than", "the threshold of the slow log", ""},
	{"slowlog-max-len", "the length of the slow log", ""},
	{"notify-keyspace-events", "keyspace notifications", ""},
}

// judgements are what is said about settings. Each is given the facts, of which
// some may be missing, and returns "" if there is nothing to say.
var judgements = []struct {
	code Code
	say  func(facts) string
}{
	{Eviction, evicts},
	{AppendOnly, func(f facts) string {
		return when(f["appendonly"] == "yes" || f["appendonly"] == "1", "appendonly is on")
	}},
	{Snapshots, func(f facts) string { return when(f["save"] != "", "save points are %q", f["save"]) }},
	{SlowlogOn, slowlogOn},
	{Notifications, func(f facts) string {
		return when(f["notify-keyspace-events"] != "", "notify-keyspace-events is %q", f["notify-keyspace-events"])
	}},
	{Replicas, func(f facts) string {
		return when(f["connected_slaves"] != "" && f["connected_slaves"] != "0", "%s are connected", counted(f["connected_slaves"], "replica"))
	}},
	{IsReplica, func(f facts) string { return when(f["role"] == "slave", "role is replica") }},
}

func when(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func counted(number, what string) string {
	n, _ := strconv.Atoi(number)
	return plural(n, what)
}

func evicts(f facts) string {
	policy, max := f["maxmemory-policy"], f["maxmemory"]
	return when(policy != "" && policy != "noeviction" && max != "" && max != "0", "maxmemory-policy is %s, maxmemory %s bytes", policy, max)
}

func slowlogOn(f facts) string {
	threshold, err := strconv.ParseInt(f["slowlog-log-slower-than"], 10, 64)
	length := f["slowlog-max-len"]
	return when(err == nil && threshold >= 0 && length != "0", "commands of %d µs and more are kept, the last %s", threshold, length)
}

// server looks at settings and logs.
func (s *sweep) server(ctx context.Context) error {
	f, err := s.facts(ctx)
	if err != nil {
		return err
	}
	for _, j := range judgements {
		if text := j.say(f); text != "" {
			s.tally.say(j.code, KindOf(j.code).Doc+": "+text)
		}
	}
	s.databases(f)
	for _, look := range []func(context.Context, facts) error{s.size, s.cluster, s.clients, s.slowlog} {
		if err := look(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// facts asks INFO, then CONFIG for what it tells better.
func (s *sweep) facts(ctx context.Context) (facts, error) {
	f := facts{}
	text, err := s.client.Info(ctx).Result()
	if err = s.refused("INFO", "replicas, databases, the role of the server", 0, err); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			f[name] = value
		}
	}
	replies := make([]*redis.Cmd, len(settings))
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		for i, one := range settings {
			replies[i] = p.Do(ctx, "CONFIG", "GET", one.name)
		}
		return nil
	})
	var missing []string
	var refusal error
	for i, one := range settings {
		pair, err := replies[i].StringSlice()
		if err == nil && len(pair) == 2 {
			f[one.name] = pair[1]
			continue
		}
		if told, ok := f[one.info]; ok && one.info != "" {
			f[one.name] = told
			continue
		}
		if err == nil { // the server has no such setting
			continue
		}
		missing, refusal = append(missing, one.what), err
	}
	return f, s.refused("CONFIG GET", strings.Join(missing, ", "), 0, refusal)
}

// databases says whether others than the one in the URL hold keys.
func (s *sweep) databases(f facts) {
	var others []string
	for name := range f {
		number, ok := strings.CutPrefix(name, "db")
		if n, err := strconv.Atoi(number); ok && err == nil && n != s.result.Database {
			others = append(others, name)
		}
	}
	if slices.Sort(others); len(others) > 0 {
		s.tally.say(OtherDatabases, KindOf(OtherDatabases).Doc+": "+strings.Join(others, ", "))
	}
}

func (s *sweep) size(ctx context.Context, _ facts) error {
	n, err := s.client.DBSize(ctx).Result()
	if err == nil {
		s.result.Total = n
	}
	return s.refused("DBSIZE", "how many keys there are", 0, err)
}

// cluster says that one node is not all, unless it is the only one with slots.
func (s *sweep) cluster(ctx context.Context, f facts) error {
	if f["cluster_enabled"] != "1" && f["redis_mode"] != "cluster" {
		return nil
	}
	text, err := s.client.ClusterInfo(ctx).Result()
	if err != nil {
		return s.refused("CLUSTER INFO", "the other nodes of the cluster", 0, err)
	}
	if n := primaries(text); n > 1 {
		s.tally.gap(Gap{
			Code: "cluster-node", Message: fmt.Sprintf("%s is one of %d primaries of a cluster; the keys of the others were not looked at", s.result.Node, n),
			Hint: "audit the other primaries too, one by one: redis-cli cluster nodes",
		})
	}
	return nil
}

// primaries is how many nodes of a cluster have slots.
func primaries(clusterInfo string) int {
	for line := range strings.Lines(clusterInfo) {
		if size, ok := strings.CutPrefix(strings.TrimSpace(line), "cluster_size:"); ok {
			n, _ := strconv.Atoi(size)
			return n
		}
	}
	return 0
}
