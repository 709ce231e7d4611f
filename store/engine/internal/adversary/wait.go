package adversary

import (
	"fmt"
	"slices"
)

// wait is the move of a caller that waits, if there is one.
func (m Model) wait(w World, i int) []Move {
	w.callers = slices.Clone(w.callers)
	c := &w.callers[i]
	switch {
	case c.next.kind == outlive && !w.callers[c.next.from].over, c.rests != nil && !w.rested(i):
		return nil
	case c.next.kind == rest && c.rests == nil:
		for _, other := range w.callers {
			n := other.told
			if other.started {
				n++
			}
			c.rests = append(c.rests, n)
		}
		return []Move{{Name: fmt.Sprintf("p%d begins to rest", i), To: w}}
	}
	return []Move{{Name: fmt.Sprintf("p%d has waited", i), To: m.passed(w, i, answer{})}}
}

// rested reports whether all is over that was under way when a caller began to rest.
func (w World) rested(i int) bool {
	until := w.callers[i].rests
	for j, other := range w.callers {
		if j != i && !other.over && other.told < until[j] {
			return false
		}
	}
	return !slices.ContainsFunc(w.late, func(r request) bool { return r.of < until[r.from] })
}
