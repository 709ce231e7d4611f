package schedule

import (
	"cmp"
	"slices"
)

// Place plans who gets what. It starts at most budget moves of owned items (negative for no limit); giving an item without an
// owner to a member is not limited. Members get loads in proportion to their weights: no single move of an item to another member that may
// have it would leave that member with less load, relative to its weight, than the present owner has now. For equal weights
// and one class that is: the numbers differ by at most one. Applying a plan and planning again gives no moves.
func Place(v View, budget int64) Plan {
	p := newPlacer(v, budget)
	if len(p.members) > 0 {
		p.evacuate()
		p.fill()
		p.even()
	} else {
		p.evacuate()
	}
	slices.SortFunc(p.plan.Moves, func(a, b Move) int { return cmp.Compare(a.Item, b.Item) })
	return p.plan
}

// placer is one planning.
type placer struct {
	v       View
	members []Member
	classes []Class
	load    []int64 // of each member, as planned so far
	count   []int64
	weight  []int64
	budget  int64
	plan    Plan
	allowed [][]int32 // members that may get items of a class, in order; nil until asked for
	asked   []bool
	taken   map[cell]*stock
}

// cell is one class on one member.
type cell struct{ m, c int }

func newPlacer(v View, budget int64) *placer {
	p := &placer{v: v, members: v.Members(), classes: v.Classes(), budget: budget, taken: make(map[cell]*stock)}
	n := len(p.members)
	p.load, p.count, p.weight = make([]int64, n), make([]int64, n), make([]int64, n)
	for i, m := range p.members {
		p.load[i], p.count[i], p.weight[i] = m.Load, m.Count, weight(m)
	}
	p.allowed, p.asked = make([][]int32, len(p.classes)), make([]bool, len(p.classes))
	return p
}

func weight(m Member) int64 {
	if m.Weight <= 0 {
		return 100
	}
	return m.Weight
}

// targets are the members that may get items of the class, draining and full ones left out by the callers.
func (p *placer) targets(c int) []int32 {
	if !p.asked[c] {
		p.asked[c] = true
		for i := range p.members {
			if !p.members[i].Draining && Allows(p.classes[c], p.members[i]) {
				p.allowed[c] = append(p.allowed[c], int32(i))
			}
		}
	}
	return p.allowed[c]
}

func (p *placer) full(m int) bool {
	limit := p.members[m].Capacity
	return limit > 0 && p.count[m] >= limit
}

// less orders members by load relative to weight, then by ID.
func (p *placer) less(a, b int) bool {
	x, y := p.load[a]*p.weight[b], p.load[b]*p.weight[a]
	return x < y || x == y && a < b
}

// give plans a move.
func (p *placer) give(item string, c, from, to int) {
	w := p.classes[c].Weight
	if from >= 0 {
		p.load[from] -= w
		p.count[from]--
		p.budget--
	}
	if to >= 0 {
		p.load[to] += w
		p.count[to]++
	}
	p.plan.Moves = append(p.plan.Moves, Move{Item: item, Class: c, From: from, To: to})
}

func (p *placer) spent() bool { return p.budget == 0 }

// fill gives the items without an owner to members, the classes that fewest members may have first.
func (p *placer) fill() {
	for _, c := range p.tightest() {
		var q *queue
		p.v.Unplaced(c, func(item string) bool {
			if q == nil {
				q = p.queueFor(c)
			}
			to, ok := q.best()
			if !ok {
				return false
			}
			p.give(item, c, -1, to)
			q.added(to)
			return true
		})
	}
}

// tightest orders the classes by the number of members that may have them.
func (p *placer) tightest() []int {
	order := make([]int, len(p.classes))
	for c := range order {
		order[c] = c
	}
	if len(order) > 1 {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(p.targets(a)), len(p.targets(b))) })
	}
	return order
}

// evacuate moves items away from members that drain or may no longer have them.
func (p *placer) evacuate() {
	for m := range p.members {
		for c := range p.classes {
			may := Allows(p.classes[c], p.members[m])
			if may && !p.members[m].Draining {
				continue
			}
			p.evacuateCell(m, c, may)
		}
	}
}

// evacuateCell moves all items of a class away from a member. One that nobody else may have stays where it may stay.
func (p *placer) evacuateCell(m, c int, may bool) {
	var q *queue
	p.v.Owned(m, c, func(item string) bool {
		if p.spent() {
			p.plan.Deferred++
			return true
		}
		if q == nil {
			q = p.queueFor(c)
		}
		to, ok := q.best()
		switch {
		case ok:
			p.give(item, c, m, to)
			q.added(to)
		case !may:
			p.give(item, c, m, -1)
		default:
			return false
		}
		return true
	})
}
