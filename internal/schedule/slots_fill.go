package schedule

import (
	"cmp"
	"slices"
)

// The steps by which each further slot of a claim loses value. Percentage shares are counted in hundredths of a slot.
const (
	whole   = 1
	percent = 100
)

// claim is one of several that share a number of slots: a job, or a task.
//
// Each of its slots has a worth, head for the first and step less for each further one, and slots go where they are
// worth most. With head zero for all that is round-robin; with the head that is due by a percentage, and steps of one
// slot, it is the largest remainder first, and then what is furthest below its share.
type claim struct {
	head   int64
	lo, hi int64 // it gets at least lo, at most hi
	held   int64
	got    int64
	tied   bool // one more would be worth as much as the last that was given
}

// at is what the claim gets where slots worth less than the level are not given.
func (c *claim) at(level, step int64) int64 {
	if c.head < level {
		return c.lo
	}
	n := c.head - level
	if step == percent {
		n /= percent // a constant: much faster than a division by step
	}
	return max(c.lo, min(c.hi, n+1))
}

func demand(claims []claim, level, step int64) (n int64) {
	for i := range claims {
		n += claims[i].at(level, step)
	}
	return n
}

// fill sets got of each claim so that they come to n, or to what they can use, and tells how many of the tied claims
// get one more: who of them does is left to the caller. The sum of lo is at most n.
func fill(claims []claim, n, step int64) (more int64) {
	var most, sum, top int64
	for i := range claims {
		c := &claims[i]
		c.hi, c.tied = min(c.hi, n), false
		most += c.hi
		sum += c.head
		top = max(top, c.head)
	}
	if most <= n {
		for i := range claims {
			claims[i].got = claims[i].hi
		}
		return 0
	}
	level := findLevel(claims, n, step, top, (sum-step*n)/int64(len(claims)))
	for i := range claims {
		c := &claims[i]
		c.got = c.at(level+1, step)
		c.tied = c.at(level, step) > c.got
		n -= c.got
	}
	return n
}

// findLevel is the highest level at which the claims want n slots or more, or one below a level at which they want n:
// what is worth more than it comes to no more than n. Where no claim is at a limit it is close to the guess.
func findLevel(claims []claim, n, step, top, guess int64) int64 {
	low, high := guess-step, top+1 // enough at low, too little at high
	switch d := demand(claims, guess, step); {
	case d == n:
		return guess - 1
	case d > n:
		low, high = guess, min(high, guess+step+1)
		if high <= top && demand(claims, high, step) >= n {
			low, high = high, top+1
		}
	default:
		high = min(high, guess)
		if demand(claims, low, step) < n {
			low, high = -step*n, min(high, low)
		}
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		switch d := demand(claims, mid, step); {
		case d == n:
			return mid - 1
		case d > n:
			low = mid
		default:
			high = mid
		}
	}
	return low
}

// ties settles which of several tied claims get one more. It keeps its memory from one use to the next.
type ties struct {
	tied   []int32
	costs  []pricedClaim
	wanted []bool
}

type pricedClaim struct {
	cost  int64
	claim int32
}

// choose gives one more to as many tied claims as there are more. How many of the claims with one head get it is
// settled by the order of the claims alone; which of them by cost, the lowest first, and then by order: their shares
// can be exchanged without changing what the shares are as a whole.
func (t *ties) choose(claims []claim, more int64, cost func(i int) int64) {
	if more == 0 {
		return
	}
	t.tied = t.tied[:0]
	alike := true
	for i := range claims {
		if claims[i].tied {
			t.tied = append(t.tied, int32(i))
			alike = alike && claims[i].head == claims[t.tied[0]].head
		}
	}
	if alike {
		t.takeCheapest(claims, t.tied, more, cost)
		return
	}
	t.first(claims, more)
	tied := t.tied
	slices.SortStableFunc(tied, func(a, b int32) int { return cmp.Compare(claims[b].head, claims[a].head) })
	for len(tied) > 0 {
		n, take := 0, int64(0)
		for ; n < len(tied) && claims[tied[n]].head == claims[tied[0]].head; n++ {
			if t.wanted[tied[n]] {
				take++
			}
		}
		t.takeCheapest(claims, tied[:n], take, cost)
		tied = tied[n:]
	}
}

// first marks the claims that would get one more by their order alone.
func (t *ties) first(claims []claim, more int64) {
	t.wanted = slices.Grow(t.wanted[:0], len(claims))[:len(claims)]
	for i := range claims {
		t.wanted[i] = claims[i].tied && more > 0
		if t.wanted[i] {
			more--
		}
	}
}

// takeCheapest gives one more slot to that many of a group of equal claims.
func (t *ties) takeCheapest(claims []claim, group []int32, take int64, cost func(i int) int64) {
	if take > 0 && take < int64(len(group)) {
		t.costs = t.costs[:0]
		for _, i := range group {
			t.costs = append(t.costs, pricedClaim{cost(int(i)), i})
		}
		slices.SortFunc(t.costs, func(a, b pricedClaim) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.claim, b.claim)) })
		for k, c := range t.costs {
			group[k] = c.claim
		}
	}
	for _, i := range group[:take] {
		claims[i].got++
	}
}

// scarceLook is among how many tasks a single slot looks for the one that it spreads best.
const scarceLook = 64

// placeKey is a lacking task, by its place in the list, and a member.
type placeKey struct {
	task   int
	member string
}

// dealScarce deals slots that are fewer than are lacking: the others are busy, and come later, a few at a time. Each
// goes to the task that has the fewest on its member, so that the tasks are spread when all have come.
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
