package schedule

import "math/bits"

// node is one candidate in a heap: a load over a weight.
type node struct {
	load, weight int64
	member, cell int32
}

// heap is a binary heap of nodes: the least loaded first, or the most loaded if most is set; ties go to the lower
// member index, which is the lower ID. A node keeps the load it was pushed with; a reader of the top brings it up to
// date first.
type heap struct {
	nodes []node
	most  bool
}

// compare orders a/b against c/d by cross multiplication, in 128 bits. Loads and weights are not negative, weights not
// zero.
func compare(a, b, c, d int64) int {
	if b == d {
		switch {
		case a < c:
			return -1
		case a > c:
			return 1
		}
		return 0
	}
	hi1, lo1 := bits.Mul64(uint64(a), uint64(d))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(b))
	switch {
	case hi1 != hi2 && hi1 < hi2, hi1 == hi2 && lo1 < lo2:
		return -1
	case hi1 == hi2 && lo1 == lo2:
		return 0
	}
	return 1
}

func (h *heap) before(a, b *node) bool {
	c := compare(a.load, a.weight, b.load, b.weight)
	if c == 0 {
		return a.member < b.member
	}
	return (c < 0) != h.most
}

func (h *heap) init() {
	for i := len(h.nodes)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *heap) down(i int) {
	n := h.nodes[i]
	for {
		child := 2*i + 1
		if child >= len(h.nodes) {
			break
		}
		if right := child + 1; right < len(h.nodes) && h.before(&h.nodes[right], &h.nodes[child]) {
			child = right
		}
		if !h.before(&h.nodes[child], &n) {
			break
		}
		h.nodes[i] = h.nodes[child]
		i = child
	}
	h.nodes[i] = n
}

// pop removes the top.
func (h *heap) pop() {
	last := len(h.nodes) - 1
	h.nodes[0] = h.nodes[last]
	h.nodes = h.nodes[:last]
	if last > 0 {
		h.down(0)
	}
}
