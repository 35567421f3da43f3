package tuning

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// All that a scenario takes is kept; of more, what the riskiest client sent, up to its peak
// and on.
func TestKeptEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 8).Draw(t, "most")
		whose := rapid.SliceOfN(rapid.Uint32Range(0, 2), 1, 60).Draw(t, "whose")
		peak := rapid.IntRange(0, len(whose)-1).Draw(t, "peak")
		whose[peak] = 0
		k := events{most: most, peak: int64(peak)}
		var all, own []Event
		for i, holder := range whose {
			e := Event{At: int64(i), Holder: holder}
			k.add(e, holder == 0)
			all = append(all, e)
			if holder == 0 {
				own = append(own, e)
			}
		}
		want := all
		if len(all) > most {
			until := slices.IndexFunc(own, func(e Event) bool { return e.At == int64(peak) }) + 1
			from := max(0, until-most)
			want = own[from:min(len(own), from+most)]
		}
		if got := k.chosen(); !slices.Equal(got, want) || k.total != int64(len(all)) {
			t.Errorf("%d of at most %d, peak at %d: kept %v of %d, want %v", len(all), most, peak, got, k.total, want)
		}
	})
}

// A scenario that is not of all that was asked for says so.
func TestEmitSaysWhatIsLeft(t *testing.T) {
	c := usual(written(t, logOf(traffic(1, 12, 2))))
	for most, left := range map[int]bool{0: false, 5: true} {
		c.MostEvents = most
		s := tuned(t, c)
		if left != (len(s.Riskiest) == most) || left != (s.Document.Riskiest.Requests > int64(len(s.Riskiest))) {
			t.Errorf("at most %d: %d of %d events", most, len(s.Riskiest), s.Document.Riskiest.Requests)
		}
		files, err := Emit(s.Document, s.Riskiest)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f File) bool { return f.Name == "riskiest.yaml" })
		if said := strings.Contains(files[i].Text, "# 5 of the client that asked for most"); said != left {
			t.Errorf("at most %d: says that something is left: %t, want %t:\n%s", most, said, left, files[i].Text)
		}
	}
}
