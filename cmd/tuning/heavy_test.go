package tuning

import (
	"slices"
	"testing"
)

func TestHeavyClients(t *testing.T) {
	people := slices.Repeat([]uint32{3, 5, 8, 12, 20, 30}, 10)
	calm := slices.Repeat([]uint32{3, 3, 4, 5, 5, 6}, 10)
	for _, row := range []struct {
		name           string
		peaks, seconds []uint32 // of further clients
		above          int64
		gap            float64
	}{
		{"nobody", nil, nil, 30, 0},
		{"one", []uint32{90}, []uint32{50}, 30, 3},
		{"somebody who asks for a little more", []uint32{59}, []uint32{50}, 59, 0},
		{"a shared address below one that comes at once", []uint32{100, 300}, []uint32{8, 200}, 100, 3},
		{"a shared address below one that comes as slowly", []uint32{90, 300}, []uint32{12, 6}, 30, 3},
		{"too many", slices.Repeat([]uint32{300}, 10), slices.Repeat([]uint32{9}, 10), 300, 0},
		{"who never came", []uint32{0, 0, 90}, []uint32{0, 0, 9}, 30, 3},
	} {
		peaks, seconds := append(slices.Clone(people), row.peaks...), append(slices.Clone(calm), row.seconds...)
		if g := heavyAbove(peaks, seconds); g.above != row.above || g.ratio != row.gap {
			t.Errorf("%s: above %d with a gap of %.2f, want %d and %.2f", row.name, g.above, g.ratio, row.above, row.gap)
		}
	}
	if g := heavyAbove(nil, nil); g != (gap{}) {
		t.Errorf("of no clients: %+v", g)
	}
	if g := heavyAbove([]uint32{1, 1000}, []uint32{1, 1000}); g != (gap{above: 1000}) {
		t.Errorf("of two clients none is in the highest tenth: %+v", g)
	}
	if group, heavy := groups([]uint32{1, 5, 9}, 5); heavy != 1 || !slices.Equal(group, []uint8{0, 0, 1}) {
		t.Errorf("%v, %d", group, heavy)
	}
}
