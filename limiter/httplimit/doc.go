// Package httplimit puts a limiter in front of an http.Handler: which request
// is charged to which policies, what its response says about them, and what a
// refused one gets instead.
//
//	limit, err := httplimit.New(httplimit.Config{
//		Decider:        set, // a limiter.Set
//		Policies:       policies,
//		Routes:         []httplimit.Route{{Pattern: "/api/v1/feed", Charges: []httplimit.Charge{{Policy: "feed"}, {Policy: "global"}}}},
//		Default:        httplimit.Route{Unlimited: true},
//		Identify:       identify,
//		OnUnidentified: httplimit.Unidentified{Status: http.StatusForbidden},
//		OnError:        httplimit.ErrorRefuses,
//		Dialects:       []httplimit.Dialect{httplimit.Draft11},
//	})
//	...
//	http.ListenAndServe(addr, limit.Wrap(mux))
//
// A request is charged to all policies of its route or, if one of them that is
// in force denies it, to none. The handler gets the ResponseWriter of the
// server and not a wrapper, so it can flush and hijack as ever.
//
// # Ways to read a request
//
// Patterns are those of http.ServeMux. A handler may read a request in another
// way than ServeMux does, though: decode %2e before it cleans a path, ignore a
// final slash, answer any method. A request that can be read in several ways is
// charged for all of them, each policy once with the highest cost:
//
//   - its path as ServeMux matches it, and decoded and then cleaned;
//   - with a final slash also without it, unless a route ends in that slash;
//   - with a method that no route of its path names also as the methods that
//     routes of that path do name, unless a route without a method has the same
//     path. So "POST /login" alone is charged for GET too; add "GET /login" to
//     say what that costs. HEAD is GET, as in ServeMux;
//   - its host as it is, and in lower case without a final dot.
//
// An ordinary request can be read in one way only. Handlers that tell requests
// apart by anything else (letter case, a path decoded twice, a header that
// overrides the method) need patterns and a Skip that know of it.
//
// # Response fields
//
// Every number is an integer. Seconds are rounded up, so nobody who waits comes
// too early. Policies in shadow and decisions of FailOpen and FailClosed, which
// know no numbers, appear in no field that tells numbers. No field carries an
// identity. See Dialect for the revisions.
//
// Retry-After is the wait after which the same request is admitted by all
// policies that denied it, if nobody else uses them, plus Config.Jitter. It is
// absent when no wait helps and when nobody knows.
package httplimit
