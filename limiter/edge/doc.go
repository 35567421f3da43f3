// Package edge is a coarse limiter to stand in front of a precise one.
//
// A Binding behaves as the rate limiting binding of Cloudflare's Workers does:
// per location and machine, permissive, eventually consistent, and telling
// nothing but yes or no. It is a model to judge, and it is deterministic: the
// same requests at the same instants with the same seed are decided alike.
//
//	b, err := edge.New(edge.Config{
//		Limit:     limiter.Limit{Max: 600, Window: time.Minute},
//		Kind:      edge.FixedWindow,
//		Locations: 3,
//		Machines:  8,
//		Sync:      time.Second,
//	})
//
// Tiers ask a coarse limiter first and a precise one only for what it lets
// through. A Guard is the same idea inside one process: net/http middleware that
// sheds floods before they cost a round trip to Redis.
//
// # What a binding promises
//
// With L the limit, and one more if Inclusive, per key and period:
//
//   - over one connection: exactly L;
//   - at one location, within a burst that is over before a sync: L for each
//     machine that the connections reach;
//   - at one location, in the long run: L, and what arrives within Config.Lag;
//   - at D locations: D times as much.
//
// A trailing window can hold twice that, since it meets two periods.
//
// Sources: Cloudflare's documentation of the binding (limit, period of 10 or 60
// seconds, counters cached on the machine and updated asynchronously to a store
// of the location), and measurements by its users, who saw both L and L+1 over
// one connection. Whether its window is fixed or sliding is not documented.
package edge
