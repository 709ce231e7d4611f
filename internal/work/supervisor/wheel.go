package supervisor

import (
	"math/bits"
	"time"

	"github.com/rota-run/rota/protocol"
)

// wheelTick is the resolution of the wheel.
const wheelTick = 5 * time.Millisecond

const (
	wheelBits   = 6
	wheelSlots  = 1 << wheelBits
	wheelLevels = 64/wheelBits + 1
)

// wheel is a hierarchical timing wheel (Varghese and Lauck, 1987): Level l has 64 slots of 64^l ticks. A timer lies on
// the level of the highest digit, in base 64, in which its tick differs from the present one. Adding and removing is
// O(1); a timer moves down at most once per level. Not safe for concurrent use; time comes in as data.
type wheel[T any] struct {
	current uint64 // ticks up to and with this one have fired
	levels  [wheelLevels]wheelLevel[T]
	size    int
}

type wheelLevel[T any] struct {
	occupied uint64 // bit i: slots[i] is not empty
	slots    [wheelSlots]timerList[T]
}

type timerList[T any] struct{ first, last *timer[T] }

// timer is one entry; it belongs to at most one wheel. The zero timer is in none.
type timer[T any] struct {
	value       T
	tick        uint64
	prev, next  *timer[T]
	level, slot uint8
	armed       bool
}

// newWheel starts at an instant.
func newWheel[T any](now protocol.Instant) *wheel[T] {
	return &wheel[T]{current: uint64(now) / uint64(wheelTick)}
}

// add arms t to fire at the first tick not before due, at the earliest at the next one.
func (w *wheel[T]) add(t *timer[T], due protocol.Instant) {
	w.remove(t)
	t.tick = max((uint64(max(due, 0))+uint64(wheelTick)-1)/uint64(wheelTick), w.current+1)
	t.armed = true
	w.size++
	w.place(t)
}

func (w *wheel[T]) place(t *timer[T]) {
	level := 0
	if d := t.tick ^ w.current; d != 0 {
		level = (bits.Len64(d) - 1) / wheelBits
	}
	slot := t.tick >> (level * wheelBits) % wheelSlots
	t.level, t.slot = uint8(level), uint8(slot)
	l := &w.levels[level]
	l.occupied |= 1 << slot
	l.slots[slot].push(t)
}

// remove disarms t; it does nothing to one that is not armed.
func (w *wheel[T]) remove(t *timer[T]) {
	if !t.armed {
		return
	}
	l := &w.levels[t.level]
	list := &l.slots[t.slot]
	list.unlink(t)
	if list.first == nil {
		l.occupied &^= 1 << t.slot
	}
	t.armed = false
	w.size--
}

// advance fires what is due at now, in the order of ticks and within one tick in the order of adding. fire may add and
// remove timers.
func (w *wheel[T]) advance(now protocol.Instant, fire func(*timer[T])) {
	goal := uint64(max(now, 0)) / uint64(wheelTick)
	for {
		level, slot, tick, ok := w.nearest()
		if !ok || tick > goal {
			break
		}
		w.current = tick
		list := &w.levels[level].slots[slot]
		for t := list.first; t != nil; t = list.first {
			w.remove(t)
			if t.tick <= w.current {
				fire(t)
				continue
			}
			t.armed = true
			w.size++
			w.place(t)
		}
	}
	w.current = max(w.current, goal)
}

// nearest is the first occupied slot and the tick at which it begins. Slots behind the present digit of their level are
// empty.
func (w *wheel[T]) nearest() (level, slot int, tick uint64, ok bool) {
	for level := range w.levels {
		if o := w.levels[level].occupied; o != 0 {
			slot := bits.TrailingZeros64(o)
			shift := level * wheelBits
			tick := w.current >> shift >> wheelBits << wheelBits << shift
			return level, slot, tick | uint64(slot)<<shift, true
		}
	}
	return 0, 0, 0, false
}

// next is the instant at which advance has something to do; false if never.
func (w *wheel[T]) next() (protocol.Instant, bool) {
	_, _, tick, ok := w.nearest()
	return protocol.Instant(tick * uint64(wheelTick)), ok
}

func (l *timerList[T]) push(t *timer[T]) {
	t.prev, t.next = l.last, nil
	if l.last == nil {
		l.first = t
	} else {
		l.last.next = t
	}
	l.last = t
}

func (l *timerList[T]) unlink(t *timer[T]) {
	if t.prev == nil {
		l.first = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.last = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}

// firstDue spreads the first rounds of partitions over a span by a stable hash.
func firstDue(now protocol.Instant, hash uint64, span time.Duration) protocol.Instant {
	if span <= 0 {
		return now
	}
	return now.Add(time.Duration(hash % uint64(span)))
}

// nextDue is the first instant of the schedule due, due+period, ... after now, and how many were jumped over.
func nextDue(due protocol.Instant, period time.Duration, now protocol.Instant) (next protocol.Instant, skipped int64) {
	late := now.Sub(due)
	if late < 0 {
		return due.Add(period), 0
	}
	n := int64(late/period) + 1
	return due.Add(time.Duration(n) * period), n - 1
}
