// Package limitertest is a conformance kit for anybody's limiter.Limiter.
//
// Say how a limiter is opened and which server holds its state:
//
//	limitertest.Run(t, limitertest.Suite{
//		Open:    limitertest.Redis, // or a function of your own
//		Client:  client,
//		Vectors: os.DirFS("testdata/vectors"),
//	})
//
// Every check runs as a subtest <algorithm>/<check>; Checks lists them. What
// cannot be checked, because the implementation lacks an optional method or the
// Suite says so, is skipped with a reason and never silently.
//
// An algorithm is stated three times without shared code: its script, its Model
// and a file of hand-written vectors. The kit holds an implementation against
// the last two. Read and Case.Run use the vectors alone, without a server.
//
// The kit takes over the server: it runs SCRIPT FLUSH, scans all keys, and
// deletes its own at the end. Give it a private one, or an empty database.
package limitertest
