package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// wanting is a task that gets slots.
type wanting struct {
	post Post
	n    int64
}

// given is a slot that is dealt, and where it comes from.
type given struct {
	slot Slot
	from Post
}

// deal works out the moves: tasks with too many give up those that came last, and what they and nobody have goes to
// those that lack.
func (s *sharing) deal() {
	var lacking []wanting
	var released []given
	total := int64(0)
	for _, j := range s.out.Order {
		for t := range s.pool.Jobs[j].Tasks {
			if want := s.out.Shares[j].Tasks[t] - int64(len(s.pool.Jobs[j].Tasks[t].Held)); want > 0 {
				lacking = append(lacking, wanting{Post{j, t}, want})
				total += want
			} else if want < 0 {
				released = s.release(released, Post{j, t}, -want)
			}
		}
	}
	released = s.releaseEnded(released)
	free := make([]given, len(s.pool.Free))
	for i, slot := range s.pool.Free {
		free[i] = given{slot, NoPost}
	}
	if int64(len(free)) < total {
		s.dealScarce(free, lacking)
		free = nil
	}
	for _, lot := range [][]given{free, released} {
		d := newDealer(lot)
		for i := range lacking {
			lacking[i].n -= d.give(s, lacking[i])
		}
		s.out.Moves = d.rest(s.out.Moves)
	}
	for i := range lacking {
		s.out.Lacking += lacking[i].n
	}
}

// releaseEnded takes the slots from jobs that have nothing to do.
func (s *sharing) releaseEnded(released []given) []given {
	from := len(released)
	for j := range s.pool.Jobs {
		for t := range s.pool.Jobs[j].Tasks {
			if n := len(s.pool.Jobs[j].Tasks[t].Held); n > 0 && !s.needs[j].live {
				released = s.release(released, Post{j, t}, int64(n))
			}
		}
	}
	slices.SortFunc(released[from:], func(a, b given) int { return compareSlots(a.slot, b.slot) })
	return released
}

func compareSlots(a, b Slot) int {
	return cmp.Or(strings.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}

// release takes n slots from a task, those that came last; of those that came together first from members that have
// many of them.
func (s *sharing) release(released []given, post Post, n int64) []given {
	held := slices.Clone(s.pool.Jobs[post.Job].Tasks[post.Task].Held)
	slices.SortFunc(held, func(a, b Held) int { return compareSlots(a.Slot, b.Slot) })
	type place struct {
		held Held
		rank int // among the slots that the task has on the member
	}
	places := make([]place, len(held))
	for i := range held {
		places[i] = place{held: held[i]}
		if i > 0 && held[i-1].Member == held[i].Member {
			places[i].rank = places[i-1].rank + 1
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.held.Since, a.held.Since), cmp.Compare(b.rank, a.rank),
			compareSlots(b.held.Slot, a.held.Slot))
	})
	for _, p := range places[:n] {
		released = append(released, given{p.held.Slot, post})
	}
	return released
}

// dealer deals slots so that those of one task are spread over the members.
type dealer struct {
	lot     []given  // by member, then number
	first   []int32  // by member: its first slot in the lot that is not dealt
	end     []int32  // by member
	queue   []uint64 // members with slots left, as keys: those with the most first, then by name
	aside   []uint64
	on      []int32 // by member: how many slots the task that is served has there
	members map[string]int32
}

func newDealer(lot []given) *dealer {
	d := &dealer{lot: lot}
	bySlot := func(a, b given) int { return compareSlots(a.slot, b.slot) }
	if !slices.IsSortedFunc(lot, bySlot) {
		slices.SortFunc(lot, bySlot)
	}
	for i := range lot {
		if i == 0 || lot[i].slot.Member != lot[i-1].slot.Member {
			d.first, d.end = append(d.first, int32(i)), append(d.end, int32(i))
		}
		d.end[len(d.end)-1]++
	}
	d.on = make([]int32, len(d.first))
	for m := range d.first {
		d.push(d.key(int32(m)))
	}
	return d
}

func (d *dealer) key(m int32) uint64 {
	return (1<<31-uint64(d.end[m]-d.first[m]))<<32 | uint64(m)
}

// give deals up to n slots to a task and returns how many. The members that have the fewest of its slots come first.
func (d *dealer) give(s *sharing, w wanting) (dealt int64) {
	if len(d.queue) == 0 {
		return 0
	}
	touched := d.countHeld(s.pool.Jobs[w.post.Job].Tasks[w.post.Task].Held)
	level := int32(0)
	for dealt < w.n && len(d.queue)+len(d.aside) > 0 {
		if len(d.queue) == 0 {
			level = d.nextLevel()
			continue
		}
		m := int32(uint32(d.queue[0]))
		d.pop()
		if d.on[m] > level {
			d.aside = append(d.aside, d.key(m))
			continue
		}
		g := &d.lot[d.first[m]]
		s.out.Moves = append(s.out.Moves, SlotMove{Slot: g.slot, From: g.from, To: w.post})
		dealt++
		d.first[m]++
		d.on[m]++
		touched = append(touched, m)
		if d.first[m] < d.end[m] {
			d.aside = append(d.aside, d.key(m))
		}
	}
	d.pushAside()
	for _, m := range touched {
		d.on[m] = 0
	}
	return dealt
}

// nextLevel puts the members set aside back and returns how many slots of the task the least of them has.
func (d *dealer) nextLevel() int32 {
	level := int32(1<<31 - 1)
	for _, k := range d.aside {
		level = min(level, d.on[uint32(k)])
	}
	d.pushAside()
	return level
}

func (d *dealer) pushAside() {
	for _, k := range d.aside {
		d.push(k)
	}
	d.aside = d.aside[:0]
}

func (d *dealer) countHeld(held []Held) (touched []int32) {
	if len(held) == 0 {
		return nil
	}
	if d.members == nil {
		d.members = make(map[string]int32, len(d.first))
		for m := range d.first {
			if d.first[m] < d.end[m] {
				d.members[d.lot[d.first[m]].slot.Member] = int32(m)
			}
		}
	}
	for i := range held {
		if m, ok := d.members[held[i].Member]; ok {
			d.on[m]++
			touched = append(touched, m)
		}
	}
	return touched
}

// rest appends the moves of slots that come from a task and go nowhere.
func (d *dealer) rest(moves []SlotMove) []SlotMove {
	for m := range d.first {
		for _, g := range d.lot[d.first[m]:d.end[m]] {
			if g.from != NoPost {
				moves = append(moves, SlotMove{Slot: g.slot, From: g.from, To: NoPost})
			}
		}
	}
	return moves
}

func (d *dealer) push(k uint64) {
	d.queue = append(d.queue, k)
	for i := len(d.queue) - 1; i > 0; {
		up := (i - 1) / 2
		if d.queue[up] <= k {
			break
		}
		d.queue[i], d.queue[up] = d.queue[up], k
		i = up
	}
}

func (d *dealer) pop() {
	last := len(d.queue) - 1
	k := d.queue[last]
	d.queue = d.queue[:last]
	if last == 0 {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && d.queue[c+1] < d.queue[c] {
			c++
		}
		if d.queue[c] >= k {
			break
		}
		d.queue[i] = d.queue[c]
		i = c
	}
	d.queue[i] = k
}
