package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rlbench/rlbench/report"
)

// document is what was saved: a result of run, or what another command writes.
type document struct {
	name           string
	what           string // it is; "" for a result of run
	*report.Report        // nil if it is something else
	sinks          func(*app, *runOptions) (sinks, error)
}

// otherDocuments are those that are no results of run, by their schema.
var otherDocuments = map[string]struct {
	what   string
	decode func(data []byte) (func(*app, *runOptions) (sinks, error), error)
}{
	report.TuningSchema:      {"a tuning", decoder(report.DecodeTuning, report.TuningFormats)},
	report.ComparisonSchema:  {"a comparison", decoder(report.DecodeComparison, report.ComparisonFormats)},
	report.CalibrationSchema: {"a calibration", decoder(report.DecodeCalibration, report.CalibrationFormats)},
	report.DoctorSchema:      {"a check-up", decoder(report.DecodeDoctor, report.DoctorFormats)},
	report.AuditSchema:       {"an audit", decoder(report.DecodeAudit, report.AuditFormats)},
}

// decoder reads a document and says where it goes.
func decoder[T any](decode func([]byte) (T, error), formats report.Formatters[T]) func([]byte) (func(*app, *runOptions) (sinks, error), error) {
	return func(data []byte) (func(*app, *runOptions) (sinks, error), error) {
		d, err := decode(data)
		return func(a *app, o *runOptions) (sinks, error) { return sinksFor(a, o, formats, already(d)) }, err
	}
}

// readDocuments reads all that is named, or says what is wrong with each.
func (a *app) readDocuments(names []string) ([]document, error) {
	var all []document
	var errs []error
	for _, name := range names {
		d, err := a.readDocument(name)
		all, errs = append(all, d), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func (a *app) readDocument(name string) (document, error) {
	return readAs(a, name, func(data []byte) (d document, err error) {
		d = document{name: name, sinks: (*app).sinks}
		if other, ok := otherDocuments[report.SchemaOf(data)]; ok {
			d.what = other.what
			d.sinks, err = other.decode(data)
		} else {
			d.Report, err = report.Decode(data)
		}
		return d, err
	})
}

// readResult reads a result of run, and nothing else.
func (a *app) readResult(name string) (*report.Report, error) {
	return readAs(a, name, report.Decode)
}

// readAs reads and decodes what was saved, and names it if that fails.
func readAs[T any](a *app, name string, decode func([]byte) (T, error)) (d T, err error) {
	data, err := a.readAll(name)
	if err != nil {
		return d, fmt.Errorf("read result: %w", err)
	}
	if d, err = decode(data); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

func (a *app) readAll(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(name)
}
