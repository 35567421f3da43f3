package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	gen "github.com/invopop/jsonschema"
	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlbench/rlbench/report"
)

// validator is the JSON Schema of a document, as it is embedded, which has to be what is
// generated from the type. With -update it is written.
func validator(t *testing.T, file string, embedded []byte, document any, title, description string) *validate.Schema {
	t.Helper()
	r := gen.Reflector{Anonymous: true}
	s := r.Reflect(document)
	s.Title, s.Description = title, description
	want, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		embedded = want
	}
	if !bytes.Equal(embedded, want) {
		t.Errorf("%s does not match the types; run: go test ./report -update", file)
	}
	doc, err := validate.UnmarshalJSON(bytes.NewReader(embedded))
	if err != nil {
		t.Fatal(err)
	}
	c := validate.NewCompiler()
	if err := c.AddResource(file, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(file)
}

// compiled is the schema of a report.
func compiled(t *testing.T) *validate.Schema {
	t.Helper()
	return validator(t, "schema.json", report.JSONSchema, &report.Report{}, "rlbench report",
		"A judged run of rlbench. Durations are integers with their unit in the name; what was not measured is absent.")
}

func TestSchemaIsCurrent(t *testing.T) { compiled(t) }

func TestReportsValidate(t *testing.T) {
	schema := compiled(t)
	for _, c := range fixtures(t) {
		t.Run(c.name, func(t *testing.T) {
			instance, err := validate.UnmarshalJSON(bytes.NewReader(render(t, "json", c.report, report.Options{})))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(instance); err != nil {
				t.Error(err)
			}
		})
	}
}

// A validator that accepts everything would make the test above worthless.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	sound := render(t, "json", fixtures(t)[0].report, report.Options{})
	for _, c := range []struct{ name, from, to string }{
		{"a verdict that does not exist", `"verdict": "pass"`, `"verdict": "fine"`},
		{"a count that is no number", `"admitted": 200`, `"admitted": "200"`},
		{"a field that is not in the types", `"denied": 0`, `"denied": 0, "refused": 1`},
		{"another schema version", `rlbench.report/v1`, `rlbench.report/v9`},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := bytes.Replace(sound, []byte(c.from), []byte(c.to), 1)
			if bytes.Equal(broken, sound) {
				t.Fatalf("%s is not in the report", c.from)
			}
			instance, err := validate.UnmarshalJSON(bytes.NewReader(broken))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(instance) == nil {
				t.Error("accepted")
			}
		})
	}
}

// The schema of tunings is that of their types.
func TestTuningSchemaIsCurrent(t *testing.T) {
	validator(t, "tuning_schema.json", report.TuningJSONSchema, &report.Tuning{}, "rlbench tuning",
		"What policies would do to the traffic of an access log. Durations are integers with their unit in the name; what was not measured is absent.")
}
