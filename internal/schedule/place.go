package schedule

import (
	"math"
	"slices"
	"strings"
)

// memberLoad is a member with the moves decided so far.
type memberLoad struct {
	load, weight    int64
	count, capacity int64
}

func (s *memberLoad) room() bool { return s.capacity <= 0 || s.count < s.capacity }

// planner is the work of one call of Place.
type planner struct {
	view    View
	members []Member
	classes []Class
	loads   []memberLoad
	groups  []group
	groupOf []int32 // by class
	cells   []cell
	here    []int32 // first cell by member
	of      []int32 // first cell by class
	index   cellIndex
	entries []entry
	placed  []int     // by class: how many of the unplaced items have been placed
	loose   [][]int32 // by class: entries that were taken from their owner and have none; nil until there is one
	leavers [][]int32 // by group: cells whose items cannot stay and are still there
	pools   []pool
	mixed   bool  // the pools have items of several weights
	starved bool  // an item found no member with room
	budget  int64 // moves of owned items that may be started
	left    int64 // what is left of it
	// frozen is set by the first move that the budget does not allow, which is not looked for before what is without an
	// owner has its place: what is decided from then on is counted, not made. Counting is set while what must leave is
	// being counted so.
	counting, frozen bool
}

// Place plans the owners of items. It reads the view and changes nothing; equal content gives equal plans. Budget is
// how many moves of owned items may start now, negative for any number; items without an owner are always placed. See
// the package documentation for its guarantees.
func Place(v View, budget int64) Plan {
	p := newPlanner(v, budget)
	if len(p.members) == 0 || len(p.classes) == 0 {
		return Plan{}
	}
	for g := range p.groups {
		p.serve(int32(g))
	}
	if p.starved && p.left > 0 {
		p.retry()
	}
	p.counting = true
	for g := range p.groups {
		if len(p.leavers[g]) > 0 {
			p.evacuate(p.openings(int32(g)))
		}
	}
	p.counting = false
	p.settle()
	return p.plan()
}

func newPlanner(v View, budget int64) *planner {
	if budget < 0 {
		budget = math.MaxInt64
	}
	p := &planner{view: v, members: v.Members(), classes: v.Classes(), budget: budget, left: budget}
	p.sit()
	p.newGroups()
	p.newCells()
	p.newPools()
	p.placed = make([]int, len(p.classes))
	p.loose = make([][]int32, len(p.classes))
	p.leavers = p.leaving()
	return p
}

func (p *planner) sit() {
	p.loads = make([]memberLoad, len(p.members))
	for i := range p.members {
		m := &p.members[i]
		w := m.Weight
		if w <= 0 {
			w = 100
		}
		p.loads[i] = memberLoad{load: m.Load, weight: w, count: m.Count, capacity: m.Capacity}
	}
}

// settle repeats the ways to even until none of them finds anything, then tries again what found no room.
func (p *planner) settle() {
	for {
		for p.spreadOut() || p.level() || p.trade() || p.chain() {
		}
		if p.frozen || !p.starved || !p.retry() {
			return
		}
	}
}

// plan collects what the entries have come to.
func (p *planner) plan() Plan {
	var out Plan
	if len(p.entries) > 0 {
		out.Moves = make([]Move, 0, len(p.entries))
	}
	for i := range p.entries {
		e := &p.entries[i]
		if e.kept != e.from {
			out.Moves = append(out.Moves, Move{Item: e.item, Class: int(e.class), From: int(e.from), To: int(e.kept)})
		} else if e.to != e.from {
			out.Deferred++
		}
	}
	if len(out.Moves) == 0 {
		out.Moves = nil
	}
	byItem := func(a, b Move) int { return strings.Compare(a.Item, b.Item) }
	if !slices.IsSortedFunc(out.Moves, byItem) {
		slices.SortFunc(out.Moves, byItem)
	}
	return out
}

// Label is one key=value.
type Label struct{ Key, Value string }

// Member is a member in the placement.
type Member struct {
	ID       string
	Weight   int64 // its share; 0 means 100
	Capacity int64 // most items it may own; 0 means no limit
	Labels   []Label
	Draining bool
	Closed   bool // it keeps what it has and gets no more
	// Load is the sum of the weights, and Count the number, of all items that it owns or that are moving to it,
	// movable or not.
	Load, Count int64
}

// takes says whether the plan may give the member something, and take something from it to even the loads.
func (m *Member) takes() bool { return !m.Draining && !m.Closed }

// Class is a kind of items that are equal for placement: the same rules and the same weight.
type Class struct {
	Key        string // canonical text; identifies and orders classes
	Weight     int64  // of each item; at least 1
	Selector   []Label
	Pin        string // the only member that may own it; "" for any
	SpreadOver string // label over whose values the items of this class are spread evenly; "" for none (otherwise Key includes the task)
}

// View is the input of placement; it never changes. Two views with equal content give equal plans, whatever the order
// in which they were built. Owned and Unplaced yield items sorted by ID.
type View interface {
	Members() []Member // sorted by ID
	Classes() []Class  // sorted by Key
	// Unplaced yields the items of class c that have no owner and may get one now.
	Unplaced(c int, yield func(item string) bool)
	// Owned yields the movable items of class c that member m owns (not in hand-over, not held).
	Owned(m, c int, yield func(item string) bool)
	// Count returns how many items of class c member m owns or is about to own, movable or not.
	Count(m, c int) int
}

// Move gives an item to a member. From is −1 for an item without an owner; To is −1 if its owner may no longer own it
// and no other member may.
type Move struct {
	Item     string
	Class    int
	From, To int // indexes into View.Members
}

// Plan is the result of placement.
type Plan struct {
	Moves []Move // sorted by item
	// Deferred is the number of wanted moves of owned items beyond the budget.
	Deferred int
}

// Sparse is a View that knows the classes of a member's items. Without it Place calls Count for every pair of member
// and class.
type Sparse interface {
	View
	// Present yields the classes of items that member m owns or is about to own, movable or not, each once in ascending
	// order, with their number.
	Present(m int, yield func(c, count int) bool)
}
