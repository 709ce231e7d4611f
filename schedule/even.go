package schedule

// maxPasses bounds how often the classes are gone through. Each pass but the last makes a move that evens the load, and a
// plan that is not quite even is a plan all the same: the next one goes on from there.
const maxPasses = 16

// even moves owned items from members with much load to members with little, while a move makes things better. Classes whose allowed
// members overlap are gone through again until nothing moves.
func (p *placer) even() {
	for range maxPasses {
		moved := false
		for c := range p.classes {
			if p.evenClass(c) {
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

func (p *placer) evenClass(c int) bool {
	if p.classes[c].SpreadOver != "" {
		return p.evenZones(c)
	}
	return p.evenAmong(c, p.targets(c))
}

// evenZones first evens the number of items between the label's values, then the load within each.
func (p *placer) evenZones(c int) bool {
	q := p.queueFor(c)
	moved := false
	for {
		from, to := q.extremes(c)
		if from < 0 || !p.moveOne(c, from, to) {
			break
		}
		moved = true
		q = p.queueFor(c)
	}
	for _, z := range q.zones {
		members := make([]int32, len(z.heap))
		for i, m := range z.heap {
			members[i] = int32(m)
		}
		if p.evenAmong(c, members) {
			moved = true
		}
	}
	return moved
}

// extremes are a member of the fullest value that has something to give and the least loaded one of the emptiest; −1 when their
// numbers differ by at most one.
func (q *queue) extremes(c int) (from, to int) {
	var most, least *zone
	for i := range q.zones {
		z := &q.zones[i]
		if len(z.heap) == 0 {
			continue
		}
		if most == nil || z.items > most.items {
			most = z
		}
		q.dropFull(z)
		if len(z.heap) > 0 && (least == nil || q.before(z, least)) {
			least = z
		}
	}
	if most == nil || least == nil || most.items-least.items <= 1 {
		return -1, -1
	}
	from = -1
	for _, m := range most.heap {
		if q.p.stock(m, c).more() && (from < 0 || q.p.less(from, m)) {
			from = m
		}
	}
	return from, least.heap[0]
}

func (p *placer) moveOne(c, from, to int) bool {
	if p.spent() {
		p.plan.Deferred++
		return false
	}
	item, ok := p.stock(from, c).next()
	if ok {
		p.give(item, c, from, to)
	}
	return ok
}

// evenAmong moves items of a class among members from the fullest to the emptiest, while that is better.
func (p *placer) evenAmong(c int, among []int32) bool {
	if len(among) < 2 {
		return false
	}
	givers, takers := p.heaps(c, among)
	moved := false
	for len(givers) > 0 && len(takers) > 0 {
		from, to := givers[0], takers[0]
		if p.full(to) {
			takers = p.pop(takers, p.less)
			continue
		}
		if !p.better(c, from, to) {
			return moved
		}
		if !p.stock(from, c).more() {
			givers = p.pop(givers, p.more)
			continue
		}
		if !p.moveOne(c, from, to) {
			return moved
		}
		moved = true
		p.sift(givers, 0, p.more)
		p.sift(takers, 0, p.less)
		// The two heaps hold both members; those that moved inside them are put right where it matters.
		p.repair(givers, to, p.more)
		p.repair(takers, from, p.less)
	}
	return moved
}

func (p *placer) more(a, b int) bool { return p.less(b, a) }

// better tells whether moving an item evens: the taker with it has less, relative to its weight, than the giver has now.
func (p *placer) better(c, from, to int) bool {
	w := p.classes[c].Weight
	return (p.load[to]+w)*p.weight[from] < p.load[from]*p.weight[to]
}

// heaps are the members as givers, most loaded first, and as takers, least loaded first. Members that could never give to, or take from, the extremes
// are left out, so that a balanced cluster costs one pass over its members.
func (p *placer) heaps(c int, among []int32) (givers, takers []int) {
	low, high := int(among[0]), int(among[0])
	for _, t := range among {
		if m := int(t); p.less(m, low) && !p.full(m) || p.full(low) {
			low = m
		}
		if m := int(t); p.less(high, m) {
			high = m
		}
	}
	if !p.better(c, high, low) {
		return nil, nil
	}
	for _, t := range among {
		m := int(t)
		if p.better(c, m, low) {
			givers = append(givers, m)
		}
		if p.better(c, high, m) {
			takers = append(takers, m)
		}
	}
	p.build(givers, p.more)
	p.build(takers, p.less)
	return givers, takers
}

func (p *placer) build(h []int, before func(a, b int) bool) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		p.sift(h, i, before)
	}
}

func (p *placer) pop(h []int, before func(a, b int) bool) []int {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	p.sift(h, 0, before)
	return h
}

func (p *placer) sift(h []int, i int, before func(a, b int) bool) {
	for {
		first := i
		if l := 2*i + 1; l < len(h) && before(h[l], h[first]) {
			first = l
		}
		if r := 2*i + 2; r < len(h) && before(h[r], h[first]) {
			first = r
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

// repair puts a member whose load changed right in a heap that it is in. A taker that gained moves up among the givers, which
// can only matter once it is among the extremes; both heaps are small when little is to do.
func (p *placer) repair(h []int, m int, before func(a, b int) bool) {
	for i, x := range h {
		if x != m {
			continue
		}
		for i > 0 && before(h[i], h[(i-1)/2]) {
			h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
			i = (i - 1) / 2
		}
		p.sift(h, i, before)
		return
	}
}
