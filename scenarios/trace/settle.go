package trace

import "slices"

// few are the first clients of something, until it is shared.
type few struct {
	clients [shared]uint32
	n       int
}

func (f *few) add(client uint32) {
	if f.n < shared && !slices.Contains(f.clients[:f.n], client) {
		f.clients[f.n] = client
		f.n++
	}
}

func (f *few) join(g few) {
	for _, client := range g.clients[:g.n] {
		f.add(client)
	}
}

// sample is of clients, each as likely as any other: those with the smallest of some
// hash, in order. Who is in it, and did something, is in the sample of those who did.
type sample []uint32

func (s *sample) add(client uint32) { s.insert(mixed(client)) }

func (s *sample) insert(hash uint32) {
	if len(*s) == sampled && hash >= (*s)[sampled-1] {
		return
	}
	i, found := slices.BinarySearch(*s, hash)
	if found {
		return
	}
	if len(*s) == sampled {
		*s = (*s)[:sampled-1]
	}
	*s = slices.Insert(*s, i, hash)
}

// mixed is a hash without collisions, the same in every run.
func mixed(n uint32) uint32 {
	n = (n ^ n>>16) * 0x7feb352d
	n = (n ^ n>>15) * 0x846ca68b
	return n ^ n>>16
}

// branch is a word below some nodes that are one route.
type branch struct {
	word  *word
	nodes []uint32
	by    few
}

// settle gives each number its name, and equal names one number.
func (t *routes) settle() {
	if t.final != nil {
		return
	}
	paths := make([]string, len(t.nodes))
	paths[nodeStrange] = "*"
	t.resolve(paths, []uint32{nodePaths}, "", false)
	t.names, t.final = nil, make([]uint32, len(t.given))
	places := map[string]uint32{}
	for i, g := range t.given {
		name := methods[g.method] + " " + paths[g.node]
		switch g.node {
		case nodeNothing:
			name = "(no request)"
		case nodeOther:
			name = "(other)"
		}
		if _, ok := places[name]; !ok && len(t.names) >= mostRoutes {
			name = "(other)"
		}
		place, ok := places[name]
		if !ok {
			place = uint32(len(t.names))
			places[name] = place
			t.names = append(t.names, name)
		}
		t.final[i] = place
	}
}

// resolve finds the paths of nodes that are one, and of what is below.
func (t *routes) resolve(paths []string, group []uint32, path string, people bool) {
	var branches []branch
	place := map[uint32]int{}
	var stars []uint32
	for _, n := range group {
		paths[n] = path
		if star := t.nodes[n].star; star != 0 {
			stars = append(stars, star)
		}
		for _, child := range t.nodes[n].children {
			w := t.nodes[child].word
			i, ok := place[w]
			if !ok {
				i = len(branches)
				place[w] = i
				branches = append(branches, branch{word: &t.words[w]})
			}
			branches[i].nodes = append(branches[i].nodes, child)
			branches[i].by.join(t.nodes[child].by)
		}
	}
	hidden := t.varies(group, branches)
	for _, b := range branches {
		if b.word.always || b.by.n == shared && !hidden && (!people || b.word.verb) {
			t.resolve(paths, b.nodes, path+"/"+b.word.text, b.word.people)
		} else {
			stars = append(stars, b.nodes...)
		}
	}
	if len(stars) > 0 {
		t.resolve(paths, stars, path+"/*", false)
	}
}

// varies is whether a place is of names rather than of an interface: too many words are
// shared, or at least half of the clients have words there that are not.
func (t *routes) varies(group []uint32, branches []branch) bool {
	var users, own sample
	rare, public := 0, 0
	for _, n := range group {
		for _, hash := range t.nodes[n].users {
			users.insert(hash)
		}
		for _, hash := range t.nodes[n].excess {
			own.insert(hash)
		}
	}
	if len(own) > 0 {
		rare = leastRare
	}
	for _, b := range branches {
		switch {
		case b.word.always:
		case b.by.n == shared:
			public++
		default:
			rare++
			for _, client := range b.by.clients[:b.by.n] {
				own.add(client)
			}
		}
	}
	both := 0
	for _, hash := range users {
		if _, ok := slices.BinarySearch(own, hash); ok {
			both++
		}
	}
	return public > mostSiblings || rare >= leastRare && 2*both >= len(users)
}
