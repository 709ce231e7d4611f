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

// level evens inside the pools until no single move lowers the higher of two loads, the widest gap first. With items of
// several weights it first makes the moves that overshoot nothing, the heaviest items first: fewer moves reach the
// same.
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

// widest finds the pool to work on, −1 if none, and the gap at which to look again: that of the second, or half its
// own.
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
	a, b := &p.loads[high], &p.loads[low]
	return max(0, scaled(a.load, a.weight)-scaled(b.load+w, b.weight))
}

// scaled is for choosing an order only; whether a move gains is decided exactly.
func scaled(load, weight int64) int64 { return (load << 16) / weight }

// lowest is the member of a pool that would be the least loaded with one more item.
func (p *planner) lowest(po pool) (int32, bool) {
	g := &p.groups[po.group]
	low := none
	for _, m := range g.zones[po.zone] {
		s := &p.loads[m]
		if !s.room() {
			continue
		}
		if low == none || compare(s.load+g.weight, s.weight, p.loads[low].load+g.weight, p.loads[low].weight) < 0 {
			low = m
		}
	}
	return low, low != none
}

// gains says whether to move an item of weight w from a to b is better than not to: a's load was higher than b's will
// be. A gentle move leaves a's load at least as high as b's.
func (p *planner) gains(a, b int32, w int64, gentle bool) bool {
	sa, sb := &p.loads[a], &p.loads[b]
	if gentle {
		return a != b && sa.load >= w && compare(sa.load-w, sa.weight, sb.load+w, sb.weight) >= 0
	}
	return compare(sa.load, sa.weight, sb.load+w, sb.weight) > 0
}

// even moves items of a pool from its most to its least loaded member while that gains, until the gap is at most stop.
// It reports whether it has moved any.
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
		a2, b2 := &p.loads[a.member], &p.loads[b.member]
		if stop >= 0 && scaled(a2.load+w, a2.weight)-scaled(b2.load, b2.weight) <= stop {
			return moved
		}
	}
}

// spreadOut moves items of spread groups from the zone with the most to the zone with the fewest until they differ by
// at most one.
func (p *planner) spreadOut() bool {
	moved := false
	for g := range p.groups {
		if p.groups[g].spread() && p.uneven(&p.groups[g]) {
			moved = p.spreadGroup(int32(g)) || moved
		}
	}
	return moved
}

func (p *planner) uneven(g *group) bool {
	low, high := 0, 0
	for z := range g.zones {
		if g.held[z] < g.held[low] {
			low = z
		}
		if g.held[z] > g.held[high] {
			high = z
		}
	}
	return len(g.held) > 0 && g.held[high] >= g.held[low]+2
}

func (p *planner) spreadGroup(g int32) bool {
	gr := &p.groups[g]
	o := p.openings(g)
	from := make([]*sources, len(gr.zones))
	moved := false
	for {
		b, ok := o.best()
		if !ok {
			return moved
		}
		a := p.fullest(g, from, gr.held[gr.rule.zone[b]]+2)
		if a == none {
			return moved
		}
		p.put(p.take(a), b)
		moved = true
	}
}

// fullest is the cell to take from in the zone with the most items and at least that many; none if there is none.
func (p *planner) fullest(g int32, from []*sources, least int) int32 {
	gr := &p.groups[g]
	cell, zone := none, 0
	for z := range gr.zones {
		if gr.held[z] < least || cell != none && gr.held[z] <= gr.held[zone] {
			continue
		}
		if from[z] == nil {
			from[z] = p.sources(g, z)
		}
		if n, ok := from[z].top(); ok {
			cell, zone = n.cell, z
		}
	}
	return cell
}

// trade evens loads across zones where the spread does not mind: from a zone with one item more to a zone with one
// less.
func (p *planner) trade() bool {
	moved := false
	for g := range p.groups {
		if gr := &p.groups[g]; gr.spread() && len(gr.zones) > 1 {
			for p.tradeOne(int32(g)) {
				moved = true
			}
		}
	}
	return moved
}

func (p *planner) tradeOne(g int32) bool {
	gr := &p.groups[g]
	low := none
	for z := range gr.zones {
		m, ok := p.lowest(pool{g, z})
		if ok && (low == none || p.lowerZone(gr, m, low)) {
			low = m
		}
	}
	if low == none {
		return false
	}
	high := none
	for z := range gr.zones {
		if gr.held[z] != gr.held[gr.rule.zone[low]]+1 {
			continue
		}
		p.eachSource(g, z, func(at int32) {
			m := p.cells[at].member
			if p.gains(m, low, gr.weight, false) && (high == none || p.heavier(m, p.cells[high].member)) &&
				p.stocked(at) {
				high = at
			}
		})
	}
	if high == none {
		return false
	}
	p.put(p.take(high), low)
	return true
}

// lowerZone says whether a is to be preferred to b: its zone has fewer items, or as many and it would be less loaded.
func (p *planner) lowerZone(g *group, a, b int32) bool {
	ha, hb := g.held[g.rule.zone[a]], g.held[g.rule.zone[b]]
	if ha != hb {
		return ha < hb
	}
	return compare(p.loads[a].load+g.weight, p.loads[a].weight, p.loads[b].load+g.weight, p.loads[b].weight) < 0
}

// heavier says whether a comes before b as a source: the order of the heap of sources.
func (p *planner) heavier(a, b int32) bool {
	c := compare(p.loads[a].load, p.loads[a].weight, p.loads[b].load, p.loads[b].weight)
	return c > 0 || c == 0 && a < b
}
