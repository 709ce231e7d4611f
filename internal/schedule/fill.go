package schedule

import "slices"

// leaving lists, by group, the cells whose items cannot stay: their member is draining, or the rules no longer allow
// it.
func (p *planner) leaving() [][]int32 {
	out := make([][]int32, len(p.groups))
	for at := range p.cells {
		c := &p.cells[at]
		g := p.groupOf[c.class]
		if c.count > 0 && (p.members[c.member].Draining || !p.groups[g].allows(c.member)) {
			out[g] = append(out[g], int32(at))
		}
	}
	return out
}

// serve finds a place for what must leave, as far as the budget goes, and for what has no owner, however much that is.
func (p *planner) serve(g int32) (placed bool) {
	var o *openings
	if len(p.leavers[g]) > 0 && p.left > 0 {
		o = p.openings(g)
		placed = p.evacuate(o)
	}
	for _, c := range p.groups[g].classes {
		o = p.adopt(o, g, c, &placed)
		o = p.fill(o, g, c, &placed)
	}
	return placed
}

// evacuate moves what must leave, until the budget is spent; what is left over stays in p.leavers.
func (p *planner) evacuate(o *openings) (moved bool) {
	cells := p.leavers[o.group]
	left := cells[:0]
	for _, at := range cells {
		n := len(p.entries)
		if !p.vacate(o, at) {
			left = append(left, at)
		}
		moved = moved || len(p.entries) > n
	}
	p.leavers[o.group] = left
	return moved
}

// vacate moves the items of one cell; false if some of them have to stay for now.
func (p *planner) vacate(o *openings, at int32) bool {
	p.expect(at)
	mayStay := p.groups[o.group].allows(p.cells[at].member)
	for p.stocked(at) {
		if p.left == 0 && !p.frozen && !p.counting {
			return false
		}
		m, ok := o.best()
		if !ok && mayStay {
			p.starved = true
			return false
		}
		e := p.take(at)
		if ok {
			p.put(e, m)
			continue
		}
		p.starved = true
		class := p.entries[e].class
		p.loose[class] = append(p.loose[class], e)
		p.decide(e, none)
	}
	return true
}

// expect reads as many items of a cell as are about to leave it.
func (p *planner) expect(at int32) {
	c := &p.cells[at]
	if n := int(min(int64(c.count), p.left)) + 1; !c.complete && len(c.items) < n && !p.counting {
		p.fetch(c, n)
	}
}

// adopt places what an earlier step had to take from its owner.
func (p *planner) adopt(o *openings, g, class int32, placed *bool) *openings {
	for len(p.loose[class]) > 0 {
		if o == nil {
			o = p.openings(g)
		}
		m, ok := o.best()
		if !ok {
			p.starved = true
			break
		}
		last := len(p.loose[class]) - 1
		p.put(p.loose[class][last], m)
		p.loose[class] = p.loose[class][:last]
		*placed = true
	}
	return o
}

// fill places the items of a class that have no owner.
func (p *planner) fill(o *openings, g, class int32, placed *bool) *openings {
	skip := p.placed[class]
	p.view.Unplaced(int(class), func(item string) bool {
		if skip > 0 {
			skip--
			return true
		}
		if o == nil {
			o = p.openings(g)
		}
		m, ok := o.best()
		if !ok {
			p.starved = true
			return false
		}
		p.place(item, class, m)
		*placed = true
		return true
	})
	return o
}

func (p *planner) place(item string, class, m int32) {
	if len(p.entries) == cap(p.entries) {
		p.entries = slices.Grow(p.entries, max(fewEntries, min(3*len(p.entries), p.unplaced(class))))
	}
	p.entries = append(p.entries, entry{item: item, class: class, from: none, to: none, kept: none})
	p.put(int32(len(p.entries)-1), m)
	p.placed[class]++
}

// fewEntries is the least room that is made for entries.
const fewEntries = 64

// unplaced is how many items of a class are without an owner and not placed yet.
func (p *planner) unplaced(class int32) (n int) {
	p.view.Unplaced(int(class), func(string) bool { n++; return true })
	return n - p.placed[class]
}

// retry places what found no room before: where evening has made some, or else by moving others out of the way.
func (p *planner) retry() bool {
	p.starved = false
	done := false
	for g := range p.groups {
		done = p.serve(int32(g)) || done
	}
	for g := int32(0); !done && p.starved && int(g) < len(p.groups); g++ {
		for _, c := range p.groups[g].classes {
			done = p.displace(g, c) || done
		}
	}
	return done
}

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
			if s := &p.loads[m]; s.room() {
				nodes = append(nodes, node{load: s.load + gr.weight, weight: s.weight, member: m})
			}
		}
		o.zones[z].nodes = nodes
		o.zones[z].init()
	}
	return o
}

// top is the member of a zone that would be the least loaded with one more item; false if the zone has no room. Loads
// may only have grown since the openings were made.
func (o *openings) top(z int) (*node, bool) {
	h := &o.zones[z]
	w := o.p.groups[o.group].weight
	for len(h.nodes) > 0 {
		n := &h.nodes[0]
		s := &o.p.loads[n.member]
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
		held := &p.loads[p.cells[at].member]
		s.h.nodes = append(s.h.nodes, node{load: held.load, weight: held.weight, member: p.cells[at].member, cell: at})
	})
	s.h.init()
	return s
}

// top is the cell of the most loaded member; false if there is none. Loads may only have shrunk since the sources were
// made.
func (s *sources) top() (*node, bool) {
	for len(s.h.nodes) > 0 {
		n := &s.h.nodes[0]
		held := &s.p.loads[n.member]
		switch {
		case n.load != held.load:
			n.load = held.load
			s.h.down(0)
		case !s.p.stocked(n.cell):
			s.h.pop()
		default:
			return n, true
		}
	}
	return nil, false
}

// eachSource calls f for the cells of a group in a zone with items, but for those on members that take nothing. What
// the rules took from a member is gone by then, or cannot be moved.
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
			if ce.count > 0 && p.members[ce.member].takes() {
				f(at)
			}
		}
	}
}
