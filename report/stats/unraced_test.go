//go:build !race

package stats

const raced = false
