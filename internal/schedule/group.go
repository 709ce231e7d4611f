package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// group is a set of classes that are the same for evening: one item weight and the same members that may receive. A
// class that is spread over a label or pinned has a group of its own.
type group struct {
	weight  int64
	classes []int32
	rule    *rule
	pin     int32     // the only member, −1: nobody is pinned, −2: the pinned member is not here
	zones   [][]int32 // by zone: the members that may receive, ascending; one zone if the group is not spread
	size    int       // how many members may receive
	held    []int     // by zone, of a spread group: how many items are there
}

const (
	unpinned = -1
	absent   = -2
)

func (g *group) spread() bool { return g.rule.zone != nil }

// allows says whether the rules let m own items of the group, draining or full as it may be.
func (g *group) allows(m int32) bool {
	if g.pin != unpinned {
		return g.pin == m && g.rule.allows(m)
	}
	return g.rule.allows(m)
}

// newGroups sorts classes into groups: the heaviest items first, then the groups with the fewest members, so that those
// with the least choice are placed first.
func (p *planner) newGroups() {
	p.groupOf = make([]int32, len(p.classes))
	var rules []*rule
	for c := range p.classes {
		class := &p.classes[c]
		pin := p.pinned(class)
		var r *rule
		if r, rules = p.ruleFor(rules, class); r == nil {
			continue
		}
		if at := p.groupLike(class, r, pin); at >= 0 {
			p.groups[at].classes = append(p.groups[at].classes, int32(c))
			continue
		}
		p.groups = append(p.groups, p.newGroup(int32(c), r, pin))
	}
	if len(p.groups) > 1 {
		slices.SortStableFunc(p.groups, func(a, b group) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.size, b.size))
		})
	}
	for i := range p.groups {
		for _, c := range p.groups[i].classes {
			p.groupOf[c] = int32(i)
		}
	}
}

func (p *planner) pinned(c *Class) int32 {
	if c.Pin == "" {
		return unpinned
	}
	at, ok := slices.BinarySearchFunc(p.members, c.Pin,
		func(m Member, id string) int { return strings.Compare(m.ID, id) })
	if !ok {
		return absent
	}
	return int32(at)
}

// ruleFor shares one rule among all classes with the same selector and spread. A rule for one pinned member is not
// worth keeping.
func (p *planner) ruleFor(rules []*rule, c *Class) (*rule, []*rule) {
	for _, r := range rules {
		if r.spread == c.SpreadOver && slices.Equal(r.selector, c.Selector) {
			return r, rules
		}
	}
	r := newRule(p.members, c.Selector, c.SpreadOver)
	return r, append(rules, r)
}

// groupLike finds the group that an unpinned, unspread class joins; −1 if there is none yet.
func (p *planner) groupLike(c *Class, r *rule, pin int32) int {
	if pin != unpinned || r.zone != nil {
		return -1
	}
	for i := range p.groups {
		g := &p.groups[i]
		if g.weight == itemWeight(c) && g.pin == unpinned && !g.spread() && (g.rule == r || p.alike(g.rule, r)) {
			return i
		}
	}
	return -1
}

// alike says whether two rules allow the same members.
func (p *planner) alike(a, b *rule) bool {
	for m := range p.members {
		if a.allows(int32(m)) != b.allows(int32(m)) {
			return false
		}
	}
	return true
}

func (p *planner) newGroup(c int32, r *rule, pin int32) group {
	g := group{weight: itemWeight(&p.classes[c]), classes: []int32{c}, rule: r, pin: pin,
		zones: make([][]int32, r.zones)}
	if r.zone != nil {
		g.held = make([]int, r.zones)
	}
	first, last := int32(0), int32(len(p.members))
	if pin == absent {
		last = 0
	} else if pin != unpinned {
		first, last = pin, pin+1
	}
	if r.allowed == nil && last-first > 1 {
		g.zones[0] = make([]int32, 0, last)
	}
	for m := first; m < last; m++ {
		if r.allows(m) && p.members[m].takes() {
			z := r.zoneOf(m)
			g.zones[z] = append(g.zones[z], m)
			g.size++
		}
	}
	return g
}

func itemWeight(c *Class) int64 { return max(c.Weight, 1) }

// rule says which members may own the items of a class, whether they are draining or full or not.
type rule struct {
	selector []Label
	spread   string
	allowed  []bool  // by member; nil: every member
	zone     []int32 // by member: index of its value of the spread label, −1 without one; nil if not spread
	zones    int     // how many zones; 1 if not spread
}

// meets is true for a member whose labels meet the selector.
func meets(m *Member, selector []Label) bool {
	for _, l := range selector {
		if !slices.Contains(m.Labels, l) {
			return false
		}
	}
	return true
}

// value returns the first value of a label of m, in order of its labels.
func value(m *Member, key string) (string, bool) {
	for _, l := range m.Labels {
		if l.Key == key {
			return l.Value, true
		}
	}
	return "", false
}

func newRule(members []Member, selector []Label, spread string) *rule {
	r := &rule{selector: selector, spread: spread, zones: 1}
	if len(selector) == 0 && spread == "" {
		return r
	}
	r.allowed = make([]bool, len(members))
	for i := range members {
		r.allowed[i] = meets(&members[i], selector)
	}
	if spread != "" {
		r.divide(members)
	}
	return r
}

// divide numbers the values of the spread label in their order and refuses the members that have none.
func (r *rule) divide(members []Member) {
	values := make([]string, 0, 8)
	for i := range members {
		if v, ok := value(&members[i], r.spread); ok {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	r.zones = len(values)
	r.zone = make([]int32, len(members))
	for i := range members {
		v, ok := value(&members[i], r.spread)
		if !ok {
			r.zone[i], r.allowed[i] = -1, false
			continue
		}
		at, _ := slices.BinarySearch(values, v)
		r.zone[i] = int32(at)
	}
}

// zoneOf is 0 for every member of a rule that does not spread, −1 for a member without the label.
func (r *rule) zoneOf(m int32) int32 {
	if r.zone == nil {
		return 0
	}
	return r.zone[m]
}

func (r *rule) allows(m int32) bool { return r.allowed == nil || r.allowed[m] }
