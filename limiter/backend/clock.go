package backend

import (
	"context"
	"fmt"
	"time"
)

// clockSamples is how often Clock asks. The first sample often pays for a new
// connection, so one would not do.
const clockSamples = 15

// Clock relates the server's clock to ours.
type Clock struct {
	Offset time.Duration // server minus ours; off by at most RTT/2 plus 1 µs, the resolution of TIME
	RTT    time.Duration // round trip of the sample that Offset is from
}

// Clock measures the offset of the server's clock. Of several samples it takes
// the one with the smallest round trip: the server read its clock somewhere in
// that interval, so the error of assuming the middle is at most half of it.
func (s *Server) Clock(ctx context.Context) (Clock, error) {
	var best Clock
	for i := range clockSamples {
		sent := time.Now()
		there, err := s.manager.Time(ctx).Result()
		if err != nil {
			return Clock{}, fmt.Errorf("read the clock of Redis: %w", err)
		}
		rtt := time.Since(sent)
		if i == 0 || rtt < best.RTT {
			best = Clock{Offset: there.Sub(sent.Add(rtt / 2)), RTT: rtt}
		}
	}
	return best, nil
}
