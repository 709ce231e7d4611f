package schedule

import "slices"

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
