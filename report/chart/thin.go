package chart

// columns is how many points of a line stand beside each other: more than that are not
// told apart on a screen.
const columns = 400

// thin leaves out points that nobody would see. Of those that share a column it keeps
// the first, the last and the two extremes: a spike of one sample is never lost.
func thin(points []Point, x Axis) []Point {
	if len(points) <= columns {
		return points
	}
	var kept []Point
	for begin := 0; begin < len(points); {
		column, end := columnOf(points[begin], x), begin+1
		lowest, highest := begin, begin
		for ; end < len(points) && columnOf(points[end], x) == column; end++ {
			if points[end].Y < points[lowest].Y {
				lowest = end
			}
			if points[end].Y > points[highest].Y {
				highest = end
			}
		}
		last := -1
		for _, i := range []int{begin, min(lowest, highest), max(lowest, highest), end - 1} {
			if i > last {
				kept, last = append(kept, points[i]), i
			}
		}
		begin = end
	}
	return kept
}

func columnOf(p Point, x Axis) int { return int(x.share(p.X) * columns) }

// thinBars leaves all but the highest bar of a column out, together with those that stand
// on it and under it. All kinds have the same xs.
func thinBars(bars []Bars, x Axis) []Bars {
	if len(bars) == 0 || len(bars[0].Points) <= columns {
		return bars
	}
	total := func(i int) (sum float64) {
		for _, b := range bars {
			sum += b.Points[i].Y
		}
		return sum
	}
	var kept []int
	for i, p := range bars[0].Points {
		switch last := len(kept) - 1; {
		case last < 0 || columnOf(p, x) != columnOf(bars[0].Points[kept[last]], x):
			kept = append(kept, i)
		case total(i) > total(kept[last]):
			kept[last] = i
		}
	}
	thinned := make([]Bars, len(bars))
	for k, b := range bars {
		thinned[k] = b
		thinned[k].Points = make([]Point, len(kept))
		for i, from := range kept {
			thinned[k].Points[i] = b.Points[from]
		}
		thinned[k].Wide = max(b.Wide, (x.Max-x.Min)/columns)
	}
	return thinned
}
