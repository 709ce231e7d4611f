package schedule

// spreadOut moves items of spread groups from the zone with the most to the zone with the fewest until they differ by at most one.
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

// trade evens loads across zones where the spread does not mind: from a zone with one item more to a zone with one less.
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
			if p.gains(m, low, gr.weight, false) && (high == none || p.heavier(m, p.cells[high].member)) && p.stocked(at) {
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
	return compare(p.seats[a].load+g.weight, p.seats[a].weight, p.seats[b].load+g.weight, p.seats[b].weight) < 0
}

// heavier says whether a comes before b as a source: the order of the heap of sources.
func (p *planner) heavier(a, b int32) bool {
	c := compare(p.seats[a].load, p.seats[a].weight, p.seats[b].load, p.seats[b].weight)
	return c > 0 || c == 0 && a < b
}
