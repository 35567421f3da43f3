//go:build !race

package tuning

const raced = false
