package work

import "sync"

// inbox takes exits from runs to the loop. It never blocks a run, and holds at most one exit for each.
type inbox struct {
	signal chan struct{} // has room for one
	mu     sync.Mutex
	events []Event
}

func (b *inbox) put(e Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default: // the loop will look anyway
	}
}

func (b *inbox) take() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}
