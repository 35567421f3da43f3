package report

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SchemaOf is what a document in JSON says that it is, such as Schema; empty if it says
// nothing, or is no JSON.
func SchemaOf(data []byte) string {
	var d struct {
		Schema string `json:"schema"`
	}
	if json.Unmarshal(data, &d) != nil {
		return ""
	}
	return d.Schema
}

// decoded reads a document that is not a Report.
func decoded[T any](data []byte, what, schema string) (*T, error) {
	if is := SchemaOf(data); is != schema {
		return nil, fmt.Errorf("decode %s: schema is %q, want %q", what, is, schema)
	}
	d := new(T)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	return d, nil
}

// DecodeAudit reads an audit that was written as JSON.
func DecodeAudit(data []byte) (*Audit, error) { return decoded[Audit](data, "audit", AuditSchema) }

// DecodeComparison reads a comparison that was written as JSON.
func DecodeComparison(data []byte) (*Comparison, error) {
	return decoded[Comparison](data, "comparison", ComparisonSchema)
}

// DecodeDoctor reads a check-up that was written as JSON.
func DecodeDoctor(data []byte) (*Doctor, error) {
	return decoded[Doctor](data, "check-up", DoctorSchema)
}

// DecodeCalibration reads a calibration that was written as JSON.
func DecodeCalibration(data []byte) (*Calibration, error) {
	c, err := decoded[Calibration](data, "calibration", CalibrationSchema)
	if err == nil && len(c.Rows) == 0 {
		err = errors.New("decode calibration: nothing was measured often enough for one")
	}
	return c, err
}

// DecodeTuning reads a tuning that was written as JSON.
func DecodeTuning(data []byte) (*Tuning, error) {
	t, err := decoded[Tuning](data, "tuning", TuningSchema)
	if err != nil {
		return nil, err
	}
	if t.Heavy.WindowUS == 0 && len(t.Asked.WindowsUS) > 0 { // older ones do not tell: it was the first
		t.Heavy.WindowUS = t.Asked.WindowsUS[0]
	}
	return t, t.sound()
}

// sound refuses a riskiest window that is none, or too long to be drawn.
func (t *Tuning) sound() error {
	r := t.Riskiest
	if r == nil {
		return nil
	}
	if r.BinUS <= 0 || r.BinUS > mostMicros/mostBins || r.WindowUS <= 0 || len(r.Wanted) > mostBins {
		return fmt.Errorf("decode tuning: the riskiest window has %d bins of %d µs, and a window of %d µs", len(r.Wanted), r.BinUS, r.WindowUS)
	}
	for _, c := range r.Courses {
		if len(c.Admitted) != len(r.Wanted) || len(c.InWindow) != len(r.Wanted) {
			return fmt.Errorf("decode tuning: the course of %s has %d and %d bins, and the riskiest window %d", c.Algorithm, len(c.Admitted), len(c.InWindow), len(r.Wanted))
		}
	}
	return nil
}
