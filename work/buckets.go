package work

import "time"

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
