package work

import (
	"container/heap"
	"time"

	"github.com/rota-run/rota/protocol"
)

// deadline is the end of a back-off or a grace period; void unless p.timer is seq.
type deadline struct {
	at  protocol.Instant
	seq uint64
	p   *part
}

// timerHeap holds deadlines, the first to end on top, ties in the order in which they were set.
type timerHeap []deadline

// Len is the number of deadlines, void ones included.
func (h timerHeap) Len() int { return len(h) }

// Less orders by instant.
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

// Swap swaps.
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for container/heap.
func (h *timerHeap) Push(x any) { *h = append(*h, x.(deadline)) }

// Pop is for container/heap.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = deadline{}
	*h = (*h)[:last]
	return d
}

func (h *timerHeap) pop() deadline { return heap.Pop(h).(deadline) }

// setTimer replaces the partition's deadline.
func (s *State) setTimer(p *part, d time.Duration) {
	s.timerSeq++
	p.timer = s.timerSeq
	heap.Push(&s.timers, deadline{at: s.now.Add(max(d, 0)), seq: s.timerSeq, p: p})
}
