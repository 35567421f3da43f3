package cmd

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// What a machine should be like, so that requests are sent when they are planned.
const (
	lateTimers  = time.Millisecond // one in a hundred
	stallJump   = 200 * time.Microsecond
	stallShare  = 0.05 // of the time that somebody else had the core for
	stallLength = 300 * time.Millisecond
	slowClock   = time.Microsecond // to read it
	busyMachine = 0.5              // processes that want a core, of each core
)

// environment names the variables that stand in for flags.
func (d *checkup) environment() {
	var set []string
	for name := range d.experiment.fromEnv {
		set = append(set, "RLBENCH_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	}
	slices.Sort(set)
	if len(set) > 0 {
		d.add("environment", report.StatusOK, "", "%s stand in for flags", strings.Join(set, ", "))
	}
}

// machine looks at this machine.
func (d *checkup) machine(ctx context.Context) {
	cores, usable := runtime.NumCPU(), runtime.GOMAXPROCS(0)
	text := fmt.Sprintf("%d", cores)
	if usable < cores {
		text += fmt.Sprintf(", of which Go may use %d", usable)
	}
	d.add("cores", unless(usable < 2, report.StatusWarn), "give it two cores: what sends and what answers share one now", "%s", text)
	d.load()
	d.clocksource()
	d.governor()
	if ctx.Err() != nil {
		return
	}
	late := runner.Punctuality(ctx, 200, 2*time.Millisecond)
	if len(late) > 0 {
		slices.Sort(late)
		p50, p99 := late[len(late)/2], late[len(late)*99/100]
		d.add("timers", unless(p99 > lateTimers, report.StatusWarn), "requests will be that late in real time: stop what else runs here, or use --clock virtual for counts",
			"a request is sent %s late (p50), %s (p99)", short(p50), short(p99))
	}
	begun := time.Now()
	lost, longest := runner.Stalls(ctx, stallLength, stallJump)
	looked := max(stallLength, time.Since(begun)) // longer, if the last stall went on
	share := float64(lost) / float64(looked)
	d.add("stalls", unless(share > stallShare, report.StatusWarn), "other processes or machines use this core: stop them, or pin rlbench to another (taskset -c 1 rlbench ...)",
		"others had the core for %.1f%% of %s, at most %s at a time", share*100, short(looked), short(longest))
}

// load is how many processes want a core, where the system tells.
func (d *checkup) load() {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return
	}
	d.add("load", unless(load > busyMachine*float64(runtime.NumCPU()), report.StatusWarn), "see what runs: top; and measure when it has ended", "%.2f processes wanted a core in the last minute", load)
}

// clocksource is how the system reads its clock, and what that takes.
func (d *checkup) clocksource() {
	const reads = 10_000
	begin := time.Now()
	for range reads {
		_ = time.Now()
	}
	each := time.Since(begin) / reads
	text := fmt.Sprintf("reading the clock takes %s", each)
	if source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource"); err == nil {
		text += " (" + strings.TrimSpace(string(source)) + ")"
	}
	d.add("clock source", unless(each > slowClock, report.StatusWarn), "let the kernel use a faster one: see /sys/devices/system/clocksource/clocksource0/available_clocksource", "%s", text)
}

// governor is how cores choose their speed, where the system tells.
func (d *checkup) governor() {
	paths, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	found := map[string]bool{}
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			found[strings.TrimSpace(string(data))] = true
		}
	}
	if len(found) > 0 {
		d.add("governor", unless(found["powersave"], report.StatusWarn), "cpupower frequency-set -g performance", "cores choose their speed by %s", strings.Join(slices.Sorted(maps.Keys(found)), ", "))
	}
}
