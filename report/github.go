package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlbench/rlbench/scenarios"
)

const (
	// summarySize is how long a step summary is at most, in bytes.
	summarySize = 64 << 10
	// annotationsShown is how many of a kind GitHub shows of a step.
	annotationsShown = 10
)

// renderGitHub writes workflow commands: an error for what fails, a warning for what is
// inconclusive or only warned about, as many as GitHub shows, and how many more there
// are.
func renderGitHub(w io.Writer, r *Report, _ Options) error {
	var b strings.Builder
	for _, level := range []string{"error", "warning"} {
		all := annotations(r, level)
		shown := all
		if len(all) > annotationsShown {
			shown = all[:annotationsShown-1]
		}
		for _, a := range shown {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, propertyEscape.Replace(a.title), dataEscape.Replace(a.message))
		}
		if len(shown) < len(all) {
			fmt.Fprintf(&b, "::%s title=rlbench::%d more; the step summary has all\n", level, len(all)-len(shown))
		}
	}
	fmt.Fprintf(&b, "::notice title=rlbench::%s: %s\n", r.Verdict, dataEscape.Replace(summary(r)))
	_, err := io.WriteString(w, b.String())
	return err
}

type annotation struct{ title, message string }

// annotations are all of a level.
func annotations(r *Report, level string) []annotation {
	var all []annotation
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, same := range r.defects(s) {
			f := same[0]
			if severe := f.Verdict == scenarios.Fail && !f.Warn; severe != (level == "error") {
				continue
			}
			title := "rlbench " + f.Scenario + ", " + f.Limiter
			if f.Phase != "" {
				title += ", phase " + f.Phase
			}
			lines := []string{printable("[" + f.Check + "] " + f.Message + inRunsOf(r, s, same))}
			for _, line := range f.Evidence {
				lines = append(lines, printable(line))
			}
			all = append(all, annotation{printable(title), strings.Join(lines, "\n")})
		}
	}
	if level == "warning" {
		for _, reason := range reasonsOnce(r) {
			all = append(all, annotation{printable("rlbench " + reason.Code), printable(reason.Message) + "\nhint: " + printable(reason.Hint)})
		}
	}
	return all
}

// What a workflow command takes for its own, in its message and in its properties.
var (
	dataEscape     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscape = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHubSummary is Markdown for the summary of a step, of at most 64 KiB: what fails
// is in it even if it has to leave out all else.
func GitHubSummary(r *Report, c *Comparison) (string, error) {
	changes, err := changesOf(c)
	if err != nil {
		return "", err
	}
	for _, d := range []detail{everything, noPhases, noTables} {
		text, err := markdown(r, d)
		if text += changes; err != nil || len(text) <= summarySize {
			return text, err
		}
		if d == noTables {
			const cut = "\n\n(cut: the rest is in the report)\n"
			text = strings.ToValidUTF8(text[:summarySize-len(cut)], "")
			return text[:strings.LastIndexByte(text, '\n')+1] + cut, nil
		}
	}
	return "", nil
}

// changesOf are what changed, as a part of a summary; empty without a comparison.
func changesOf(c *Comparison) (string, error) {
	if c == nil {
		return "", nil
	}
	var b strings.Builder
	b.WriteString("\n")
	err := renderComparisonMarkdown(&b, c, Options{})
	return b.String(), err
}

// GitHubError is an annotation about what kept a command from having a report, and the
// summary of the step.
func GitHubError(message, hint string) (note, summary string) {
	if hint != "" {
		message += "\nhint: " + hint
	}
	lines := strings.Split(message, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	note = fmt.Sprintf("::error title=rlbench::%s\n", dataEscape.Replace(strings.Join(lines, "\n")))
	for i := range lines {
		lines[i] = markdownText(lines[i])
	}
	return note, "# rlbench: no report\n\n" + strings.Join(lines, "\n\n") + "\n"
}

// GitHubChanges is an annotation about what changed: an error if that ends the job.
func GitHubChanges(c *Comparison) string {
	level := map[scenarios.Verdict]string{scenarios.Pass: "notice", scenarios.Inconclusive: "warning", scenarios.Fail: "error"}[c.Gated()]
	return fmt.Sprintf("::%s title=rlbench compare::%s\n", level, dataEscape.Replace(c.Brief()))
}

// GitHubOutputs are the outputs of a step, one a line.
func GitHubOutputs(r *Report, exit int) string {
	failed := 0
	for _, f := range r.Findings {
		if f.Verdict == scenarios.Fail && !f.Warn {
			failed++
		}
	}
	return fmt.Sprintf("verdict=%s\nexit=%d\ninterrupted=%t\nfailed=%d\n", r.Verdict, exit, r.Interrupted, failed)
}
