package report

import (
	"io"
	"slices"

	"github.com/rlbench/rlbench/limiter"
)

// TuningFormats is the table of all formats of tunings.
var TuningFormats = Formatters[*Tuning]{
	{"table", "the recommendation and tables for people, fitted to the terminal", renderTuningTable},
	{"json", "the whole document, schema " + TuningSchema, renderTuningJSON},
	{"markdown", "tables for a pull request or a wiki", renderTuningMarkdown},
	{"html", "a page with pictures that needs no network", renderTuningHTML},
	{"csv", "a line for each policy, with all its figures", renderTuningCSV},
}

func renderTuningJSON(w io.Writer, t *Tuning, _ Options) error { return encode(w, "tuning", t) }

// ordinary is how many clients are not heavy.
func (t *Tuning) ordinary() int64 { return max(t.Log.Clients-t.Heavy.Clients, 0) }

// policyID is what makes a policy.
type policyID struct {
	algorithm       string
	windowUS, limit int64
	key             string
}

func (p *Policy) id() policyID { return policyID{p.Algorithm, p.WindowUS, p.Limit, p.Key} }

// taken is a choice and what it is called.
type taken struct {
	word string
	*Choice
}

// chosen are all choices, the recommended one first.
func (t *Tuning) chosen() []taken {
	var all []taken
	if t.Recommended != nil {
		all = append(all, taken{"recommended", t.Recommended})
	}
	if t.RunnerUp != nil {
		all = append(all, taken{"runner-up", t.RunnerUp})
	}
	for i := range t.Rest {
		word := "best"
		if t.Rest[i].Against != "" {
			word = "unfit"
		}
		all = append(all, taken{word, &t.Rest[i]})
	}
	return all
}

// Choices are the recommended one, if there is one, the runner-up and the others.
func (t *Tuning) Choices() []Choice {
	var all []Choice
	for _, c := range t.chosen() {
		all = append(all, *c.Choice)
	}
	return all
}

// words are what policies that were chosen are called.
func (t *Tuning) words() map[policyID]string {
	all := map[policyID]string{}
	for _, c := range t.chosen() {
		if id := c.Policy.id(); all[id] == "" {
			all[id] = c.word
		}
	}
	return all
}

// center is the policy that tables are around: the recommended one, or one in the middle
// of the limits, of an exact algorithm if one was tried; not ok if no policy was tried.
func (t *Tuning) center() (p Policy, ok bool) {
	if t.Recommended != nil {
		return t.Recommended.Policy, true
	}
	if len(t.Policies) == 0 {
		return p, false
	}
	p = t.Policies[max(0, slices.IndexFunc(t.Policies, func(p Policy) bool {
		a, known := limiter.Named(p.Algorithm)
		return known && a.Family() == limiter.Log.Name
	}))]
	if limits := t.limitsOf(p.WindowUS, p.Key); len(limits) > 0 {
		p.Limit = limits[len(limits)/2]
	}
	return p, true
}

// WriteTable writes aligned columns without borders, the first to the left.
func WriteTable(w io.Writer, heads []string, lines [][]string) error {
	return writeTable(w, heads, lines, []bool{true})
}
