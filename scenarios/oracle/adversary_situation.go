package oracle

import (
	"encoding/binary"
	"reflect"
	"slices"

	"github.com/rlbench/rlbench/limiter"
)

// situation is what the future of a schedule depends on. Two schedules in one
// situation have the same continuations.
type situation struct {
	at, here int64
	state    any    // of the model if it is a plain value, else nil
	past     string // recent admissions, and for other states the answers to probes
}

// situationOf identifies a situation. A plain state says everything about later
// decisions, and then past admissions matter only while they are in the trailing
// window. A state with pointers in it cannot be compared; the admissions of two
// windows and what the model says right now stand for it.
func (v *victim) situationOf(state any, at, here int64, live []granted, probes []limiter.Decision) situation {
	s := situation{at: at, here: here}
	plain, span := isPlain(reflect.TypeOf(state)), v.width
	if plain {
		s.state = state
	} else {
		span *= 2
	}
	var past []byte
	for _, g := range live {
		if g.at > at-span {
			past = binary.AppendVarint(binary.AppendVarint(past, g.at), g.units)
		}
	}
	if !plain {
		for _, d := range probes {
			past = append(past, '/')
			for _, n := range []int64{d.Remaining, int64(d.RetryAfter), int64(d.ResetAfter)} {
				past = binary.AppendVarint(past, n)
			}
		}
	}
	s.past = string(past)
	return s
}

// plainKinds are values that are equal exactly if they look the same.
var plainKinds = []reflect.Kind{
	reflect.Bool, reflect.String,
	reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
	reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
	reflect.Float32, reflect.Float64,
}

func isPlain(t reflect.Type) bool {
	switch {
	case t == nil:
		return true
	case t.Kind() == reflect.Array:
		return isPlain(t.Elem())
	case t.Kind() != reflect.Struct:
		return slices.Contains(plainKinds, t.Kind())
	}
	for i := range t.NumField() {
		if !isPlain(t.Field(i).Type) {
			return false
		}
	}
	return true
}
