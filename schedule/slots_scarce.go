package schedule

import "slices"

// scarceLook is among how many tasks a single slot looks for the one that it spreads best.
const scarceLook = 64

// placeKey is a lacking task, by its place in the list, and a member.
type placeKey struct {
	task   int
	member string
}

// dealScarce deals slots that are fewer than are lacking: the others are busy, and come later, a few at a time. Each goes to the task that has
// the fewest on its member, so that the tasks are spread when all have come.
func (s *sharing) dealScarce(free []given, lacking []wanting) {
	slices.SortFunc(free, func(a, b given) int { return compareSlots(a.slot, b.slot) })
	on := make(map[placeKey]int)
	for _, g := range free {
		best, fewest, looked := -1, 0, 0
		for i := range lacking {
			if lacking[i].n == 0 {
				continue
			}
			if n := s.heldOn(on, lacking[i].post, placeKey{i, g.slot.Member}); best < 0 || n < fewest {
				best, fewest = i, n
			}
			if looked++; looked == scarceLook || fewest == 0 {
				break
			}
		}
		if best < 0 {
			return
		}
		lacking[best].n--
		on[placeKey{best, g.slot.Member}]++
		s.out.Moves = append(s.out.Moves, SlotMove{Slot: g.slot, From: g.from, To: lacking[best].post})
	}
}

// heldOn is how many slots a task has on a member, with those that were dealt to it by now.
func (s *sharing) heldOn(on map[placeKey]int, post Post, key placeKey) int {
	if n, ok := on[key]; ok {
		return n
	}
	n := 0
	for _, h := range s.pool.Jobs[post.Job].Tasks[post.Task].Held {
		if h.Member == key.member {
			n++
		}
	}
	on[key] = n
	return n
}
