package process

import (
	"slices"
	"testing"
	"time"
)

func TestNote(t *testing.T) {
	t.Parallel()
	var w Stalls
	at := func(ms int) int64 { return int64(ms) * int64(time.Millisecond) }
	w.note(at(0), at(10))
	w.note(at(10), at(55)) // late by less than is worth noting
	w.note(at(55), at(155))
	w.note(at(155), at(165))
	w.note(at(165), at(365))
	if got, want := w.Spans(), []Span{{at(55), at(155)}, {at(165), at(365)}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := w.Longest(); got != 190*time.Millisecond {
		t.Errorf("the longest is %v, want 190ms", got)
	}
	for from, want := range map[int]int64{0: 300, 105: 250, 155: 200, 160: 200, 265: 100, 365: 0, 999: 0} {
		if got := w.Since(at(from)).Milliseconds(); got != want {
			t.Errorf("since %d ms: %d ms, want %d", from, got, want)
		}
	}
}

// TestWatchStalls waits until a beat has passed and was looked at.
func TestWatchStalls(t *testing.T) {
	t.Parallel()
	w := WatchStalls()
	for end := time.Now().Add(time.Minute); w.Longest() == 0; time.Sleep(time.Millisecond) { // waits: no beat is ever early by its whole length
		if time.Now().After(end) {
			t.Fatal("no beat was late by a nanosecond in a minute: there is no watch")
		}
	}
	w.Close()
	if w.Longest() <= 0 {
		t.Error("what was recorded is gone")
	}
}
