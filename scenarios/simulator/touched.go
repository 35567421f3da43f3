package simulator

// touched remembers which limits have ever refused anything to a key, and to a client.
type touched struct {
	keys    []mask          // of clients or networks
	pairs   map[uint64]mask // of clients on routes
	clients []mask          // unless they are the keys
}

func newTouched(key Key) touched {
	if key == PerRoute {
		return touched{pairs: map[uint64]mask{}}
	}
	return touched{}
}

// by is who has refused anything to a key.
func (t *touched) by(key uint64) mask {
	if t.pairs != nil {
		return t.pairs[key]
	}
	if key >= uint64(len(t.keys)) {
		return 0
	}
	return t.keys[key]
}

// add remembers who refused a request. Known is what is remembered of its key already;
// add returns what is then.
func (t *touched) add(k Key, e *Event, refused, known mask) mask {
	news := refused&^known != 0
	if refused != 0 && k == PerPrefix || news && k == PerRoute {
		t.clients = longer(t.clients, uint64(e.Client))
		t.clients[e.Client] |= refused
	}
	if !news {
		return known
	}
	key := k.Of(e)
	all := t.by(key) | refused
	if t.pairs != nil {
		t.pairs[key] = all
	} else {
		t.keys = longer(t.keys, key)
		t.keys[key] = all
	}
	return all
}

// keysBy is how many keys each limit has refused anything.
func (t *touched) keysBy(limits int) []int64 {
	var by tally
	for _, m := range t.pairs {
		by.add(m)
	}
	for _, m := range t.keys {
		by.add(m)
	}
	return by.counts(limits)
}

// clientsBy is how many clients of each group each limit has refused anything, by group.
func (t *touched) clientsBy(o Options, limits int) [][]int64 {
	clients := t.clients
	if t.clients == nil && t.pairs == nil {
		clients = t.keys
	}
	by := make([]tally, o.groups())
	for client, m := range clients {
		by[kindOf(o.Group, uint32(client))].add(m)
	}
	counts := make([][]int64, len(by))
	for group := range by {
		counts[group] = by[group].counts(limits)
	}
	return counts
}
