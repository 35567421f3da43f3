package simulator

// cells is GCRA. The backlog of a limit is counted in units of which a microsecond has as
// many as the limit and a request as many as the window has microseconds; it has room for
// a window.
type cells struct {
	width  int64
	limits []int64
	zero   mask  // limits that admit nothing
	apart  int64 // µs after which one request has left all backlogs
	keys   []cell
	owed   []int64 // of row × limit
	free   []uint32
}

// cell is what a key owes at an instant.
type cell struct {
	at  int64  // 0: nothing
	row uint32 // 0: one request with each limit
}

func newCells(width int64, limits []int64) *cells {
	c := &cells{width: width, limits: limits, owed: make([]int64, len(limits))} // row 0 is none
	for i, limit := range limits {
		if limit == 0 {
			c.zero |= 1 << i
		} else if c.apart == 0 {
			c.apart = (width + limit - 1) / limit
		}
	}
	return c
}

func (c *cells) refuse(n *note, at int64, _ uint32) mask {
	c.keys = longer(c.keys, uint64(n.slot))
	k := &c.keys[n.slot]
	if n.fresh {
		c.release(k)
		k.at = -c.apart
	}
	if k.row == 0 && at-k.at >= c.apart {
		k.at = at
		return c.zero
	}
	if k.row == 0 {
		k.row = c.open()
	}
	gap := at - k.at // not longer than a key is remembered, so that the product fits
	k.at = at
	refused, owing := c.ask(c.owed[int(k.row)*len(c.limits):], gap)
	if !owing { // as after one request
		c.release(k)
	}
	return refused
}

// ask lets time pass and adds a request where there is room.
func (c *cells) ask(owed []int64, gap int64) (refused mask, owing bool) {
	limits, rest := c.limits, int64(0)
	owed = owed[:len(limits)]
	for i, limit := range limits {
		left := max(owed[i]-gap*limit, 0)
		rest |= left
		over := (limit*c.width - left - c.width) >> 63 // all ones if there is no room
		owed[i] = left + c.width&^over
		refused |= mask(over&1) << i
	}
	return refused, rest != 0
}

// open makes a row for a key that owes one request.
func (c *cells) open() uint32 {
	var i uint32
	if last := len(c.free) - 1; last >= 0 {
		i, c.free = c.free[last], c.free[:last]
	} else {
		i = uint32(len(c.owed) / len(c.limits))
		c.owed = append(c.owed, make([]int64, len(c.limits))...)
	}
	for n, limit := range c.limits {
		owed := &c.owed[int(i)*len(c.limits)+n]
		if *owed = c.width; limit == 0 {
			*owed = 0
		}
	}
	return i
}

func (c *cells) release(k *cell) {
	if k.row != 0 {
		c.free = append(c.free, k.row)
		k.row = 0
	}
}
