package simulator

// aging has slots in the order in which they were used, and how many of them were used
// within each of some spans.
type aging struct {
	youngest uint32
	oldest   [ages]uint32 // that was used within a span
	within   [ages]int64  // µs
	alive    [ages]int64
	most     [ages]int64 // alive at once
}

// The spans after which a slot is old.
const (
	ofWindow = iota // one window, (t−W, t]
	ofTwo           // two
	ofMemory        // nothing of it can matter
	ages
)

// none is no slot.
const none = ^uint32(0)

func newAging(window int64) aging {
	return aging{
		youngest: none, oldest: [ages]uint32{none, none, none},
		within: [ages]int64{window, 2 * window, memory(window)},
	}
}

// pass moves one slot, that was used a span ago or earlier, to those that are old, and
// returns it; none if no other is.
func (a *aging) pass(slots []slot, age int, now int64) uint32 {
	i := a.oldest[age]
	if i == none || slots[i].last > now-a.within[age] {
		return none
	}
	a.oldest[age] = slots[i].younger
	a.alive[age]--
	return i
}

// enter takes a new slot in.
func (a *aging) enter(slots []slot, i uint32) {
	for age := range ages {
		a.alive[age]++
		a.most[age] = max(a.most[age], a.alive[age])
	}
	a.append(slots, i)
}

// renew makes a slot the youngest. Old ones have passed before.
func (a *aging) renew(slots []slot, i uint32, now int64) {
	for age := range ages {
		if slots[i].last <= now-a.within[age] {
			a.alive[age]++
			a.most[age] = max(a.most[age], a.alive[age])
		} else if a.oldest[age] == i {
			a.oldest[age] = slots[i].younger
		}
	}
	a.leave(slots, i)
	a.append(slots, i)
}

// append links a slot behind the youngest.
func (a *aging) append(slots []slot, i uint32) {
	slots[i].older, slots[i].younger = a.youngest, none
	if a.youngest != none {
		slots[a.youngest].younger = i
	}
	a.youngest = i
	for age := range ages {
		if a.oldest[age] == none {
			a.oldest[age] = i
		}
	}
}

// leave takes a slot out of the chain.
func (a *aging) leave(slots []slot, i uint32) {
	older, younger := slots[i].older, slots[i].younger
	if older != none {
		slots[older].younger = younger
	}
	if younger != none {
		slots[younger].older = older
	}
	if a.youngest == i {
		a.youngest = older
	}
}
