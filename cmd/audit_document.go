package cmd

import (
	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/report"
)

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
