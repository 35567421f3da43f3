// Package scenarios is the vocabulary of rlbench: what traffic is (Scenario,
// Phase, Shape), what it becomes (Plan, Arrival), what happened (Result,
// Outcome) and what is said about it (Measures, Finding, Verdict).
//
// A scenario is data. Read parses it strictly and reports every mistake at
// once; NewPlan turns it into a timetable, which a seed fixes to the bit. Nothing
// here opens a socket or looks at a clock.
package scenarios
