package schedule

// A pool is one zone of one group: items of one weight that may move freely among some members.
type pool struct {
	group int32
	zone  int
}

// newPools lists the pools in which there is something to choose.
func (p *planner) newPools() {
	for g := range p.groups {
		for z := range p.groups[g].zones {
			if len(p.groups[g].zones[z]) > 1 {
				p.pools = append(p.pools, pool{int32(g), z})
			}
		}
	}
	for _, po := range p.pools {
		p.mixed = p.mixed || p.groups[po.group].weight != p.groups[p.pools[0].group].weight
	}
}

// level evens inside the pools until no single move lowers the higher of two loads, the widest gap first. With items of several weights
// it first makes the moves that overshoot nothing, the heaviest items first: fewer moves reach the same.
func (p *planner) level() bool {
	moved := false
	if p.mixed {
		moved = p.levelBy(true)
	}
	return p.levelBy(false) || moved
}

func (p *planner) levelBy(gentle bool) bool {
	moved := false
	for {
		at, stop := p.widest(gentle)
		if at < 0 {
			return moved
		}
		if !p.even(p.pools[at], gentle, stop) {
			return moved
		}
		moved = true
	}
}

// widest finds the pool to work on, −1 if none, and the gap at which to look again: that of the second, or half its own.
func (p *planner) widest(gentle bool) (at int, stop int64) {
	at = -1
	best := int64(-1)
	for i, po := range p.pools {
		if gentle && at >= 0 && p.groups[po.group].weight < p.groups[p.pools[at].group].weight {
			break // the groups are sorted, the heaviest first
		}
		gap := p.gap(po, gentle)
		if gap > best {
			at, best, stop = i, gap, best
		} else {
			stop = max(stop, gap)
		}
	}
	if len(p.pools) == 1 {
		return at, -1
	}
	return at, max(stop, best/2)
}

// gap measures what one move in a pool would gain, in 1/65536 of load per weight; −1 if no move is better than none.
func (p *planner) gap(po pool, gentle bool) int64 {
	w := p.groups[po.group].weight
	low, ok := p.lowest(po)
	if !ok {
		return -1
	}
	high := none
	p.eachSource(po.group, po.zone, func(at int32) {
		m := p.cells[at].member
		if p.gains(m, low, w, false) && (high == none || p.heavier(m, high)) && p.stocked(at) {
			high = m
		}
	})
	if high == none || gentle && !p.gains(high, low, w, true) {
		return -1
	}
	a, b := &p.seats[high], &p.seats[low]
	return max(0, scaled(a.load, a.weight)-scaled(b.load+w, b.weight))
}

// scaled is for choosing an order only; whether a move gains is decided exactly.
func scaled(load, weight int64) int64 { return (load << 16) / weight }

// lowest is the member of a pool that would be the least loaded with one more item.
func (p *planner) lowest(po pool) (int32, bool) {
	g := &p.groups[po.group]
	low := none
	for _, m := range g.zones[po.zone] {
		s := &p.seats[m]
		if !s.room() {
			continue
		}
		if low == none || compare(s.load+g.weight, s.weight, p.seats[low].load+g.weight, p.seats[low].weight) < 0 {
			low = m
		}
	}
	return low, low != none
}

// gains says whether to move an item of weight w from a to b is better than not to: a's load was higher than b's will be. A gentle
// move leaves a's load at least as high as b's.
func (p *planner) gains(a, b int32, w int64, gentle bool) bool {
	sa, sb := &p.seats[a], &p.seats[b]
	if gentle {
		return a != b && sa.load >= w && compare(sa.load-w, sa.weight, sb.load+w, sb.weight) >= 0
	}
	return compare(sa.load, sa.weight, sb.load+w, sb.weight) > 0
}

// even moves items of a pool from its most to its least loaded member while that gains, until the gap is at most stop. It reports whether
// it has moved any.
func (p *planner) even(po pool, gentle bool, stop int64) (moved bool) {
	w := p.groups[po.group].weight
	from, to := p.sources(po.group, po.zone), p.openings(po.group)
	for {
		a, ok := from.top()
		if !ok {
			return moved
		}
		b, ok := to.top(po.zone)
		if !ok || !p.gains(a.member, b.member, w, gentle) {
			return moved
		}
		p.put(p.take(a.cell), b.member)
		moved = true
		a2, b2 := &p.seats[a.member], &p.seats[b.member]
		if stop >= 0 && scaled(a2.load+w, a2.weight)-scaled(b2.load, b2.weight) <= stop {
			return moved
		}
	}
}
