package demo

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Regions are those that videos come from and feeds are made for.
var Regions = []string{"DE", "FR", "ES", "IT", "PL", "NL", "SE", "AT"}

// categories is how many kinds of video there are.
const categories = 16

// schema has no index on purpose: see the package comment.
const schema = `
CREATE TABLE videos (
	id            INTEGER PRIMARY KEY,
	title         TEXT    NOT NULL,
	channel       TEXT    NOT NULL,
	region        TEXT    NOT NULL,
	category      INTEGER NOT NULL,
	views         INTEGER NOT NULL,
	view_velocity REAL    NOT NULL -- views an hour
);
CREATE TABLE weights (
	region   TEXT    NOT NULL,
	category INTEGER NOT NULL,
	weight   REAL    NOT NULL,
	PRIMARY KEY (region, category)
) WITHOUT ROWID;`

// titles are made of one word of each list.
var titles = [][]string{
	{"Quiet", "Sudden", "Endless", "Tiny", "Golden", "Forgotten", "Electric", "Frozen", "Wandering", "Honest", "Crooked", "Midnight"},
	{"harbour", "orchard", "tramway", "glacier", "kitchen", "lighthouse", "market", "violin", "meadow", "workshop", "staircase", "ferry"},
	{"at dawn", "in the rain", "from above", "explained", "in one take", "with friends", "for beginners", "gone wrong", "by bicycle", "after dark"},
}

// random is a source of its own for each purpose, so that one does not shift the
// other.
func random(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// Purposes of randomness.
const (
	forVideos uint64 = iota
	forWeights
	forWrites
)

// video draws a video. Its id is its place in the catalogue, from 1.
func video(draw *rand.Rand, id int) Video {
	words := make([]string, len(titles))
	for i, list := range titles {
		words[i] = list[draw.IntN(len(list))]
	}
	velocity := drawVelocity(draw)
	return Video{
		ID:       int64(id),
		Title:    fmt.Sprintf("%s #%d", strings.Join(words, " "), id),
		Channel:  fmt.Sprintf("channel-%d", draw.IntN(1000)),
		Region:   Regions[draw.IntN(len(Regions))],
		Category: draw.IntN(categories),
		Views:    int64(velocity * (1 + 500*draw.Float64())),
		Velocity: velocity,
	}
}

// drawVelocity is a few views an hour for most videos and thousands for some.
func drawVelocity(draw *rand.Rand) float64 {
	e := draw.ExpFloat64()
	return math.Round(100*e*e*e) / 100
}

// fill writes the catalogue.
func fill(ctx context.Context, db *sql.DB, c Config) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	draw := random(c.Seed, forWeights)
	for _, region := range Regions {
		for category := range categories {
			if _, err := tx.ExecContext(ctx, `INSERT INTO weights VALUES (?, ?, ?)`, region, category, 0.5+draw.Float64()); err != nil {
				return err
			}
		}
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO videos VALUES (?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	draw = random(c.Seed, forVideos)
	for i := range c.Videos {
		v := video(draw, i+1)
		if _, err := insert.ExecContext(ctx, v.ID, v.Title, v.Channel, v.Region, v.Category, v.Views, v.Velocity); err != nil {
			return err
		}
	}
	return tx.Commit()
}
