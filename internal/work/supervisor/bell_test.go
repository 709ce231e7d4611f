package supervisor

import (
	"fmt"
	"testing"
)

// TestBellNote checks whom a note wakes: whose flow was rung since what was heard, and everybody if that cannot be told.
func TestBellNote(t *testing.T) {
	t.Parallel()
	note := bellNote{}.ring([]string{"a", "b"}) // 1, 2
	heard := note.Last
	note = readNote(note.ring([]string{"c", "a"}).encode())
	for flow, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if note.since(heard, flow) != want {
			t.Errorf("flow %s is rung: %v", flow, !want)
		}
	}
	if note.since(note.Last, "a") {
		t.Error("a ring that was heard is heard again")
	}
	if !readNote([]byte("damaged")).since(heard, "d") || !readNote(nil).since(heard, "d") {
		t.Error("a note that was lost wakes nobody")
	}
	var many []string
	for i := range bellFlows + 10 {
		many = append(many, fmt.Sprint("flow", i))
	}
	full := note.ring(many)
	if len(full.Flows) != bellFlows || !full.since(note.Last, "d") || full.since(full.Last-1, "d") || !full.since(full.Last-1, many[len(many)-1]) {
		t.Errorf("a full note has %d flows, the newest %d, dropped %d", len(full.Flows), full.Last, full.Dropped)
	}
}
