package schedule

// search walks from members over the pools they could give an item to, breadth first: a has items that b may own, b has
// items that c may own. Each pool is entered once.
type search struct {
	p      *planner
	weight int64   // only pools of this item weight; 0: all
	by     []int32 // by member: the cell whose item would move here; none if not reached, start for a start
	seen   []bool  // by group and zone
	first  []int   // by group: its first place in seen
	queue  []int32
}

const start = int32(-2)

func (p *planner) newSearch(weight int64) *search {
	s := &search{p: p, weight: weight, by: filled(len(p.members)), first: make([]int, len(p.groups))}
	n := 0
	for g := range p.groups {
		s.first[g] = n
		n += len(p.groups[g].zones)
	}
	s.seen = make([]bool, n)
	return s
}

// from starts at m; false if it was reached before.
func (s *search) from(m int32) bool {
	if s.by[m] != none {
		return false
	}
	s.by[m] = start
	s.queue = append(s.queue, m)
	return true
}

// next yields the members that are reached and were not before, until the queue is empty or found returns true.
func (s *search) next(found func(m int32) bool) {
	for len(s.queue) > 0 {
		m := s.queue[0]
		s.queue = s.queue[1:]
		for at := s.p.here[m]; at != none; at = s.p.cells[at].nextHere {
			if s.spill(at, found) {
				return
			}
		}
	}
}

// spill reaches the members that may receive from a cell.
func (s *search) spill(at int32, found func(m int32) bool) bool {
	c := &s.p.cells[at]
	g := s.p.groupOf[c.class]
	gr := &s.p.groups[g]
	if gr.size < 2 || s.weight != 0 && gr.weight != s.weight || !gr.allows(c.member) {
		return false
	}
	z := gr.rule.zoneOf(c.member)
	if s.seen[s.first[g]+int(z)] || c.count == 0 || !s.p.stocked(at) {
		return false
	}
	s.seen[s.first[g]+int(z)] = true
	for _, m := range gr.zones[z] {
		if s.by[m] != none {
			continue
		}
		s.by[m] = at
		s.queue = append(s.queue, m)
		if found(m) {
			return true
		}
	}
	return false
}

// path says what the moves that end at m cost the budget, and how much of that is spent already on items that they
// bring back.
func (s *search) path(m int32) (cost, back int64) {
	for at := s.by[m]; at != start; at = s.by[m] {
		c := &s.p.cells[at]
		switch e := c.arrived; {
		case e == none:
			cost++
		case s.p.entries[e].from == m:
			back++
		}
		m = c.member
	}
	return cost, back
}

// shift makes the moves that end at m, the last first, so that no member is over its capacity in between.
func (s *search) shift(m int32) {
	for at := s.by[m]; at != start; at = s.by[m] {
		from := s.p.cells[at].member
		s.p.put(s.p.take(at), m)
		m = from
	}
}

// afford ends the moves that are made, not counted, if a chain does not fit into the budget: half a chain evens
// nothing. A budget too small for the whole is spent on a part of it rather than never, if nothing else was but what
// the chain brings back: else two plans undo each other for ever.
func (p *planner) afford(cost, back int64) {
	if left := p.left + back; cost > left && left < p.budget {
		p.frozen = true
	}
}

// chain evens across classes: where a could give to b and b to c, and a is more loaded than c will be, both move. It
// looks at items of one weight at a time, so that b's load stays.
func (p *planner) chain() bool {
	if len(p.pools) < 2 {
		return false
	}
	moved := false
	last := int64(0)
	for _, po := range p.pools {
		if w := p.groups[po.group].weight; w != last {
			last = w
			for p.chainOne(w) {
				moved = true
			}
		}
	}
	return moved
}

// chainOne makes the first gain it finds, from the most loaded member down. What an unsuccessful start has reached
// needs no second visit: from there nothing less loaded can be reached either.
func (p *planner) chainOne(w int64) bool {
	tops, floor := p.tops(w)
	if floor == none {
		return false
	}
	var s *search
	for ; len(tops.nodes) > 0; tops.pop() {
		a := tops.nodes[0].member
		if !p.gains(a, floor, w, false) {
			return false
		}
		if s == nil {
			s = p.newSearch(w)
		}
		if s.from(a) && p.relieve(s, a, w) {
			return true
		}
	}
	return false
}

// tops are the members in order of load, and the one that would be the least loaded with one more item.
func (p *planner) tops(w int64) (tops heap, floor int32) {
	tops, floor = heap{most: true, nodes: make([]node, 0, len(p.loads))}, none
	for i := range p.loads {
		s, m := &p.loads[i], int32(i)
		if !p.members[i].takes() {
			continue
		}
		tops.nodes = append(tops.nodes, node{load: s.load, weight: s.weight, member: m})
		if s.room() && (floor == none ||
			compare(s.load+w, s.weight, p.loads[floor].load+w, p.loads[floor].weight) < 0) {
			floor = m
		}
	}
	tops.init()
	return tops, floor
}

func (p *planner) relieve(s *search, a int32, w int64) bool {
	best := none
	s.next(func(m int32) bool {
		held := &p.loads[m]
		if held.room() && p.gains(a, m, w, false) &&
			(best == none || compare(held.load+w, held.weight, p.loads[best].load+w, p.loads[best].weight) < 0) {
			best = m
		}
		return false
	})
	if best == none {
		return false
	}
	p.afford(s.path(best))
	s.shift(best)
	return true
}

// displace places the items of a class that find every allowed member full, by moving other items out of the way.
func (p *planner) displace(g, class int32) (done bool) {
	for !p.frozen && p.left > 0 && p.waiting(class) {
		s := p.newSearch(0)
		for _, zone := range p.groups[g].zones {
			for _, m := range zone {
				s.from(m)
			}
		}
		end := none
		s.next(func(m int32) bool {
			if p.loads[m].room() {
				end = m
			}
			return end != none
		})
		if end == none {
			return done
		}
		p.afford(s.path(end))
		s.shift(end)
		var o *openings
		o = p.adopt(o, g, class, &done)
		p.fill(o, g, class, &done)
		done = true
	}
	return done
}

// waiting says whether a class has an item without an owner that the plan has not placed.
func (p *planner) waiting(class int32) bool {
	if len(p.loose[class]) > 0 {
		return true
	}
	n := 0
	p.view.Unplaced(int(class), func(string) bool {
		n++
		return n <= p.placed[class]
	})
	return n > p.placed[class]
}
