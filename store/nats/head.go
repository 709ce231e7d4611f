package nats

import (
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// staleFor is how long a leader that was replaced may go on answering: it looks for its followers every ten seconds, and gives up when it has
// not heard from them for ten. The rest is for a slow server.
const staleFor = 30 * time.Second

// head is the newest index that this handle has seen. A leader whose log ends before has been replaced without having noticed, or the log has lost
// its end. To a member the second is the end of its lease, so it must not be mistaken for the first, nor the other way round.
type head struct {
	mu    sync.Mutex
	index uint64
	short time.Time // since when all answers end before index; zero: they do not
}

// reached notes an index that exists.
func (h *head) reached(index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index >= h.index {
		h.index, h.short = index, time.Time{}
	}
}

// lacks reports whether an answer that ends at index must be disregarded, and how many records it lacks.
func (h *head) lacks(index uint64, now time.Time) (uint64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index >= h.index {
		h.index, h.short = index, time.Time{}
		return 0, false
	}
	if h.short.IsZero() {
		h.short = now
	}
	if now.Sub(h.short) < staleFor {
		return h.index - index, true
	}
	h.index, h.short = index, time.Time{} // nobody has more: it is lost
	return 0, false
}

// believe refuses the answer of a leader whose log ends before what this handle has seen, until it is certain that no other leader has more.
func (b *bucket) believe(index uint64) error {
	if b.replicas == 1 {
		return nil
	}
	if lacks, old := b.head.lacks(index, time.Now()); old {
		return fmt.Errorf("%w: the leader that answered ends at %d and lacks %d records: it was replaced, or the log has lost its end",
			store.ErrUnavailable, index, lacks)
	}
	return nil
}
