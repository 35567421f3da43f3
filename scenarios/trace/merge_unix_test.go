//go:build unix

package trace

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to cannot even be opened.
func TestReaderStopsOpening(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := stopped(fifo, Options{}); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err) // whoever waits to open it is still there
	}
	f.Close()
}
