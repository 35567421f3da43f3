package cmd

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rlbench/rlbench/report"
)

// Host is everything that a command takes from its surroundings, so that tests
// can stand in for them.
type Host struct {
	In       io.Reader
	Out, Err io.Writer
	// Env looks an environment variable up.
	Env func(string) (string, bool)
	// Now is the wall clock, for the report's date.
	Now func() time.Time
	// Stopwatch is monotonic time; nil is real time.
	Stopwatch func() time.Duration
	// Signals delivers interrupts; stop ends the delivery.
	Signals func() (signals <-chan os.Signal, stop func())
	// Machine describes the program and where it runs.
	Machine func() report.Env
}

// System is the real host.
func System() Host {
	// Else a pipe that nobody reads ends the program where it stands, with keys left behind
	// and results unsaved. It is not ignored, which a private server would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Host{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Env: os.LookupEnv, Now: time.Now, Signals: systemSignals, Machine: machine,
	}
}

func systemSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// terminal is the width of a stream that is a terminal, and 0 for one that is
// not.
func (h Host) terminal(stream io.Writer) int {
	f, ok := bare(stream).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// dumb reports whether escape codes are unwelcome even on a terminal.
func (h Host) dumb() bool {
	kind, _ := h.Env("TERM")
	return kind == "dumb"
}

func machine() report.Env {
	return report.Env{
		Rlbench: version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPU: cpuModel(), Cores: runtime.NumCPU(),
	}
}

// version is the module version, or the commit of a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "devel"
	}
	v := "devel-" + revision[:min(12, len(revision))]
	if settings["vcs.modified"] == "true" {
		v += "-dirty"
	}
	return v
}

// cpuModel is the processor's name where the system tells it, else empty.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
