package schedule

// openings are the members that may receive items of a group, the least loaded first, by zone.
type openings struct {
	p     *planner
	group int32
	zones []heap
}

func (p *planner) openings(g int32) *openings {
	gr := &p.groups[g]
	o := &openings{p: p, group: g, zones: make([]heap, len(gr.zones))}
	for z, members := range gr.zones {
		nodes := make([]node, 0, len(members))
		for _, m := range members {
			if s := &p.seats[m]; s.room() {
				nodes = append(nodes, node{load: s.load + gr.weight, weight: s.weight, member: m})
			}
		}
		o.zones[z].nodes = nodes
		o.zones[z].init()
	}
	return o
}

// top is the member of a zone that would be the least loaded with one more item; false if the zone has no room. Loads may only have
// grown since the openings were made.
func (o *openings) top(z int) (*node, bool) {
	h := &o.zones[z]
	w := o.p.groups[o.group].weight
	for len(h.nodes) > 0 {
		n := &h.nodes[0]
		s := &o.p.seats[n.member]
		switch {
		case !s.room():
			h.pop()
		case n.load != s.load+w:
			n.load = s.load + w
			h.down(0)
		default:
			return n, true
		}
	}
	return nil, false
}

// best is the member that gets the next item: in the zone with the fewest items of the group, then the least loaded.
func (o *openings) best() (int32, bool) {
	held := o.p.groups[o.group].held
	var best *node
	bestZone := 0
	for z := range o.zones {
		if best != nil && held[z] > held[bestZone] {
			continue
		}
		n, ok := o.top(z)
		if !ok {
			continue
		}
		if best == nil || held[z] < held[bestZone] || (&heap{}).before(n, best) {
			best, bestZone = n, z
		}
	}
	if best == nil {
		return none, false
	}
	return best.member, true
}

// sources are the cells of a pool that items may be taken from, on the most loaded member first.
type sources struct {
	p *planner
	h heap
}

func (p *planner) sources(g int32, zone int) *sources {
	s := &sources{p: p, h: heap{most: true}}
	p.eachSource(g, zone, func(at int32) {
		seat := &p.seats[p.cells[at].member]
		s.h.nodes = append(s.h.nodes, node{load: seat.load, weight: seat.weight, member: p.cells[at].member, cell: at})
	})
	s.h.init()
	return s
}

// top is the cell of the most loaded member; false if there is none. Loads may only have shrunk since the sources were made.
func (s *sources) top() (*node, bool) {
	for len(s.h.nodes) > 0 {
		n := &s.h.nodes[0]
		seat := &s.p.seats[n.member]
		switch {
		case n.load != seat.load:
			n.load = seat.load
			s.h.down(0)
		case !s.p.stocked(n.cell):
			s.h.pop()
		default:
			return n, true
		}
	}
	return nil, false
}

// eachSource calls f for the cells of a group in a zone with items, but for those on draining members. What the rules took from a member is
// gone by then, or cannot be moved.
func (p *planner) eachSource(g int32, zone int, f func(at int32)) {
	gr := &p.groups[g]
	if gr.spread() {
		for _, m := range gr.zones[zone] {
			if at := p.index.get(m, gr.classes[0]); at != none && p.cells[at].count > 0 {
				f(at)
			}
		}
		return
	}
	for _, c := range gr.classes {
		for at := p.of[c]; at != none; at = p.cells[at].nextOf {
			ce := &p.cells[at]
			if ce.count > 0 && !p.members[ce.member].Draining {
				f(at)
			}
		}
	}
}
