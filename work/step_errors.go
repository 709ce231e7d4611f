package work

import (
	"fmt"
	"time"

	"github.com/rota-run/rota/protocol"
)

// The growing interval at which a series of failing rounds is journaled again.
const (
	firstRepeat = time.Minute
	lastRepeat  = time.Hour
)

// errorRow decides which failed rounds of a run are journaled: the first of a row, then at growing intervals with the count, and the end of the row. Rounds
// that fail and succeed in turn make at most two records a minute; the next record counts those that were left out.
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
