package oracle_test

import (
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// held are the results of a case that a test has made.
func held(c *oracle.Case) scenarios.ResultList {
	list, _ := c.Results.(scenarios.ResultList)
	return list
}
