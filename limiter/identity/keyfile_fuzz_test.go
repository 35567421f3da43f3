package identity

import "testing"

// FuzzParse: what is read as a key file is one, to the byte.
func FuzzParse(f *testing.F) {
	key := derive([]byte("seed"), "test")
	s := Config{Overlap: 1}.withDefaults().schedule()
	good := format(s.first(20000, key), 86400)
	f.Add(good)
	f.Add(good[:100])
	f.Add(fileHead + "2\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		r, period, err := parse(text)
		if err == nil && format(r, period) != text {
			t.Errorf("read %q as something else", text)
		}
	})
}
