package trace

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// routes tell what requests are for: a method, and a path without the query in which
// whatever may name a person or a thing is a star. /users/alice/feed?page=2 is
// GET /users/*/feed.
//
// A part of a path is shown when it is a short word, at least so many clients (shared)
// asked for it in that place and got something else than "not found", and the place is
// not one where most clients have a word of their own (varies) or where people are named
// (collections). None of this is known before the last line. Numbers are given to paths
// as they are, with a tree of them as deep and as wide as the bounds below, and settle
// merges them. A word is kept as text from the moment when enough clients share it; until
// then there is a hash.
type routes struct {
	seed    maphash.Seed
	places  map[uint64]uint32 // hash of a word → its place in words
	words   []word
	nodes   []node
	under   map[uint64]uint32 // a node and a word → node
	founded []uint8           // by client: words and nodes that it was the first to name
	given   []numbered        // by number
	final   []uint32          // by number, when settled
	names   []string
}

const (
	shared       = 5   // clients that make a word public
	mostSiblings = 32  // shared words in one place; more are data, not an interface
	leastRare    = 8   // words of few clients that make a place vary
	sampled      = 64  // clients that stand for those of a place
	deepest      = 6   // parts of a path; what is deeper is "..."
	mostWords    = 256 // in one place, until the rest is a star
	mostNodes    = 1 << 16
	mostFounded  = 100  // by one client: a scanner must not use up the tree
	mostRoutes   = 1000 // with a name; the rest is "(other)"
)

// The first nodes of the tree: paths begin at one, the others are no paths.
const (
	nodePaths uint32 = iota
	nodeNothing
	nodeStrange
	nodeOther
)

// word is a part of a path, wherever it is.
type word struct {
	text   string // "" until it is shared
	by     few
	always bool // it names nobody, whoever asks for it
	people bool // what comes after it is somebody
	verb   bool // unless it is one of these
}

// node is a word in a place.
type node struct {
	word     uint32
	star     uint32 // its child for all that is not told apart; 0 is none
	children []uint32
	by       few
	users    sample // those who asked for a word below
	excess   sample // of them, those whose word had no room
	numbers  [len(methods)]uint32
}

// numbered is what a number was given for.
type numbered struct {
	node   uint32
	method uint8
}

// methods are those of HTTP; a client may send anything else.
var methods = [...]string{"*", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}

// collections are words after which people are named, and verbs those that are found
// there and name nobody.
var (
	collections = []string{
		"account", "accounts", "author", "authors", "by", "contact", "contacts", "customer", "customers", "employee",
		"employees", "friend", "friends", "member", "members", "patient", "patients", "people", "person", "profile",
		"profiles", "student", "students", "u", "user", "users",
	}
	verbs = []string{
		"all", "confirm", "count", "login", "logout", "me", "new", "password", "register", "reset", "search", "self",
		"signin", "signout", "signup", "verify",
	}
)

func newRoutes() routes {
	t := routes{seed: maphash.MakeSeed(), places: map[uint64]uint32{}, under: map[uint64]uint32{}}
	t.words = []word{{}} // of the first nodes
	t.nodes = make([]node, nodeOther+1)
	return t
}

// number is that of a method and a path, asked for by a client that is known by a number
// too. What was not there is no route of its own.
func (t *routes) number(method, target []byte, client uint32, status int) uint32 {
	t.final = nil
	if len(target) == 0 {
		return t.numbered(nodeNothing, 0)
	}
	m := uint8(max(0, slices.Index(methods[:], string(method))))
	if i := bytes.IndexAny(target, "?#;"); i >= 0 {
		target = target[:i]
	}
	if len(target) == 0 || target[0] != '/' {
		return t.numbered(nodeStrange, m)
	}
	n := nodePaths
	for depth := 0; len(target) > 0; depth++ {
		part := target[1:]
		if end := bytes.IndexByte(part, '/'); end >= 0 {
			part = part[:end]
		}
		target = target[1+len(part):]
		if depth == deepest {
			part, target = []byte("..."), nil
		}
		if n = t.step(n, part, client, status != 404 && status != 410); n == nodeOther {
			return t.numbered(n, 0)
		}
	}
	return t.numbered(n, m)
}

func (t *routes) numbered(n uint32, method uint8) uint32 {
	number := &t.nodes[n].numbers[method]
	if *number == 0 {
		t.given = append(t.given, numbered{n, method})
		*number = uint32(len(t.given))
	}
	return *number - 1
}

// step is the node below n for a part of a path.
func (t *routes) step(n uint32, part []byte, client uint32, found bool) uint32 {
	if !plain(part) {
		return t.star(n)
	}
	h := maphash.Bytes(t.seed, part)
	w, known := t.places[h]
	child, there := uint32(0), false
	if known {
		child, there = t.under[uint64(n)<<32|uint64(w)]
	}
	public := known && t.words[w].always || !known && always(part)
	if !found && !there && !public {
		return t.star(n)
	}
	if !there {
		if !public && !t.room(n, client) {
			t.nodes[n].users.add(client)
			t.nodes[n].excess.add(client)
			return t.star(n)
		}
		if !known {
			w = t.learn(h, part)
		}
		if child = t.grow(node{word: w}); child == nodeOther {
			return child
		}
		t.nodes[n].children = append(t.nodes[n].children, child)
		t.under[uint64(n)<<32|uint64(w)] = child
	}
	if found && !public {
		t.nodes[n].users.add(client)
		t.nodes[child].by.add(client)
		if word := &t.words[w]; word.by.n < shared {
			if word.by.add(client); word.by.n == shared {
				word.text = string(part)
			}
		}
	}
	return child
}

// room is whether a client may name one more word below n.
func (t *routes) room(n, client uint32) bool {
	for int(client) >= len(t.founded) {
		t.founded = append(t.founded, make([]uint8, len(t.founded)+64)...)
	}
	if len(t.nodes[n].children) >= mostWords || t.founded[client] >= mostFounded {
		return false
	}
	t.founded[client]++
	return true
}

func (t *routes) learn(h uint64, part []byte) uint32 {
	w := word{always: always(part), people: slices.Contains(collections, string(part)), verb: slices.Contains(verbs, string(part))}
	if w.always {
		w.text = string(part)
	}
	t.words = append(t.words, w)
	t.places[h] = uint32(len(t.words) - 1)
	return t.places[h]
}

func (t *routes) star(n uint32) uint32 {
	if t.nodes[n].star == 0 {
		star := t.grow(node{})
		if star == nodeOther {
			return star
		}
		t.nodes[n].star = star
	}
	return t.nodes[n].star
}

func (t *routes) grow(n node) uint32 {
	if len(t.nodes) >= mostNodes {
		return nodeOther
	}
	t.nodes = append(t.nodes, n)
	return uint32(len(t.nodes) - 1)
}

// plain parts of a path are words: short, of letters, dots and dashes. Numbers, hashes,
// addresses and what is escaped are of something or somebody.
func plain(part []byte) bool {
	const longest = 32
	if len(part) > longest {
		return false
	}
	if always(part) {
		return true
	}
	for _, c := range part {
		if !letter(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// always may be shown: nothing, a version as in /v1, what stands for more.
func always(part []byte) bool {
	if len(part) == 0 || string(part) == "..." {
		return true
	}
	if len(part) > 3 || part[0]|0x20 != 'v' {
		return false
	}
	_, ok := digits(part[1:])
	return ok
}
