package schedule

// cell is what one member has of one class.
type cell struct {
	member, class    int32
	nextHere, nextOf int32 // the next cell of the member, of the class; −1 at the end
	count            int   // items now, movable or not, with the moves decided so far
	arrived          int32 // the last entry that the plan has brought here, −1 for none
	items            []string
	taken            int
	complete         bool // items is all there is
}

// entry is an item that the plan has touched.
type entry struct {
	item        string
	class       int32
	from        int32 // −1: had no owner
	to          int32 // where the plan would have it in the end
	kept        int32 // where the budget lets it go now
	nextArrived int32
}

const none = int32(-1)

// cellIndex finds the cell of a member and a class: an array if that is small, else a map (never ranged over).
type cellIndex struct {
	classes int
	dense   []int32 // cell + 1
	sparse  map[int64]int32
}

const denseCells = 1 << 17

func newCellIndex(members, classes int) cellIndex {
	x := cellIndex{classes: classes}
	if members*classes <= denseCells {
		x.dense = make([]int32, members*classes)
	} else {
		x.sparse = map[int64]int32{}
	}
	return x
}

func (x *cellIndex) get(m, c int32) int32 {
	at := int(m)*x.classes + int(c)
	if x.dense != nil {
		return x.dense[at] - 1
	}
	return x.sparse[int64(at)] - 1
}

func (x *cellIndex) set(m, c, cell int32) {
	at := int(m)*x.classes + int(c)
	if x.dense != nil {
		x.dense[at] = cell + 1
		return
	}
	x.sparse[int64(at)] = cell + 1
}

// newCells reads what every member has.
func (p *planner) newCells() {
	p.index = newCellIndex(len(p.members), len(p.classes))
	p.here = filled(len(p.members))
	p.of = filled(len(p.classes))
	p.cells = make([]cell, 0, len(p.members)+len(p.classes))
	m := int32(0)
	add := func(c, count int) bool {
		p.addCell(m, int32(c), count)
		return true
	}
	sparse, _ := p.view.(Sparse)
	// Cells are linked in at the front: from the last member to the first, so that the first comes first.
	for m = int32(len(p.members)) - 1; m >= 0; m-- {
		if sparse != nil {
			sparse.Present(int(m), add)
			continue
		}
		for c := range p.classes {
			if n := p.view.Count(int(m), c); n > 0 {
				add(c, n)
			}
		}
	}
}

func filled(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = none
	}
	return s
}

func (p *planner) addCell(m, c int32, count int) int32 {
	at := int32(len(p.cells))
	p.cells = append(p.cells, cell{member: m, class: c, nextHere: p.here[m], nextOf: p.of[c], count: count,
		arrived: none})
	p.here[m], p.of[c] = at, at
	p.index.set(m, c, at)
	g := &p.groups[p.groupOf[c]]
	if z := g.rule.zoneOf(m); g.spread() && z >= 0 {
		g.held[z] += count
	}
	return at
}

// stocked says whether an item of the cell may be moved. It reads a few items at a time, twice as many each time, so
// that what is read stays in proportion to what is moved.
func (p *planner) stocked(at int32) bool {
	c := &p.cells[at]
	if c.arrived != none || c.taken < len(c.items) {
		return true
	}
	if !c.complete {
		p.fetch(c, max(4, 2*len(c.items)))
	}
	return c.taken < len(c.items)
}

func (p *planner) fetch(c *cell, n int) {
	items := make([]string, 0, min(n, c.count+c.taken))
	p.view.Owned(int(c.member), int(c.class), func(item string) bool {
		items = append(items, item)
		return len(items) < n
	})
	c.items, c.complete = items, len(items) < n
}

// take removes one item from a stocked cell: the last that the plan itself brought there, because to send that
// elsewhere costs nothing more, else the first that the member owns.
func (p *planner) take(at int32) int32 {
	c := &p.cells[at]
	p.weigh(c, -1)
	if e := c.arrived; e != none {
		c.arrived = p.entries[e].nextArrived
		return e
	}
	p.entries = append(p.entries, entry{item: c.items[c.taken], class: c.class, from: c.member, to: c.member,
		kept: c.member})
	c.taken++
	return int32(len(p.entries) - 1)
}

// put gives an entry to a member.
func (p *planner) put(e, m int32) {
	en := &p.entries[e]
	at := p.index.get(m, en.class)
	if at == none {
		at = p.addCell(m, en.class, 0)
	}
	c := &p.cells[at]
	p.weigh(c, 1)
	en.nextArrived, c.arrived = c.arrived, e
	p.decide(e, m)
}

// weigh adds n items to the counts of a cell, its member and its zone.
func (p *planner) weigh(c *cell, n int) {
	g := &p.groups[p.groupOf[c.class]]
	c.count += n
	s := &p.loads[c.member]
	s.count += int64(n)
	s.load += g.weight * int64(n)
	if g.spread() {
		if z := g.rule.zone[c.member]; z >= 0 {
			g.held[z] += n
		}
	}
}

// decide records where an entry goes. When the budget does not allow one more move, it and all later decisions are
// counted, not made.
func (p *planner) decide(e, to int32) {
	en := &p.entries[e]
	en.to = to
	if p.frozen {
		return
	}
	if en.from != none {
		before, after := en.kept != en.from, to != en.from
		switch {
		case after && !before && p.left == 0:
			p.frozen = true
			return
		case after && !before:
			p.left--
		case before && !after:
			p.left++
		}
	}
	en.kept = to
}
