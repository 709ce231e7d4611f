package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// group is a set of classes that are the same for evening: one item weight and the same members that may receive. A class that is spread
// over a label or pinned has a group of its own.
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

// newGroups sorts classes into groups: the heaviest items first, then the groups with the fewest members, so that those with the
// least choice are placed first.
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
	at, ok := slices.BinarySearchFunc(p.members, c.Pin, func(m Member, id string) int { return strings.Compare(m.ID, id) })
	if !ok {
		return absent
	}
	return int32(at)
}

// ruleFor shares one rule among all classes with the same selector and spread. A rule for one pinned member is not worth keeping.
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
	g := group{weight: itemWeight(&p.classes[c]), classes: []int32{c}, rule: r, pin: pin, zones: make([][]int32, r.zones)}
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
		if r.allows(m) && !p.members[m].Draining {
			z := r.zoneOf(m)
			g.zones[z] = append(g.zones[z], m)
			g.size++
		}
	}
	return g
}

func itemWeight(c *Class) int64 { return max(c.Weight, 1) }
