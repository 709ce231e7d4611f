package full

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine"
)

// Endable is a handle without sessions. What it has written to a document another process can end, by a tombstone.
type Endable struct {
	*Bare
	swept map[string]bool // prefixes below which tombstones are freed; under mu
}

var (
	_ store.Endable      = (*Endable)(nil)
	_ store.SessionEnder = (*Endable)(nil)
)

// NewEndable makes a handle of a driver, which is the handle's to close.
func NewEndable(d engine.Driver, o Options) *Endable {
	return &Endable{NewBare(d, o), map[string]bool{}}
}

// Watched is an Endable on a store that has watches.
type Watched struct{ *Endable }

var (
	_ store.Watcher    = (*Watched)(nil)
	_ store.LogWatcher = (*Watched)(nil)
)

// NewWatched makes a handle of a driver, which is the handle's to close.
func NewWatched(d engine.Driver, o Options) *Watched { return &Watched{NewEndable(d, o)} }

// EndKey implements store.Endable. From now on the handle frees tombstones in the folders of docs: others may have been
// ended there.
func (s *Endable) EndKey(docs ...string) store.EndKey {
	for _, doc := range docs {
		folder, _, _ := strings.Cut(doc, "/")
		s.sweep(folder + "/")
	}
	return store.EndKey{Text: s.docs.Life() + " " + strings.Join(docs, " ")}
}

// EndSession implements store.SessionEnder. A create that the dead process has sent before meets a tombstone.
func (s *Endable) EndSession(ctx context.Context, key string) error {
	life, docs, ok := strings.Cut(key, " ")
	if !ok || len(life) != lifeLength {
		return s.placed(errors.New("end what another process has written: the key is not of a store without sessions"))
	}
	return s.change(ctx, func(ctx context.Context) error { return s.docs.End(ctx, life, strings.Fields(docs)...) })
}

// sweep frees tombstones below a prefix now and then, while the handle is open.
func (s *Endable) sweep(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.swept[prefix] {
		return
	}
	s.swept[prefix] = true
	sweeper := s.docs.Sweeper(prefix)
	s.inside.Go(func() {
		tick := time.NewTicker(engine.Quiet)
		defer tick.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-tick.C:
				_ = sweeper.Sweep(s.ctx) // what is left the next sweep finds
			}
		}
	})
}
