package supervisor

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets of at most 12.5 % width, from 1 µs. Safe from any goroutine; the zero value is empty.
type histogram struct {
	buckets [64 * 8]atomic.Int64
	most    atomic.Int64 // µs
}

func (h *histogram) add(d time.Duration) {
	us := max(d.Microseconds(), 0)
	h.buckets[bucket(us)].Add(1)
	for m := h.most.Load(); us > m && !h.most.CompareAndSwap(m, us); m = h.most.Load() {
	}
}

// bucket: below 8 one for each µs, then eight for each power of two.
func bucket(us int64) int {
	if us < 8 {
		return int(us)
	}
	n := bits.Len64(uint64(us)) - 4 // bits below the top four
	return n*8 + int(us>>n)
}

// upper is the largest duration, in µs, of a bucket.
func upper(b int) int64 {
	if b < 8 {
		return int64(b)
	}
	n := b/8 - 1
	return int64(b-n*8+1)<<n - 1
}

// quantiles returns how late rounds were.
func (h *histogram) quantiles() Lateness {
	var counts [64 * 8]int64
	var total int64
	for i := range h.buckets {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	l := Lateness{Rounds: total, MaxUS: h.most.Load()}
	var seen int64
	for i, n := range counts {
		if before := seen; n > 0 {
			seen += n
			if before*2 < total && seen*2 >= total {
				l.P50US = min(upper(i), l.MaxUS)
			}
			if before*100 < total*99 && seen*100 >= total*99 {
				l.P99US = min(upper(i), l.MaxUS)
			}
		}
	}
	return l
}

// Bounds are the upper bounds of the buckets of a [Histogram].
func Bounds() [14]time.Duration {
	const ms, s, m = time.Millisecond, time.Second, time.Minute
	return [...]time.Duration{ms, 5 * ms, 10 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, s, 2500 * ms, 5 * s, 10 * s, 30 * s, m, 10 * m}
}

// Histogram counts durations. It is plain data, and the zero value is empty.
type Histogram struct {
	Count int64
	Sum   time.Duration
	Upto  [14]int64 // how many were at most as long as the bound of the same index
}

// Add counts a duration.
func (h *Histogram) Add(d time.Duration) {
	h.Count++
	h.Sum += d
	for i, bound := range Bounds() {
		if d <= bound {
			h.Upto[i]++
		}
	}
}
