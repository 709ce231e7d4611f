package driver

import (
	"fmt"
	"sync"
	"time"

	"github.com/rota-run/rota/store"
)

// staleFor is how long a server that was replaced may go on answering. NATS looks for its followers every ten seconds,
// and gives up when it has not heard from them for ten. The rest is for a slow server.
const staleFor = 30 * time.Second

// Head is the newest index of a log that a handle has seen. A server whose log ends before has been replaced without
// having noticed, or the log has lost its end. To a member the second is the end of its lease, so it must not be
// mistaken for the first, nor the other way round.
type Head struct {
	mu    sync.Mutex
	index uint64
	short time.Time // since when all answers end before index; zero: they do not
}

// Reached notes an index that exists.
func (h *Head) Reached(index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index >= h.index {
		h.index, h.short = index, time.Time{}
	}
}

// Believe refuses the answer of a server whose log ends before what this handle has seen, until it is certain that no
// other server has more.
func (h *Head) Believe(index uint64) error {
	if lacks := h.lacks(index, time.Now()); lacks > 0 {
		return fmt.Errorf("%w: the server that answered ends at %d and lacks %d records: it was replaced, or the log has "+
			"lost its end", store.ErrUnavailable, index, lacks)
	}
	return nil
}

// lacks is how many records an answer lacks that ends at index and must be disregarded, else 0.
func (h *Head) lacks(index uint64, now time.Time) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index < h.index {
		if h.short.IsZero() {
			h.short = now
		}
		if now.Sub(h.short) < staleFor {
			return h.index - index
		}
	}
	h.index, h.short = index, time.Time{} // what is missing here nobody has: it is lost
	return 0
}
