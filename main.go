// Command rlbench replays scripted traffic against rate limiters, judges every
// decision and reports what they really admitted and what it cost.
package main

import (
	"os"

	"github.com/rlbench/rlbench/cmd"
)

func main() { os.Exit(cmd.Main(os.Args[1:], cmd.System())) }
