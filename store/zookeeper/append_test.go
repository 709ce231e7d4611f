package zookeeper

import "testing"

// TestNothingIsPutAfterTheEnd: a call that comes through the door as the store closes begins no goroutine that Close does not wait for.
func TestNothingIsPutAfterTheEnd(t *testing.T) {
	a := newAppender(nil)
	a.end()
	if _, ok := a.put([]byte("late")); ok || a.queue.Len() != 0 {
		t.Errorf("put after the end: accepted %v, %d records wait", ok, a.queue.Len())
	}
}
