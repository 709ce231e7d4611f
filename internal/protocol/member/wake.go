package member

import "github.com/rota-run/rota/protocol"

// Waking finds the next instant at which something is due, within a poll.
type Waking struct{ now, next protocol.Instant }

// Waking begins with the next poll.
func (c *Core) Waking() Waking { return Waking{c.At, c.At.Add(c.Poll)} }

// Due adds an instant. What is past, or waits for an answer, is not due.
func (w *Waking) Due(busy bool, at protocol.Instant) {
	if !busy && at > w.now && at < w.next {
		w.next = at
	}
}

// WakeAt asks to be woken then, unless that was asked for last.
func (c *Core) WakeAt(w Waking) {
	if w.next != c.Wake {
		c.Wake = w.next
		c.Emit(WakeAt{At: w.next})
	}
}
