package cmd

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkBoundaryBurst is the whole program as a user starts it: a private
// redis-server, three limiters, 600 requests, a table. The time of an operation
// is wall time.
func BenchmarkBoundaryBurst(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rlbench")
	if out, err := exec.Command("go", "build", "-o", path, "..").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		if out, err := exec.Command(path, "run", "boundary-burst", "--redis", "managed").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
