package supervisor

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/work"
)

// The back-off where a definition names none.
const (
	DefaultRetryMin = time.Second
	DefaultRetryMax = 5 * time.Minute
	longestRetryMS  = int64(365 * 24 * time.Hour / time.Millisecond)
)

func retryMin(r work.Retry) time.Duration {
	if r.MinMS <= 0 {
		return min(DefaultRetryMin, retryMax(r))
	}
	return millis(min(r.MinMS, longestRetryMS))
}

func retryMax(r work.Retry) time.Duration {
	if r.MaxMS <= 0 {
		return max(DefaultRetryMax, millis(min(max(r.MinMS, 0), longestRetryMS)))
	}
	return millis(min(r.MaxMS, longestRetryMS))
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// backOff is how long to wait after that many failures: it doubles from min to max, and chance takes away up to half.
func backOff(r work.Retry, failures int64, chance uint64) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := retryMin(r)
	for i := int64(1); i < failures && d < retryMax(r); i++ {
		d *= 2
	}
	d = min(d, retryMax(r))
	half := d / 2
	return d - time.Duration(chance%(uint64(half)+1))
}

// jitter is a number that looks like chance but is the same for the same input.
func jitter(p cluster.PartitionID, attempt int64, seed uint64) uint64 {
	return mix(hashID(p) ^ mix(seed) ^ mix(uint64(attempt)))
}

// hashID is FNV-1a (64 bits) by Fowler, Noll and Vo, finished with mix: stable over processes and releases.
func hashID(p cluster.PartitionID) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(p) {
		h = (h ^ uint64(p[i])) * 1099511628211
	}
	return mix(h)
}

// mix is the finisher of MurmurHash3 by A. Appleby.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// The growing interval at which a series of failing rounds is journaled again.
const (
	firstRepeat = time.Minute
	lastRepeat  = time.Hour
)

// errorRow decides which failed rounds of a run are journaled: the first of a row, then at growing intervals with the
// count, and the end of the row. Rounds that fail and succeed in turn make at most two records a minute; the next
// record counts those that were left out.
type errorRow struct {
	count   int64 // failures in a row
	since   int64 // failures after the last record
	told    bool  // the last record says that rounds fail
	next    protocol.Instant
	repeats time.Duration
}

// failure counts one and returns what to journal, "" for nothing.
func (r *errorRow) failure(now protocol.Instant, message string) string {
	r.count++
	r.since++
	if now < r.next {
		return ""
	}
	if r.told {
		r.repeats = min(2*r.repeats, lastRepeat)
	} else {
		r.repeats = firstRepeat
	}
	if r.since > 1 {
		message = fmt.Sprintf("%s (failed rounds: %d in a row, %d since the last record)", message, r.count, r.since)
	}
	r.told, r.since = true, 0
	r.next = now.Add(r.repeats)
	return message
}

// success ends a row, and returns what to journal, "" for nothing.
func (r *errorRow) success(now protocol.Instant) string {
	failed := r.since
	if r.told {
		failed = r.count
	}
	if r.count = 0; failed == 0 || !r.told && now < r.next {
		return ""
	}
	r.told, r.since = false, 0
	r.next = now.Add(firstRepeat)
	if failed == 1 {
		return "well again after 1 failed round"
	}
	return fmt.Sprintf("well again after %d failed rounds", failed)
}

// over tells whether there is nothing to remember any more.
func (r *errorRow) over(now protocol.Instant) bool { return !r.told && r.since == 0 && now >= r.next }

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

// typeState bounds the runs of one type at once; those that wait are served first come, first served.
type typeState struct {
	max, running int
	queue        []place
}

// place is a part's place in a queue; it is void once the part has left or has another.
type place struct {
	p   *part
	seq uint64
}

func (t *typeState) full() bool { return t.max > 0 && t.running >= t.max }

func (s *State) enqueue(p *part) {
	t := s.types[p.grant.Spec.Type]
	p.phase = phaseQueued
	p.queued++
	t.queue = append(t.queue, place{p, p.queued})
}

// pump starts the longest waiting while there is room.
func (s *State) pump(t *typeState) {
	for t != nil && s.valid && !s.shutdown && !t.full() && len(t.queue) > 0 {
		n := t.queue[0]
		t.queue[0] = place{}
		t.queue = t.queue[1:]
		if n.p.phase == phaseQueued && n.p.queued == n.seq {
			s.start(n.p)
			s.note(n.p)
		}
	}
}
