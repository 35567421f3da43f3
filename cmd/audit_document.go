package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/report"
)

// places are where the document goes. The formats of audits have the names of
// those of reports, so that the same files are opened in the same way; only
// what is written to them is the document.
func (o *auditOptions) places(a *app, document *report.Audit) (sinks, error) {
	for _, text := range o.outputs {
		name, _, _ := strings.Cut(text, "=")
		if _, err := report.AuditFormatNamed(name); err != nil {
			return sinks{}, usage(fmt.Errorf("--output %s: %w", text, err), "-o json=audit.json")
		}
	}
	s, err := a.sinks(&runOptions{outputs: o.outputs, quiet: o.quiet, color: o.color})
	if err != nil {
		return s, err
	}
	for _, one := range s.all {
		format, err := report.AuditFormatNamed(one.format.Name)
		if err != nil {
			return s, internal(err)
		}
		one.format.Render = func(w io.Writer, _ *report.Report, o report.Options) error {
			return format.Render(w, document, o)
		}
	}
	return s, nil
}

func auditFormatNames() []string {
	names := make([]string, len(report.AuditFormats))
	for i, f := range report.AuditFormats {
		names[i] = f.Name
	}
	return names
}

// fill completes the document. The result is nil if the audit was interrupted
// before it began.
func (s *auditing) fill(env report.Env, r *audit.Result, interrupted bool) {
	d := s.document
	d.Env, d.Interrupted, d.Command = env, interrupted, withoutAddresses(s.experiment.command)
	d.Findings, d.Unchecked = []report.AuditFinding{}, []report.Unchecked{}
	var written audit.Matcher
	d.Sweep = report.Sweep{
		KeyPrefix: written.Redact(s.keyPrefix), Addresses: len(s.options.Addresses),
		MaxKeys: s.maxKeys, MaxElements: s.maxElements, MaxBytes: s.maxBytes, PaceUS: s.pace.Microseconds(),
	}
	if s.options.MaxTTL > 0 {
		d.Sweep.MaxTTLUS = ptr(s.options.MaxTTL.Microseconds())
	}
	if r == nil {
		r = &audit.Result{Total: -1, Gaps: []audit.Gap{{
			Code: "interrupted", Message: "the audit was interrupted before it began", Hint: "run it again",
		}}}
	}
	d.Sweep.Node, d.Sweep.Database = r.Node, r.Database
	d.Sweep.Keys, d.Sweep.Elements, d.Sweep.Bytes = r.Keys, r.Elements, r.Bytes
	if r.Total >= 0 {
		d.Sweep.TotalKeys = &r.Total
	}
	for _, f := range r.Findings {
		d.Findings = append(d.Findings, auditFinding(f))
	}
	for _, g := range r.Gaps {
		d.Unchecked = append(d.Unchecked, report.Unchecked(g))
	}
	d.Verdict = report.AuditVerdict(d.Findings, d.Unchecked)
}

func auditFinding(f audit.Finding) report.AuditFinding {
	found := report.AuditFinding{
		Code: string(f.Kind.Code), Severity: string(f.Kind.Severity), Place: string(f.Place), Form: f.Form,
		Keys: f.Keys, Count: f.Count, Message: f.Message, Hint: f.Kind.Hint, Examples: []report.AuditExample{},
	}
	for _, e := range f.Examples {
		example := report.AuditExample{Key: e.Key, Shown: e.Shown}
		if e.TTL > 0 {
			example.TTLUS = ptr(e.TTL.Microseconds())
		}
		if e.MaxTTL > 0 {
			example.MaxTTLUS = ptr(e.MaxTTL.Microseconds())
		}
		found.Examples = append(found.Examples, example)
	}
	return found
}

func ptr[T any](v T) *T { return &v }
