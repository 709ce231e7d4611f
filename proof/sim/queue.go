package sim

import "container/heap"

// happening is something that is due at an instant of true time.
type happening struct {
	at  int64
	tie uint64 // drawn by the world: the order of what is due at the same instant is explored, not fixed
	seq uint64
	do  func()
}

// queue holds what is due, the first on top.
type queue []happening

// Len is the number of happenings.
func (q queue) Len() int { return len(q) }

// Less orders by instant, then by chance.
func (q queue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.tie != b.tie:
		return a.tie < b.tie
	}
	return a.seq < b.seq
}

// Swap swaps.
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is for container/heap.
func (q *queue) Push(x any) { *q = append(*q, x.(happening)) }

// Pop is for container/heap.
func (q *queue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	(*q)[last] = happening{}
	*q = (*q)[:last]
	return h
}

func (q *queue) add(h happening) { heap.Push(q, h) }

func (q *queue) next() happening { return heap.Pop(q).(happening) }
