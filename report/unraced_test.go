//go:build !race

package report_test

const raced = false
