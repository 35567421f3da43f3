package report

import (
	_ "embed"
	"io"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// AuditSchema names the version of the document of an audit.
const AuditSchema = "rlbench.audit/v1"

// AuditJSONSchema is the JSON Schema of an audit. It is generated from the types
// in this package by "go test ./report -update".
//
//go:embed audit_schema.json
var AuditJSONSchema []byte

// Audit is what a sweep of a Redis found. Times are integers with their unit in
// the name; what does not apply is absent. No address is in it as a whole.
type Audit struct {
	Schema      string            `json:"schema" jsonschema:"enum=rlbench.audit/v1"`
	Verdict     scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Interrupted bool              `json:"interrupted"`
	Command     []string          `json:"command"`
	Started     time.Time         `json:"started"`
	ElapsedUS   int64             `json:"elapsed_us"`
	Env         Env               `json:"env"`
	Sweep       Sweep             `json:"sweep"`
	Findings    []AuditFinding    `json:"findings"`
	Unchecked   []Unchecked       `json:"unchecked"`
}

// Sweep is what was looked at, and within which bounds.
type Sweep struct {
	Node      string `json:"node"`
	Database  int    `json:"database"`
	KeyPrefix string `json:"key_prefix"` // empty: all keys
	// TotalKeys are those of the database when the sweep began; absent if the
	// server did not say.
	TotalKeys *int64 `json:"total_keys,omitempty"`
	Keys      int64  `json:"keys"`
	Elements  int64  `json:"elements"`
	Bytes     int64  `json:"bytes"`
	Addresses int    `json:"addresses"` // that were given
	// MaxTTLUS bounds times to live; absent if only the names of keys do.
	MaxTTLUS    *int64 `json:"max_ttl_us,omitempty"`
	MaxKeys     int64  `json:"max_keys"`
	MaxElements int64  `json:"max_elements"`
	MaxBytes    int64  `json:"max_bytes"`
	PaceUS      int64  `json:"pace_us"`
}

// AuditFinding is one kind of thing in one place and form.
type AuditFinding struct {
	Code     string         `json:"code"`
	Severity string         `json:"severity" jsonschema:"enum=fail,enum=warn"`
	Place    string         `json:"place,omitempty" jsonschema:"enum=key,enum=member,enum=field,enum=value,enum=score"` // absent if it is in no key
	Form     string         `json:"form,omitempty"`                                                                     // how an address is written
	Keys     int64          `json:"keys"`
	Count    int64          `json:"count"`
	Message  string         `json:"message"`
	Hint     string         `json:"hint"`
	Examples []AuditExample `json:"examples"`
}

// AuditExample is one of the first keys with a finding.
type AuditExample struct {
	Key      string `json:"key,omitempty"`
	Shown    string `json:"shown,omitempty"`
	TTLUS    *int64 `json:"ttl_us,omitempty"`
	MaxTTLUS *int64 `json:"max_ttl_us,omitempty"`
}

// Unchecked is something that was not looked at, and why.
type Unchecked struct {
	Code    string `json:"code"`
	Command string `json:"command,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Keys    int64  `json:"keys"`
}

// AuditFormats is the table of all formats of audits.
var AuditFormats = Formatters[*Audit]{
	{"table", "a table for people, fitted to the terminal", renderAuditTable},
	{"json", "the whole document, schema " + AuditSchema, renderAuditJSON},
}

// AuditVerdict is that of findings and of what was not looked at.
func AuditVerdict(findings []AuditFinding, unchecked []Unchecked) scenarios.Verdict {
	v := scenarios.Pass
	if len(unchecked) > 0 {
		v = scenarios.Inconclusive
	}
	for _, f := range findings {
		if f.Severity == "fail" {
			v = scenarios.Fail
		}
	}
	return v
}

func renderAuditJSON(w io.Writer, a *Audit, _ Options) error { return encode(w, "audit", a) }
