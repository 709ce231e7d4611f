package heartbeat

import (
	"strconv"
	"strings"
	"time"
)

// Silence is for how long a dead owner had given no sign of life when that was found, as far as this watcher can say; false where it never saw one. limit is
// after how long a silent owner counts as dead. A heartbeat that is gone soon after it was renewed went with its process, at once: its silence is 0.
func (o Observation) Silence(limit time.Duration) (time.Duration, bool) {
	switch {
	case !o.Gone():
		return max(0, o.Looked.Sub(o.Since)), true
	case o.Before == 0:
		return 0, false
	case o.Since.Sub(o.Before) <= limit/2:
		return 0, true
	}
	return o.Since.Sub(o.Before), true
}

// What a reason says of a silence.
const (
	silentFor  = ", silent for "
	silentEver = ", for an unknown time"
)

// Reason is why a member is counted out, for the log and the journal: what was found, and for how long the member had been silent. [SilenceIn] reads it back.
func (o Observation) Reason(found string, limit time.Duration) string {
	silence, known := o.Silence(limit)
	switch {
	case !known:
		return found + silentEver
	case silence < time.Millisecond:
		return found
	}
	return found + silentFor + strconv.FormatInt(silence.Milliseconds(), 10) + " ms"
}

// SilenceIn is the silence that a reason tells of: for so long nobody had run the member's tasks already when it was counted out. It is 0 if the reason tells of
// none, and false if it is unknown.
func SilenceIn(reason string) (time.Duration, bool) {
	if strings.HasSuffix(reason, silentEver) {
		return 0, false
	}
	at := strings.LastIndex(reason, silentFor)
	if at < 0 {
		return 0, true
	}
	ms, err := strconv.ParseInt(strings.TrimSuffix(reason[at+len(silentFor):], " ms"), 10, 32)
	return time.Duration(max(0, ms)) * time.Millisecond, err == nil
}
