// Package demo is a small video API on SQLite to shoot at: the kind of origin
// that a rate limiter is there to protect.
//
//	GET /api/v1/trending?region=DE&page=0   all videos sorted by view velocity
//	GET /api/v1/feed?region=DE&page=0       the same, weighed for a region: two to three times the work
//	GET /api/v1/search?q=harbour&page=0     titles that contain a text
//	GET /healthz                            is the catalogue read and written
//
// No query has an index to help it: a page is a scan of the catalogue and a sort,
// some milliseconds of one core. The catalogue is a database file in WAL mode, a
// writer changes view velocities while readers read, and there are few readers:
// what is asked for beyond them waits, and beyond Config.Timeout is answered with
// 503. The same seed gives the same catalogue.
//
// There is no limiter inside; put one in front of Handler.
package demo
