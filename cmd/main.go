// Package cmd is the command line: one file a command, each flags to options to
// a plain function. It is where the packages below meet.
package cmd

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/scenarios"
)

// Main runs rlbench with arguments and returns its exit code. It never exits by
// itself.
func Main(args []string, h Host) (code int) {
	out := &remembering{w: h.Out}
	h.Err = &remembering{w: h.Err}
	a := &app{Host: h, args: args, command: commandLine(args)}
	a.Out = out
	root := a.root()
	root.SetArgs(args)
	root.SetIn(h.In)
	root.SetOut(out)
	root.SetErr(h.Err)
	defer func() {
		if r := recover(); r != nil {
			printError(h.Err, internal(fmt.Errorf("panic: %v\n%s", r, debug.Stack())))
			code = exitInternal
		}
	}()
	c, err := root.ExecuteC()
	code = codeOf(err)
	var quiet *verdictError
	var classified *problem
	switch {
	case out.err != nil && !errors.As(err, &classified) && !errors.As(err, &quiet):
		code = exitInternal
		printError(h.Err, &problem{code, fmt.Errorf("write to stdout: %w", out.err), "make room, or send the output elsewhere"})
	case errors.As(err, &quiet):
		code = quiet.code
	case err != nil:
		printError(h.Err, err)
		a.tellGitHub(c, err, code)
	}
	if c.Annotations[judges] != "" && !c.Flags().Changed("help") {
		a.writeVerdict(code)
	}
	return code
}

// judges annotates commands that end with a verdict line.
const judges = "judges"

// app is one invocation.
type app struct {
	Host
	// command is how rlbench was called, fit to be kept.
	command []string
	// fromEnv names the flags that an environment variable set.
	fromEnv map[string]bool
	verdict scenarios.Verdict
	args    []string
	// published says that the files of a step of GitHub have the report.
	published bool
}

var credentials = regexp.MustCompile(`(\w+://)\S*@`)

// commandLine is what a report keeps of the arguments: all but passwords.
func commandLine(args []string) []string {
	kept := []string{"rlbench"}
	for _, arg := range args {
		kept = append(kept, credentials.ReplaceAllString(arg, "${1}redacted@"))
	}
	return kept
}

// verdictError carries an exit code whose cause the report already told.
type verdictError struct{ code int }

func (v *verdictError) Error() string { return fmt.Sprintf("exit %d", v.code) }

// writeVerdict writes the last line of stderr, for wrappers that hide exit codes.
func (a *app) writeVerdict(code int) {
	verdict := string(a.verdict)
	if verdict == "" {
		verdict = "none"
	}
	fmt.Fprintf(a.Err, "rlbench: verdict=%s exit=%d\n", verdict, code)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "rlbench",
		Short: "Load and boundary-burst tester for rate limiters",
		Long: `rlbench replays scripted traffic against rate limiters, judges every decision,
and reports how many requests were really admitted, whether that was right, and
what it cost.

  rlbench run boundary-burst        two budgets around a window edge, three algorithms
  rlbench plan boundary-burst       what would be sent, and what each should admit
  rlbench list                      what there is`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range c.Commands() {
				names = append(names, sub.Name())
			}
			return usagef("rlbench --help", "unknown command %q%s", args[0], scenarios.DidYouMean(args[0], names))
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if !c.HasParent() && len(a.args) > 0 && !strings.HasPrefix(a.args[0], "-") {
			return root.Args(c, a.args) // the flags are of the command that was meant
		}
		return usage(suggestFlag(c, err), c.CommandPath()+" --help")
	})
	for _, command := range commands {
		c := command(a)
		c.PreRunE = a.environment(c.PreRunE)
		root.AddCommand(c)
	}
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What each exit code means", Long: exitCodes})
	return root
}

// commands is the table of all commands. To add one, add its row.
var commands = []func(*app) *cobra.Command{
	runCommand, planCommand, serveCommand, listCommand, showCommand, validateCommand, initCommand, reportCommand, compareCommand, calibrateCommand, auditCommand, selftestCommand, doctorCommand, tuneCommand, versionCommand,
}
