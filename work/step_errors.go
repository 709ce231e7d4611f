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

// errorRow decides which failures of a series of rounds are journaled: the first, then at growing intervals with the count, and its end.
type errorRow struct {
	count   int64 // failures in a row
	since   int64 // of them, those after the last one that was journaled
	next    protocol.Instant
	repeats time.Duration
}

// failure counts one and returns what to journal, "" for nothing.
func (r *errorRow) failure(now protocol.Instant, message string) string {
	r.count++
	r.since++
	switch {
	case r.count == 1:
		r.repeats = firstRepeat
	case now < r.next:
		return ""
	default:
		r.repeats = min(2*r.repeats, lastRepeat)
		message = fmt.Sprintf("%s (%d rounds in a row failed, %d since the last record)", message, r.count, r.since)
	}
	r.since = 0
	r.next = now.Add(r.repeats)
	return message
}

// success is what to journal when a row, nil for none, is over; "" for nothing.
func (r *errorRow) success() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("well again after %d failed rounds", r.count)
}
