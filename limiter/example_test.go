package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/rlbench/rlbench/limiter"
)

// Example limits one client to three requests a minute.
func Example() {
	server, err := miniredis.Run() // stands in for your Redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	client, err := limiter.Dial("redis://" + server.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	l, err := limiter.New(client, limiter.Config{
		Algorithm: limiter.Log,
		Limit:     limiter.Limit{Max: 3, Window: time.Minute},
		Policy:    "search",
		OnFailure: limiter.FailOpen,
	})
	if err != nil {
		log.Fatal(err)
	}

	for range 4 {
		d, err := l.Allow(context.Background(), limiter.Request{Key: "pseudonym-of-the-client"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Allowed, d.Remaining, "left")
	}
	// Output:
	// true 2 left
	// true 1 left
	// true 0 left
	// false 0 left
}

// A denial says exactly when to come back, for any cost. Instants are values, so
// this takes no time to try.
func ExampleRedis_Allow_retryAfter() {
	l, done := twoAMinute(limiter.Log)
	defer done()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

	ask := func(after time.Duration, cost int64) {
		d, err := l.Allow(context.Background(), limiter.Request{Key: "c", At: noon.Add(after), Cost: cost})
		if err != nil {
			log.Fatal(err)
		}
		wait := d.RetryAfter.String()
		if d.RetryAfter == limiter.Never {
			wait = "for ever"
		}
		fmt.Printf("%5s: cost %d admitted %t, wait %s\n", after, cost, d.Allowed, wait)
	}
	ask(0, 1)
	ask(15*time.Second, 1)
	ask(20*time.Second, 1)
	ask(20*time.Second, 2)
	ask(20*time.Second, 3)
	ask(time.Minute, 1)
	// Output:
	//    0s: cost 1 admitted true, wait 0s
	//   15s: cost 1 admitted true, wait 0s
	//   20s: cost 1 admitted false, wait 40s
	//   20s: cost 2 admitted false, wait 55s
	//   20s: cost 3 admitted false, wait for ever
	//  1m0s: cost 1 admitted true, wait 0s
}

// Peek is for dashboards: it answers, and takes nothing.
func ExampleRedis_Peek() {
	l, done := twoAMinute(limiter.Counter)
	defer done()
	r := limiter.Request{Key: "c", At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	for range 3 {
		d, err := l.Peek(context.Background(), r)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Allowed, d.Remaining+r.Units(), "left now")
	}
	// Output:
	// true 2 left now
	// true 2 left now
	// true 2 left now
}

// A request that was sent but never answered may have been counted. Callers
// that must know tell the two kinds of error apart.
func ExampleErrUnknown() {
	client, err := limiter.Dial("redis://127.0.0.1:1") // nobody listens there
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	l, err := limiter.New(client, limiter.Config{
		Algorithm: limiter.Fixed,
		Limit:     limiter.Limit{Max: 2, Window: time.Minute},
		OnFailure: limiter.FailError,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = l.Allow(context.Background(), limiter.Request{Key: "c"})
	fmt.Println("failed:", err != nil)
	fmt.Println("may have been counted:", errors.Is(err, limiter.ErrUnknown))
	// Output:
	// failed: true
	// may have been counted: false
}

func ExampleParseLimit() {
	for _, s := range []string{"100/1m", "5000/24h", "100/60"} {
		l, err := limiter.ParseLimit(s)
		fmt.Println(l.Max, l.Window, err)
	}
	// Output:
	// 100 1m0s <nil>
	// 5000 24h0m0s <nil>
	// 0 0s limit "100/60": duration "60" has no unit: write 60s, 60ms or 60m
}

// Worst is what an algorithm promises, before anything is measured.
func ExampleAlgorithm_worst() {
	l := limiter.Limit{Max: 100, Window: time.Minute}
	for _, a := range limiter.Algorithms {
		fmt.Printf("%-14s %d in any minute at worst\n", a.Name, a.Worst(l))
	}
	// Output:
	// fixed          200 in any minute at worst
	// log            100 in any minute at worst
	// log-packed     100 in any minute at worst
	// counter        200 in any minute at worst
	// counter-strict 199 in any minute at worst
	// gcra           199 in any minute at worst
}

// An HTTP service rounds the wait up: a client that comes a moment early is
// denied again.
func ExampleLimiter_http() {
	l, done := twoAMinute(limiter.Fixed)
	defer done()
	handler := func(w http.ResponseWriter, r *http.Request) {
		d, err := l.Allow(r.Context(), limiter.Request{Key: "c", At: time.Date(2026, 1, 1, 12, 0, 30, 1, time.UTC)})
		switch {
		case err != nil:
			http.Error(w, "try again", http.StatusServiceUnavailable)
		case !d.Allowed:
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.RetryAfter.Seconds()))))
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}
	}
	for range 3 {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d, Retry-After %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200, Retry-After ""
	// 200, Retry-After ""
	// 429, Retry-After "30"
}

// twoAMinute is a limiter on a Redis in this process.
func twoAMinute(a limiter.Algorithm) (l *limiter.Redis, done func()) {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	client, err := limiter.Dial("redis://" + server.Addr())
	if err != nil {
		log.Fatal(err)
	}
	l, err = limiter.New(client, limiter.Config{
		Algorithm: a,
		Limit:     limiter.Limit{Max: 2, Window: time.Minute},
		OnFailure: limiter.FailError,
	})
	if err != nil {
		log.Fatal(err)
	}
	return l, func() { _ = client.Close(); server.Close() }
}
