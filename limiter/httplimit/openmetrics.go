package httplimit

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Metrics serves what the writers write as one OpenMetrics 1.0 text. Each writes
// whole metric families that no other one writes, and no "# EOF". If one fails,
// the answer is 500 without its words.
func Metrics(writers ...func(io.Writer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var text bytes.Buffer
		for _, write := range writers {
			if err := write(&text); err != nil {
				http.Error(w, "metrics cannot be written", http.StatusInternalServerError)
				return
			}
		}
		text.WriteString("# EOF\n")
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		_, _ = w.Write(text.Bytes()) // the scraper may be gone
	})
}

// WriteOpenMetrics writes the counters as OpenMetrics families, without the
// final "# EOF"; pass it to Metrics. Families of two middlewares would collide.
func (c *Counters) WriteOpenMetrics(w io.Writer) error {
	var b bytes.Buffer
	family(&b, "ratelimit_requests", "Requests that were to be charged, by what became of them.")
	for _, o := range outcomes {
		sample(&b, "ratelimit_requests", c.Requests(o), "outcome", string(o))
	}
	policies := c.Policies()
	family(&b, "ratelimit_decisions", "Decisions by policy; uncharged is an admission that another policy undid.")
	for _, p := range policies {
		for _, n := range []struct {
			outcome string
			count   int64
		}{{"admitted", p.Admitted}, {"denied", p.Denied}, {"would_deny", p.WouldDeny}, {"uncharged", p.Uncharged}} {
			sample(&b, "ratelimit_decisions", n.count, "policy", p.Policy, "outcome", n.outcome)
		}
	}
	family(&b, "ratelimit_failure_decisions", "Decisions that a failure policy made, by policy and source.")
	for _, p := range policies {
		for _, source := range slices.Sorted(maps.Keys(p.Failures)) {
			sample(&b, "ratelimit_failure_decisions", p.Failures[source], "policy", p.Policy, "source", string(source))
		}
	}
	family(&b, "ratelimit_errors", "Requests without a decision, by policy.")
	for _, p := range policies {
		sample(&b, "ratelimit_errors", p.Errors, "policy", p.Policy)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// family begins a family of counters.
func family(b *bytes.Buffer, name, help string) {
	fmt.Fprintf(b, "# TYPE %s counter\n# HELP %s %s\n", name, name, labelEscape.Replace(help))
}

// sample writes one; labels are names and values in turn.
func sample(b *bytes.Buffer, name string, value int64, labels ...string) {
	b.WriteString(name + "_total")
	for i := 0; i < len(labels); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(labels[i] + `="` + labelEscape.Replace(labels[i+1]) + `"`)
	}
	fmt.Fprintf(b, "} %d\n", value)
}

var labelEscape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
