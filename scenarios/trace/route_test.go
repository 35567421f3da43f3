package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter/identity"
)

// word is a plain part of a path, another one for each number.
func wordOf(prefix string, n int) string {
	return prefix + strings.Map(func(r rune) rune { return 'a' + r - '0' }, fmt.Sprint(n))
}

// asked is a directory of clients who asked for something with GET, and were answered
// with 200.
type asked struct {
	*Directory
	t *testing.T
}

func newAsked(t *testing.T) asked { return asked{newDirectory(identity.Mask{}), t} }

func (a asked) by(client int, paths ...string) {
	for _, path := range paths {
		a.as(client, "GET", path, 200)
	}
}

func (a asked) as(client int, method, path string, status int) {
	c := a.client([]byte(fmt.Sprintf("10.0.%d.%d", client/250, client%250)))
	a.routes.number([]byte(method), []byte(path), c, status)
}

func (a asked) want(what string, routes ...string) {
	a.t.Helper()
	got := a.Routes()
	slices.Sort(got)
	slices.Sort(routes)
	if diff := cmp.Diff(routes, got); diff != "" {
		a.t.Errorf("%s: routes (-want +got):\n%s", what, diff)
	}
}

// What everybody asks for is shown, without what is a number, a hash or an address of something.
func TestRoutesOfOnePath(t *testing.T) {
	for _, row := range []struct{ method, target, want string }{
		{"GET", "/", "GET /"},
		{"GET", "/api/v1/trending?page=2", "GET /api/v1/trending"},
		{"GET", "/teams/42/feed", "GET /teams/*/feed"},
		{"POST", "/teams/alice@example.com", "POST /teams/*"},
		{"GET", "/blob/3f2504e04f8911d39a0c0305e82c3301", "GET /blob/*"},
		{"GET", "/a//b/", "GET /a//b/"},
		{"GET", "/a/b/c/d/e/f/g/h", "GET /a/b/c/d/e/f/..."},
		{"GET", "/" + strings.Repeat("x", 40), "GET /*"},
		{"GET", "http://example.com/", "GET *"},
		{"CONNECT", "example.com:443", "CONNECT *"},
		{"G\x00T", "/", "* /"},
		{"ALICE", "/", "* /"},
		{"", "", "(no request)"},
		{"OPTIONS", "*", "OPTIONS *"},
		{"GET", "/a;jsessionid=1", "GET /a"},
		{"GET", "/vacation/v2/v123/v", "GET /vacation/v2/*/v"},
		{"GET", "/users/alice", "GET /users/*"},
		{"GET", "/users/me/posts", "GET /users/me/posts"},
		{"GET", "/api/people/alice/posts", "GET /api/people/*/posts"},
	} {
		a := newAsked(t)
		for client := range shared {
			a.as(client, row.method, row.target, 200)
		}
		a.want(row.target, row.want)
	}
}

// A part that fewer than five clients asked for is not shown, and neither is one where
// most clients have a part of their own.
func TestRoutesHidePeople(t *testing.T) {
	a := newAsked(t)
	for client := range shared - 1 {
		a.by(client, "/api/rare", "/api/rare", "/api/rare")
	}
	a.want("four clients", "GET /*/*")

	a = newAsked(t)
	for client := range 1000 {
		name := wordOf("p", client)
		// Their own page, that of a star, and one that all have.
		a.by(client, "/channel/"+name+"/videos", "/channel/celebrity/videos", "/about", "/channel/"+name+"/42")
	}
	a.want("names of channels", "GET /channel/*/videos", "GET /channel/*/*", "GET /about")

	a = newAsked(t)
	for client := range 200 {
		for friend := range mostSiblings + 1 {
			a.by(client, "/"+wordOf("p", friend))
		}
	}
	a.want("too many shared", "GET /*")

	a = newAsked(t)
	for client := range 200 {
		a.by(client, "/api/feed", "/api/"+wordOf("x", client%leastRare))
	}
	a.by(7, "/api/mine")
	a.want("an interface", slices.Concat([]string{"GET /api/feed", "GET /api/*"}, func() (some []string) {
		for i := range leastRare {
			some = append(some, "GET /api/"+wordOf("x", i))
		}
		return some
	}())...)
}

// One scanner, and many that find nothing, hide no interface.
func TestRoutesOfScanners(t *testing.T) {
	a := newAsked(t)
	for i := range 3000 {
		a.by(0, "/"+wordOf("s", i))
		a.as(1+i%50, "GET", "/"+wordOf("n", i), 404)
	}
	for client := range 100 {
		a.as(100+client, "POST", "/api/login", 200)
	}
	a.want("scanned", "GET /*", "POST /api/login")
	if n := len(a.routes.nodes); n > 300 {
		t.Errorf("%d nodes", n)
	}
}

// Whatever clients ask for, a shown word is one that five of them asked for; every number
// has a route, and the tree is bounded.
func TestRoutesAreShared(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDirectory(identity.Mask{})
		by := map[string]map[uint32]bool{}
		var numbers []uint32
		part := rapid.SampledFrom([]string{"users", "alice", "bob", "api", "login", "42", "v1", "x.y", ""})
		for range rapid.IntRange(0, 120).Draw(rt, "requests") {
			client := uint32(rapid.IntRange(0, 9).Draw(rt, "client"))
			parts := rapid.SliceOfN(part, 1, 4).Draw(rt, "parts")
			for _, p := range parts {
				if by[p] == nil {
					by[p] = map[uint32]bool{}
				}
				by[p][client] = true
			}
			numbers = append(numbers, d.routes.number([]byte("GET"), []byte("/"+strings.Join(parts, "/")), client, 200))
		}
		routes := d.Routes()
		for _, n := range numbers {
			path, _ := strings.CutPrefix(routes[d.Route(n)], "GET /")
			for p := range strings.SplitSeq(path, "/") {
				if p != "*" && p != "" && p != "v1" && (len(by[p]) < shared || p == "42") {
					rt.Fatalf("%q is shown, and %d clients asked for it", p, len(by[p]))
				}
			}
			if strings.Contains(path, "users/alice") || strings.Contains(path, "users/bob") {
				rt.Fatalf("%q names somebody", path)
			}
		}
		if len(routes) > 0 && len(slices.Compact(slices.Sorted(slices.Values(routes)))) != len(routes) {
			rt.Fatalf("a route comes twice: %q", routes)
		}
	})
}

// Millions of paths are a bounded tree, and a thousand routes.
func TestRoutesAreBounded(t *testing.T) {
	a := newAsked(t)
	for client := range 1500 {
		for i := range 90 {
			a.by(client, "/"+wordOf("a", client)+"/"+wordOf("b", i)+"/"+wordOf("c", i))
		}
	}
	for i := range 40 {
		for j := range 30 {
			for client := range shared {
				a.by(2000+10*i+client, "/v"+fmt.Sprint(i)+"/"+wordOf("z", j))
			}
		}
	}
	routes := a.Routes()
	if len(a.routes.nodes) > mostNodes || len(routes) > mostRoutes+1 || !slices.Contains(routes, "(other)") {
		t.Errorf("%d nodes, %d routes", len(a.routes.nodes), len(routes))
	}
}
