package target

import "github.com/rlbench/rlbench/limiter/backend"

// sound keeps the embedded server alive: it panics where a script returns a
// function, which Redis answers with nil. The lines of the script keep their
// numbers.
func sound(s *backend.Server, source string) string {
	if s.Flavour() != backend.Embedded {
		return source
	}
	const told = `local type, pairs = type, pairs ` +
		`local function told(v, depth) local t = type(v) ` +
		`if t == 'function' or t == 'userdata' or t == 'thread' then return false end ` +
		`if t == 'table' and depth < 8 then for k, x in pairs(v) do v[k] = told(x, depth + 1) end end ` +
		`return v end return told((function() `
	return told + source + "\nend)(), 0)"
}
