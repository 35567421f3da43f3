package demo

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// catalogue is what the database should hold, by id.
func catalogue(c Config) []Video {
	draw := random(c.Seed, forVideos)
	all := make([]Video, c.Videos)
	for i := range all {
		all[i] = video(draw, i+1)
		all[i].Score = all[i].Velocity
	}
	return all
}

// weights are those of the database, by region and category.
func weights(t *testing.T, a *API) map[string]float64 {
	t.Helper()
	rows, err := a.readers.Query(`SELECT region, category, weight FROM weights`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]float64{}
	for rows.Next() {
		var region, category string
		var weight float64
		if err := rows.Scan(&region, &category, &weight); err != nil {
			t.Fatal(err)
		}
		all[region+category] = weight
	}
	if want := len(Regions) * categories; len(all) != want {
		t.Fatalf("%d weights, want %d", len(all), want)
	}
	return all
}

// TestLists: every page of every list is what sorting the catalogue in Go gives:
// sorted, complete and without overlap.
func TestLists(t *testing.T) {
	c := small(t)
	a := open(t, c)
	weight := weights(t, a)
	for _, row := range []struct {
		path  string
		asked url.Values
		keep  func(Video) bool
		score func(Video) float64
	}{
		{"/api/v1/trending", nil, nil, nil},
		{"/api/v1/trending", url.Values{"region": {"FR"}}, func(v Video) bool { return v.Region == "FR" }, nil},
		{"/api/v1/feed", url.Values{"region": {"SE"}}, nil, func(v Video) float64 { return v.Velocity * weight[fmt.Sprint("SE", v.Category)] }},
		{"/api/v1/feed", nil, nil, func(v Video) float64 { return v.Velocity * weight[fmt.Sprint("DE", v.Category)] }},
		{"/api/v1/search", url.Values{"q": {"HARBOUR at"}}, func(v Video) bool { return strings.Contains(v.Title, "harbour at") }, nil},
		{"/api/v1/search", url.Values{"q": {"#1"}}, func(v Video) bool { return strings.Contains(v.Title, "#1") }, nil},
		{"/api/v1/search", url.Values{"q": {"%"}}, func(Video) bool { return false }, nil},
		{"/api/v1/search", url.Values{"q": {"t_e"}}, func(Video) bool { return false }, nil},
		{"/api/v1/search", url.Values{"q": {`\`}}, func(Video) bool { return false }, nil},
		{"/api/v1/search", url.Values{"q": {"'; DROP TABLE videos; --"}}, func(Video) bool { return false }, nil},
	} {
		var want []Video
		for _, v := range catalogue(c) {
			if row.score != nil {
				v.Score = row.score(v)
			}
			if row.keep == nil || row.keep(v) {
				want = append(want, v)
			}
		}
		slices.SortStableFunc(want, func(a, b Video) int { return cmp.Compare(b.Score, a.Score) })

		var got []Video
		for page := 0; ; page++ {
			parameters := url.Values{"page": {fmt.Sprint(page)}}
			for name, values := range row.asked {
				parameters[name] = values
			}
			listed := videos(t, a, row.path, parameters)
			got = append(got, listed...)
			if len(listed) < c.PageSize {
				break
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s?%s (-want +got):\n%s", row.path, row.asked.Encode(), diff)
		}
	}
}

// TestSearchIsLiteral: what means something in LIKE stands for itself.
func TestSearchIsLiteral(t *testing.T) {
	a := open(t, small(t))
	const title = `5% of a_b\c`
	if _, err := a.writer.db.Exec(`UPDATE videos SET title = ? WHERE id = 7`, title); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]int{`%`: 1, `5% O`: 1, `_`: 1, `b\C`: 1, title: 1, `5_`: 0, `a%b`: 0, `\\`: 0} {
		if got := len(videos(t, a, "/api/v1/search", url.Values{"q": {q}})); got != want {
			t.Errorf("q %q found %d videos, want %d", q, got, want)
		}
	}
}

// TestSameSeedSameCatalogue: whatever the file, the same seed lists the same, and
// another seed does not.
func TestSameSeedSameCatalogue(t *testing.T) {
	list := func(seed uint64) []Video {
		c := small(t)
		c.Seed, c.PageSize = seed, MaxPageSize
		return videos(t, open(t, c), "/api/v1/feed", nil)
	}
	once, again, other := list(7), list(7), list(8)
	if diff := gocmp.Diff(once, again); diff != "" {
		t.Errorf("the same seed (-once +again):\n%s", diff)
	}
	if gocmp.Equal(once, other) {
		t.Error("another seed gave the same catalogue")
	}
}

// TestNoShortcut: every list walks over all videos and sorts, as the plan of
// SQLite says, so that a request costs what it should.
func TestNoShortcut(t *testing.T) {
	a := open(t, small(t))
	for _, e := range endpoints {
		rows, err := a.readers.Query("EXPLAIN QUERY PLAN "+e.query, "x", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(plan, "\n")
		scans := strings.Contains(said, "SCAN videos") || strings.Contains(said, "SCAN v")
		if !scans || !strings.Contains(said, "USE TEMP B-TREE FOR ORDER BY") {
			t.Errorf("%s takes a shortcut:\n%s", e.path, said)
		}
	}
}
