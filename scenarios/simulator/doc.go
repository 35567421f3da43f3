// Package simulator decides the requests of a log by many policies at once, in memory and
// without a Redis: algorithms × limits × windows × what one budget is kept for.
//
// A Demand is the first pass: how much clients ask for. From it the caller chooses limits,
// and groups of clients. A Simulation is the second: what each policy would have admitted,
// how often that was wrong, whom it touched, and what it holds in memory.
//
// Each algorithm is stated here once more, for speed: a request costs one unit, time does
// not go back, and all limits of one algorithm and window are decided together. That the
// decisions are those of the models in package limiter, and of the Lua, is tested.
//
// What makes it fast is that most keys are far from all limits. A key that no limit has
// refused anything for a while has the same past under all of them, and that past is its
// demand, which all algorithms share: it is counted once. Only a key that was refused
// something has counts of its own for each limit that did so (row), until it was good for
// long enough.
package simulator
