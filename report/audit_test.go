package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// audited is an audit with something of everything.
func audited() *report.Audit {
	us := func(d time.Duration) *int64 { n := d.Microseconds(); return &n }
	total := int64(1200)
	return &report.Audit{
		Schema: report.AuditSchema, Verdict: scenarios.Fail, Command: []string{"rlbench", "audit"},
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ElapsedUS: 12_345,
		Env: report.Env{Rlbench: "v0", Go: "go1.26", OS: "linux", Arch: "amd64", Cores: 2, Redis: report.Redis{Flavour: "live", Server: "redis", Version: "7.0.15"}},
		Sweep: report.Sweep{
			Node: "localhost:6379", KeyPrefix: "rl:", TotalKeys: &total, Keys: 1000, Elements: 4000, Bytes: 90_000, Addresses: 1,
			MaxTTLUS: us(2 * time.Minute), MaxKeys: 1000, MaxElements: 10_000, MaxBytes: 1 << 20,
		},
		Findings: []report.AuditFinding{
			{
				Code: "ttl-too-long", Severity: "fail", Place: "key", Keys: 2, Count: 2, Message: "keys outlive what the limiter needs: 2 keys", Hint: "expire them",
				Examples: []report.AuditExample{{Key: "rl:fixed:default:60000000:{ab}", TTLUS: us(time.Hour), MaxTTLUS: us(2 * time.Minute)}},
			},
			{
				Code: "address-text", Severity: "fail", Place: "member", Form: "ipv4", Keys: 7, Count: 21, Message: "IP addresses in plain text (ipv4): 7 keys, 21 times in a member", Hint: "store a pseudonym",
				Examples: []report.AuditExample{{Key: "rl:log:{ab}", Shown: "<ipv4 203.…, 11 bytes>"}, {Key: "rl:\x1b[31m", Shown: "<ipv4 198.…, 12 bytes>"}},
			},
			{Code: "snapshots", Severity: "warn", Count: 1, Message: `snapshots keep keys: save points are "3600 1"`, Hint: "turn them off", Examples: []report.AuditExample{}},
		},
		Unchecked: []report.Unchecked{{Code: "command-refused", Command: "HSCAN", Message: "HSCAN: this user may not run it; not checked: what keys of type hash hold", Hint: "allow it", Keys: 3}},
	}
}

func clean() *report.Audit {
	a := audited()
	a.Verdict, a.Findings, a.Unchecked = scenarios.Pass, []report.AuditFinding{}, []report.Unchecked{}
	a.Sweep.TotalKeys, a.Sweep.MaxTTLUS, a.Sweep.Addresses, a.Sweep.KeyPrefix = nil, nil, 0, ""
	return a
}

func renderAudit(t *testing.T, format string, a *report.Audit, o report.Options) []byte {
	t.Helper()
	write, err := report.AuditFormats.Named(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, a, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAuditGolden(t *testing.T) {
	golden(t, "audit.80.txt", renderAudit(t, "table", audited(), report.Options{Width: 80}))
	golden(t, "audit-clean.80.txt", renderAudit(t, "table", clean(), report.Options{Width: 80}))
	golden(t, "audit.json", renderAudit(t, "json", audited(), report.Options{}))
}

// No byte of a key reaches a terminal as a command to it, and colour is only there
// where it is wanted.
func TestAuditDrivesNoTerminal(t *testing.T) {
	if text := renderAudit(t, "table", audited(), report.Options{}); bytes.ContainsRune(text, '\x1b') {
		t.Errorf("an escape in %q", text)
	}
	if text := renderAudit(t, "table", audited(), report.Options{Color: true}); !strings.Contains(string(text), "\x1b[31;1mFAIL") {
		t.Errorf("no colour in %q", text)
	}
}

func TestAuditSchema(t *testing.T) {
	schema := validator(t, "audit_schema.json", report.AuditJSONSchema, &report.Audit{}, "rlbench audit",
		"What a sweep of a Redis found. Durations are integers with their unit in the name; what does not apply is absent.")
	for _, row := range []struct {
		name, from, to string
		valid          bool
	}{
		{"as it is", "", "", true},
		{"a severity that does not exist", `"severity": "fail"`, `"severity": "bad"`, false},
		{"another version", "rlbench.audit/v1", "rlbench.audit/v9", false},
		{"a count that is no number", `"count": 21`, `"count": "21"`, false},
	} {
		text := bytes.Replace(renderAudit(t, "json", audited(), report.Options{}), []byte(row.from), []byte(row.to), 1)
		instance, err := validate.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != row.valid {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestAuditVerdict(t *testing.T) {
	fail, warn, gap := report.AuditFinding{Severity: "fail"}, report.AuditFinding{Severity: "warn"}, report.Unchecked{}
	for _, row := range []struct {
		findings  []report.AuditFinding
		unchecked []report.Unchecked
		want      scenarios.Verdict
	}{
		{nil, nil, scenarios.Pass},
		{[]report.AuditFinding{warn}, nil, scenarios.Pass},
		{[]report.AuditFinding{warn}, []report.Unchecked{gap}, scenarios.Inconclusive},
		{[]report.AuditFinding{fail, warn}, []report.Unchecked{gap}, scenarios.Fail},
	} {
		if got := report.AuditVerdict(row.findings, row.unchecked); got != row.want {
			t.Errorf("%v, %v: %s, want %s", row.findings, row.unchecked, got, row.want)
		}
	}
}
