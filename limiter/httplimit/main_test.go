package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// policies are those of the article and one above them.
var policies = []limiter.Policy{
	{Name: "trending", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 100, Window: time.Minute}},
	{Name: "feed", Algorithm: limiter.Log, Limit: limiter.Limit{Max: 30, Window: time.Minute}},
	{Name: "search", Algorithm: limiter.GCRA, Limit: limiter.Limit{Max: 10, Window: time.Minute}},
	{Name: "global", Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 120, Window: time.Minute}},
	{Name: "nobody", Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 2, Window: time.Minute}},
}

// memory is a decider in process: the models, all or nothing. Requests without
// an instant are decided at now.
type memory struct {
	mu       sync.Mutex
	policies []limiter.Policy
	now      time.Time
	states   map[scope]any
	asked    []limiter.Joint
}

// scope is what a policy and a key share with nobody.
type scope struct{ policy, key string }

func newMemory(policies []limiter.Policy) *memory {
	return &memory{policies: policies, now: noon, states: map[scope]any{}}
}

func (m *memory) Allow(ctx context.Context, j limiter.Joint) ([]limiter.Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, j)
	at := j.At
	if at.IsZero() {
		at = m.now
	}
	decisions := make([]limiter.Decision, len(j.Charges))
	unused := make([]limiter.Decision, len(j.Charges))
	next := map[scope]any{}
	for i, c := range j.Charges {
		p, err := m.named(c.Policy)
		if err != nil {
			return nil, err
		}
		r := limiter.Request{Key: c.Key, At: at, Cost: c.Cost}
		if err := r.Validate(); err != nil {
			return nil, err
		}
		key := scope{c.Policy, c.Key}
		state := m.states[key]
		if state == nil {
			state = p.Algorithm.Model.Init()
		}
		after, d := p.Algorithm.Model.Step(p.Limit, state, r)
		// What is left without this request: one that can never be admitted asks.
		r.Cost = p.Limit.Max + 1
		_, unused[i] = p.Algorithm.Model.Step(p.Limit, state, r)
		d.Source, d.Shadow = limiter.SourceRedis, p.Shadow
		decisions[i] = d
		if d.Allowed {
			next[key] = after
		}
	}
	if !limiter.Allowed(decisions) {
		for i, d := range decisions {
			if d.Allowed {
				decisions[i].Remaining, decisions[i].ResetAfter = unused[i].Remaining, unused[i].ResetAfter
			}
		}
		return decisions, nil
	}
	for key, state := range next {
		m.states[key] = state
	}
	return decisions, nil
}

func (m *memory) named(name string) (limiter.Policy, error) {
	for _, p := range m.policies {
		if p.Name == name {
			return p, nil
		}
	}
	return limiter.Policy{}, errors.New("no such policy")
}

func (m *memory) sleep(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// deciding is a decider that is one function.
type deciding func(context.Context, limiter.Joint) ([]limiter.Decision, error)

func (f deciding) Allow(ctx context.Context, j limiter.Joint) ([]limiter.Decision, error) {
	return f(ctx, j)
}

// byHeader identifies clients of tests.
func byHeader(r *http.Request, _ string) (httplimit.Name, error) {
	if who := r.Header.Get("Who"); who != "" {
		return httplimit.Name{Key: who}, nil
	}
	return httplimit.Name{}, errors.New("who is this?")
}

// service is the configuration that most tests start from.
func service(d httplimit.Decider) httplimit.Config {
	return httplimit.Config{
		Decider:  d,
		Policies: policies,
		Routes: []httplimit.Route{
			{Pattern: "/api/v1/trending", Charges: []httplimit.Charge{{Policy: "trending"}, {Policy: "global"}}},
			{Pattern: "GET /api/v1/feed", Charges: []httplimit.Charge{{Policy: "feed"}, {Policy: "global"}}},
			{Pattern: "/api/v1/search", Charges: []httplimit.Charge{{Policy: "search"}, {Policy: "global"}}},
		},
		Default:        httplimit.Route{Charges: []httplimit.Charge{{Policy: "global"}}},
		Identify:       byHeader,
		OnUnidentified: httplimit.Unidentified{Status: http.StatusForbidden},
		OnError:        httplimit.ErrorRefuses,
		Dialects:       []httplimit.Dialect{httplimit.XRateLimit, httplimit.Draft11},
	}
}

func newLimit(t testing.TB, c httplimit.Config) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ok is the handler behind the middleware in most tests.
var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// send lets a client of that name send a request.
func send(h http.Handler, who, method, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if who != "" {
		r.Header.Set("Who", who)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// events collects what is observed.
type events struct {
	mu  sync.Mutex
	all []httplimit.Event
}

func (e *events) observe(_ context.Context, event httplimit.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) last() httplimit.Event { return e.all[len(e.all)-1] }
