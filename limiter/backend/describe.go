package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// Description says what a server is. What it does not tell is empty.
type Description struct {
	Name            string // "redis", "valkey", "miniredis", "dragonfly", "keydb", ...
	Version         string // its own, not that of the Redis it is compatible with
	Mode            string // "standalone", "cluster" or "sentinel"
	MaxmemoryPolicy string // what it evicts when memory is full, such as "noeviction"
}

// Describe asks the server what it is.
func (s *Server) Describe(ctx context.Context) (Description, error) {
	if s.flavour == Embedded {
		return Description{Name: "miniredis", Version: miniredisVersion(), Mode: "standalone"}, nil
	}
	d, err := s.describe(ctx)
	if err != nil {
		return Description{}, fmt.Errorf("describe Redis: %w", err)
	}
	return d, nil
}

func (s *Server) describe(ctx context.Context) (Description, error) {
	server, err := s.info(ctx, "server")
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return Description{}, err
	}
	// INFO tells the policy to users and on platforms that may not CONFIG GET.
	memory, err := s.info(ctx, "memory")
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return Description{}, err
	}
	d := Description{MaxmemoryPolicy: memory["maxmemory_policy"], Mode: server["redis_mode"]}
	if mode := server["server_mode"]; mode != "" {
		d.Mode = mode
	}
	d.Name, d.Version = product(server)
	return d, nil
}

// product tells who made the server. Others than Redis also report a
// redis_version, for the sake of old clients.
func product(server map[string]string) (name, version string) {
	for _, name := range []string{"valkey", "dragonfly", "keydb", "kvrocks", "garnet", "redict"} {
		if version := server[name+"_version"]; version != "" {
			return name, version
		}
	}
	version = server["redis_version"]
	switch {
	case server["server_name"] != "":
		return strings.ToLower(server["server_name"]), version
	case strings.Contains(server["executable"], "keydb"):
		return "keydb", version
	case version != "":
		return "redis", version
	}
	return "", ""
}

// miniredisVersion is empty in a binary without module data, such as a test.
func miniredisVersion() string {
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return ""
	}
	for _, module := range build.Deps {
		if module.Path == "github.com/alicebob/miniredis/v2" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}
