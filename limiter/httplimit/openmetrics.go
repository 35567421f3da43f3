package httplimit

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/rlbench/rlbench/limiter/openmetrics"
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
		text.WriteString(openmetrics.EOF)
		w.Header().Set("Content-Type", openmetrics.ContentType)
		_, _ = w.Write(text.Bytes()) // the scraper may be gone
	})
}

// WriteOpenMetrics writes the counters as OpenMetrics families, without the
// final "# EOF"; pass it to Metrics. Families of two middlewares would collide.
func (c *Counters) WriteOpenMetrics(w io.Writer) error {
	var text openmetrics.Text
	family := text.Counter("ratelimit_requests", "", "Requests that were to be charged, by what became of them.")
	for _, o := range outcomes {
		family.Count(c.Requests(o), "outcome", string(o))
	}
	policies := c.Policies()
	family = text.Counter("ratelimit_decisions", "", "Decisions by policy; uncharged is an admission that another policy undid.")
	for _, p := range policies {
		for _, n := range []struct {
			outcome string
			count   int64
		}{{"admitted", p.Admitted}, {"denied", p.Denied}, {"would_deny", p.WouldDeny}, {"uncharged", p.Uncharged}} {
			family.Count(n.count, "policy", p.Policy, "outcome", n.outcome)
		}
	}
	family = text.Counter("ratelimit_failure_decisions", "", "Decisions that a failure policy made, by policy and source.")
	for _, p := range policies {
		for _, source := range slices.Sorted(maps.Keys(p.Failures)) {
			family.Count(p.Failures[source], "policy", p.Policy, "source", string(source))
		}
	}
	family = text.Counter("ratelimit_errors", "", "Requests without a decision, by policy.")
	for _, p := range policies {
		family.Count(p.Errors, "policy", p.Policy)
	}
	_, err := w.Write(text.Bytes())
	return err
}
