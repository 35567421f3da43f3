package report

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/report/stats"
	"github.com/rlbench/rlbench/scenarios"
)

// CalibrationSchema names the version of the document of a calibration.
const CalibrationSchema = "rlbench.calibration/v1"

// CalibrationJSONSchema is the JSON Schema of a calibration. It is generated from the
// types in this package by "go test ./report -update".
//
//go:embed calibration_schema.json
var CalibrationJSONSchema []byte

// Calibration is how much times differ on a machine where nothing changed.
type Calibration struct {
	Schema  string            `json:"schema" jsonschema:"enum=rlbench.calibration/v1"`
	Verdict scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"` // of the runs
	Started time.Time         `json:"started"`
	Env     Env               `json:"env"`
	Alpha   float64           `json:"alpha"`
	Runs    int               `json:"runs"` // of each side of a pair
	Pairs   int               `json:"pairs"`
	// MinEffect is the highest floor, in whole percent upwards: what a comparison here
	// should not take for a change with so many runs.
	MinEffect float64 `json:"min_effect"`
	Rows      []Noise `json:"rows"`
}

// Noise is one metric of one limiter under one scenario.
type Noise struct {
	Subject
	Metric string  `json:"metric"`
	Unit   string  `json:"unit,omitempty"`
	Median float64 `json:"median"`
	// Floor is what one pair in twenty differs by or more, as a share of the median, and no
	// less than the first half of the runs and the second do.
	Floor float64 `json:"floor"`
	// Alarms is the share of pairs that a single test calls different at alpha.
	Alarms float64 `json:"alarms"`
	// RunsFor5 and RunsFor10 are how many runs of each side it takes to find a shift of
	// 5 and of 10 % nine times of ten, with so many tests as there are rows.
	RunsFor5  int `json:"runs_for_5"`
	RunsFor10 int `json:"runs_for_10"`
}

// pairsMade is how often the runs are split into two halves.
const pairsMade = 1000

// Calibrate splits the runs of a report into halves, again and again at random: pairs of
// which both are of the same. The report needs four runs of a limiter, and times, which
// an emulator has none of.
func Calibrate(r *Report, alpha float64) (*Calibration, error) {
	c := &Calibration{Schema: CalibrationSchema, Verdict: r.Verdict, Started: r.Started, Env: r.Env, Alpha: alpha, Pairs: pairsMade, Rows: []Noise{}}
	if r.Env.Redis.Flavour == "embedded" {
		return nil, fmt.Errorf("calibrate: the times of an emulator are not those of a Redis")
	}
	samples := map[int][]float64{}
	runs := comparableRuns(r)
	for _, s := range runs.subjects {
		for _, m := range comparedTimes {
			values := valuesOf(runs.rows[s], m)
			if len(values) < 4 {
				continue
			}
			samples[len(c.Rows)] = values
			c.Runs = max(c.Runs, len(values)/2)
			c.Rows = append(c.Rows, Noise{Subject: s, Metric: m.name, Unit: m.unit, Median: stats.Median(values)})
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(c.Rows)))) // the same for the same report
	for i := range c.Rows {
		if err := c.Rows[i].measure(samples[i], alpha, len(c.Rows), random); err != nil {
			return nil, err
		}
		c.MinEffect = max(c.MinEffect, math.Ceil(c.Rows[i].Floor*100)/100)
	}
	return c, nil
}

func (n *Noise) measure(values []float64, alpha float64, tests int, random *rand.Rand) error {
	values = slices.Clone(values)
	half := len(values) / 2
	course, err := stats.Between(values[:half], values[half:], 1-alpha) // before they are mixed
	if err != nil {
		return fmt.Errorf("calibrate %s of %s: %w", n.Metric, n.Limiter, err)
	}
	shifts := make([]float64, 0, pairsMade)
	for range pairsMade {
		random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		s, err := stats.Between(values[:half], values[half:], 1-alpha)
		if err != nil {
			return fmt.Errorf("calibrate %s of %s: %w", n.Metric, n.Limiter, err)
		}
		if n.Median != 0 {
			shifts = append(shifts, math.Abs(s.By/n.Median))
		}
		if s.P <= alpha {
			n.Alarms += 1.0 / pairsMade
		}
	}
	if len(shifts) > 0 {
		slices.Sort(shifts)
		n.Floor = max(shifts[len(shifts)*95/100], math.Abs(course.By/n.Median))
	}
	n.RunsFor5 = stats.RunsFor(values[:half], values[half:], 0.05*math.Abs(n.Median), alpha, tests)
	n.RunsFor10 = stats.RunsFor(values[:half], values[half:], 0.1*math.Abs(n.Median), alpha, tests)
	return nil
}

// CalibrationFormats is the table of all formats of calibrations.
var CalibrationFormats = Formatters[*Calibration]{
	{"table", "a table for people, fitted to the terminal", renderCalibrationTable},
	{"json", "the whole document, schema " + CalibrationSchema, renderCalibrationJSON},
}

func renderCalibrationJSON(w io.Writer, c *Calibration, _ Options) error {
	return encode(w, "calibration", c)
}

func renderCalibrationTable(w io.Writer, c *Calibration, o Options) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	var b strings.Builder
	scenario := ""
	for i, n := range c.Rows {
		if n.Scenario == scenario {
			continue
		}
		scenario = n.Scenario
		if i > 0 {
			b.WriteString("\n")
		}
		writeWrapped(&b, "", scenario, o.Width)
		if err := noiseRows(&b, c.Rows[i:]); err != nil {
			return err
		}
	}
	if len(c.Rows) == 0 {
		writeWrapped(&b, "", "nothing was measured often enough: a calibration needs two runs of each side", o.Width)
	} else {
		b.WriteString("\n")
		writeWrapped(&b, "floor: ", fmt.Sprintf("one pair in twenty of %d runs against %d differs by that or more, though nothing changed. Compare here with --noise and the JSON of this (-o json=noise.json), or with --min-effect %.0f%%, or more runs.",
			c.Runs, c.Runs, c.MinEffect*100), o.Width)
	}
	var last strings.Builder
	word := strings.ToUpper(string(c.Verdict))
	writeWrapped(&last, word+"  ", server(c.Env.Redis)+", "+machine(c.Env), o.Width)
	b.WriteString(paint(c.Verdict, word, o.Color) + strings.TrimPrefix(last.String(), word))
	_, err := io.WriteString(w, b.String())
	return err
}

// noiseRows writes the rows of the scenario that the first is of.
func noiseRows(b *strings.Builder, rows []Noise) error {
	var lines [][]string
	for _, n := range rows {
		if n.Scenario != rows[0].Scenario {
			break
		}
		d := Compared{Subject: n.Subject, Metric: n.Metric, Unit: n.Unit}
		lines = append(lines, []string{
			printable(n.Limiter), n.Metric, d.figure(n.Median), plainShare(n.Floor),
			runsCell(n.RunsFor5), runsCell(n.RunsFor10),
		})
	}
	return writeTable(b, []string{"limiter", "metric", "median", "floor", "runs for 5%", "runs for 10%"}, lines, []bool{true, true})
}

// runsCell is a number of runs, as far as runs can be made.
func runsCell(n int) string {
	if n > stats.MostRuns {
		return ">" + strconv.Itoa(stats.MostRuns)
	}
	return strconv.Itoa(n)
}
