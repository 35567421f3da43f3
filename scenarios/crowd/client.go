package crowd

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// client makes the requests of one, from one to the next.
type client struct {
	number int
	class  Class
	random *rand.Rand
	start  int64 // of the traffic, and its end, µs since 1970
	end    int64
	queue  []request // of the page, the burst or the minute that is under way, in order
	after  int64     // where the next one begins
	pages  int       // left of the visit
	people []*client // of a crowd
	phase  int64     // of who comes by the clock
}

// request is what a client sends, before anything becomes of it.
type request struct {
	at     int64
	method string
	path   string
}

func newClient(c *Config, number int, class Class) *client {
	k := &client{
		number: number, class: class, random: rand.New(rand.NewPCG(c.Seed, uint64(number))),
		start: c.Start.UnixMicro(), end: c.Start.Add(c.Duration).UnixMicro(),
	}
	switch class {
	case Browser:
		k.after = k.start + k.random.Int64N(k.end-k.start)
		k.pages = k.visit()
	case Crowd:
		for i := range behind {
			one := newClient(c, number, Browser)
			one.random = rand.New(rand.NewPCG(c.Seed, uint64(number)<<32|uint64(i+1)))
			one.after = k.start + one.random.Int64N(int64(time.Minute/time.Microsecond))
			one.pages = math.MaxInt32 // there is always somebody
			k.people = append(k.people, one)
		}
	default:
		k.phase = k.random.Int64N(5)
		k.after = k.start
	}
	return k
}

// behind is how many people share the address of a crowd.
const behind = 5

// visit is how many pages a person looks at: four on average.
func (k *client) visit() int {
	n := 1
	for n < 20 && k.random.IntN(4) > 0 {
		n++
	}
	return n
}

// peek is the next request; false if there is none.
func (k *client) peek() (request, bool) {
	for len(k.queue) == 0 {
		if k.after >= k.end || !k.more() {
			return request{}, false
		}
	}
	if k.queue[0].at >= k.end {
		return request{}, false
	}
	return k.queue[0], true
}

func (k *client) pop() { k.queue = k.queue[1:] }

// more fills the queue, or moves on; false if there is nothing left.
func (k *client) more() bool {
	k.queue = k.queue[:0]
	switch k.class {
	case Browser:
		return k.page()
	case Scraper:
		k.camp()
	case Cron:
		k.tick()
	case Bot:
		k.queue = append(k.queue, request{k.after + k.random.Int64N(1e6), "GET", k.video()})
		k.after += 8e6 + k.random.Int64N(8e6)
	case Crowd:
		return k.anybody()
	}
	return true
}

// page is a page and what it needs, and then time to read: a log-normal one, with a median of
// fifteen seconds.
func (k *client) page() bool {
	if k.pages == 0 {
		return false
	}
	k.pages--
	k.queue = append(k.queue, request{k.after, "GET", k.place()})
	at := k.after
	for range 2 + k.random.IntN(4) {
		at += 20e3 + k.random.Int64N(250e3)
		k.queue = append(k.queue, request{at, "GET", fmt.Sprintf("/thumbnails/%d.jpg", 1+k.random.IntN(videos))})
	}
	k.after = at + int64(6e6+9e6*math.Exp(k.random.NormFloat64()*0.8))
	return true
}

// campers send so many on each side of an edge, within half a second of it.
const campers = 150

// camp is a burst just before the end of a minute and another just after it, at one edge in
// five.
func (k *client) camp() {
	minute := int64(time.Minute / time.Microsecond)
	edge := (k.after/minute + 1) * minute
	for (edge/minute)%5 != k.phase {
		edge += minute
	}
	step := int64(500e3) / campers
	for i := range int64(2 * campers) {
		k.queue = append(k.queue, request{edge + (i-campers)*step + k.random.Int64N(step), "GET", fmt.Sprintf("/videos?page=%d", 1+k.random.IntN(500))})
	}
	k.after = edge + 1e6
}

// tick is one request at the beginning of every fifth minute, and another a second later.
func (k *client) tick() {
	minute := int64(time.Minute / time.Microsecond)
	at := (k.after/minute + 1) * minute
	for (at/minute)%5 != k.phase {
		at += minute
	}
	k.queue = append(k.queue, request{at + 2e3, "GET", "/videos"}, request{at + 1e6, "POST", fmt.Sprintf("/users/user%d/playlist", k.number)})
	k.after = at + 2e6
}

// anybody is the next request of the people behind an address.
func (k *client) anybody() bool {
	var first *client
	var next request
	for _, one := range k.people {
		if r, ok := one.peek(); ok && (first == nil || r.at < next.at) {
			first, next = one, r
		}
	}
	if first == nil {
		return false
	}
	first.pop()
	k.queue, k.after = append(k.queue, next), next.at
	return true
}

const videos = 500

// place is a page, as people look at them.
func (k *client) place() string {
	switch k.random.IntN(10) {
	case 0:
		return "/videos"
	case 1:
		return fmt.Sprintf("/search?q=word%d", k.random.IntN(100))
	case 2:
		return fmt.Sprintf("/users/user%d/playlist", k.number)
	}
	return k.video()
}

func (k *client) video() string { return fmt.Sprintf("/videos/%d", 1+k.random.IntN(videos)) }

// merge are clients that have a request left, the earliest first; of those at one instant
// the lowest number.
type merge []*client

func newMerge(c Config) merge {
	var all merge
	number := 0
	for class, n := range c.counts() {
		for range n {
			if k := newClient(&c, number, Classes[class]); k.ready() {
				all = append(all, k)
			}
			number++
		}
	}
	heap.Init(&all)
	return all
}

func (k *client) ready() bool {
	_, ok := k.peek()
	return ok
}

// next takes the earliest request, and says what became of it.
func (m *merge) next() Event {
	k := (*m)[0]
	e := k.answered(k.queue[0])
	k.pop()
	if k.ready() {
		heap.Fix(m, 0)
	} else {
		heap.Pop(m)
	}
	return e
}

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	a, b := m[i], m[j]
	if a.queue[0].at != b.queue[0].at {
		return a.queue[0].at < b.queue[0].at
	}
	return a.number < b.number
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(k any)   { *m = append(*m, k.(*client)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// answered is a request with its answer.
func (k *client) answered(r request) Event {
	e := Event{
		At: r.at, Client: k.number, Class: k.class, Addr: addressOf(k.number), Method: r.method, Path: r.path,
		Status: 200, Bytes: 200 + k.random.IntN(20_000), Took: time.Duration(2e6 + 8e6*math.Exp(k.random.NormFloat64()*0.7)), Agent: agents[k.class],
	}
	switch n := k.random.IntN(100); {
	case n == 0:
		e.Status, e.Bytes = 404, 150
	case n < 8 && r.method == "GET":
		e.Status, e.Bytes = 304, 0
	}
	return e
}

// agents are what classes call themselves; scrapers do as browsers do.
var agents = map[Class]string{
	Browser: "Mozilla/5.0 (X11; Linux x86_64)", Crowd: "Mozilla/5.0 (Windows NT 10.0)", Scraper: "Mozilla/5.0 (X11; Linux x86_64)",
	Cron: "curl/8", Bot: "ExampleBot/1.0 (+https://bot.example/)",
}
