// Package simulator decides the requests of a log by many policies at once, without a
// Redis: algorithms × limits × windows.
//
// It states each algorithm a third time, for speed: a request costs one unit, time does
// not go back, and all limits of one algorithm and window are decided together. That the
// decisions are those of the models in package limiter, and so of the Lua, is tested.
package simulator
