package edge

// wait is how long until a view of the newest period leaves room for one more
// request, in microseconds; 0 if it does now.
func (b *Binding) wait(view counts, at int64) int64 {
	room := b.config.Pinned() - 1 // what may be in use when one more comes
	start := b.window * b.period
	end := start + b.period
	if b.config.Kind == FixedWindow {
		if view.current <= room {
			return 0
		}
		return end - at
	}
	left := min(b.period, end-at) // a late clock stands at the start
	switch {
	case view.current+view.previous*left/b.period <= room:
		return 0
	case view.current <= room:
		return start + b.fadesTo(room-view.current, view.previous) - at
	default:
		return end + b.fadesTo(room, view.current) - at
	}
}

// fadesTo is how far into a period the count of the one before weighs at most
// room, which is less than it: the smallest e with
// floor(count × (period-e) / period) <= room, that is
// e > period - (room+1) × period / count.
func (b *Binding) fadesTo(room, count int64) int64 {
	if count <= room {
		return 0
	}
	return b.period - ((room+1)*b.period+count-1)/count + 1
}
