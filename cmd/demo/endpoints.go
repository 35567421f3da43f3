package demo

import "strings"

// Video is a video as it is listed.
type Video struct {
	ID       int64   `json:"id"`
	Title    string  `json:"title"`
	Channel  string  `json:"channel"`
	Region   string  `json:"region"`
	Category int     `json:"category"`
	Views    int64   `json:"views"`
	Velocity float64 `json:"view_velocity"` // views an hour
	Score    float64 `json:"score"`         // what the list is sorted by, the highest first
}

// Page is an answer.
type Page struct {
	Page     int     `json:"page"` // from 0
	PageSize int     `json:"page_size"`
	Videos   []Video `json:"videos"` // fewer than PageSize on the last page, none after it
}

// endpoint is one list of videos.
type endpoint struct {
	path  string
	takes []parameter // besides page
	query string
	// args are the values for the query, without limit and offset.
	args func(asked) []any
}

// endpoints is the table of all lists. Videos of equal score are in the order of
// their ids, so that pages never overlap.
var endpoints = []endpoint{
	{
		path: "/api/v1/trending", takes: []parameter{optionalRegion},
		query: `SELECT id, title, channel, region, category, views, view_velocity, view_velocity
			FROM videos
			WHERE ?1 = '' OR region = ?1
			ORDER BY view_velocity DESC, id LIMIT ?2 OFFSET ?3`,
		args: func(a asked) []any { return []any{a.region} },
	},
	{
		path: "/api/v1/feed", takes: []parameter{feedRegion},
		query: `SELECT v.id, title, channel, v.region, v.category, views, view_velocity, view_velocity * weight AS score
			FROM videos v JOIN weights w ON w.category = v.category AND w.region = ?1
			ORDER BY score DESC, v.id LIMIT ?2 OFFSET ?3`,
		args: func(a asked) []any { return []any{a.region} },
	},
	{
		path: "/api/v1/search", takes: []parameter{searchText},
		query: `SELECT id, title, channel, region, category, views, view_velocity, view_velocity
			FROM videos
			WHERE title LIKE ?1 ESCAPE '\'
			ORDER BY view_velocity DESC, id LIMIT ?2 OFFSET ?3`,
		args: func(a asked) []any { return []any{"%" + likeEscape.Replace(a.q) + "%"} },
	},
}

// likeEscape makes a text stand for itself in LIKE.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
