package elastic

import (
	"context"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// The maximum sizes; above them, calls return store.ErrTooLarge. Servers accept requests of 100 MB by default.
const (
	MaxValue    = 16 << 20        // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxSnapshot // bytes of a snapshot, which is split into parts
)

// Store is one handle on the store. It is safe for concurrent use.
type Store struct {
	*full.Endable
	conn *conn
}

var (
	_ store.Full      = (*Store)(nil)
	_ store.Refresher = (*Store)(nil)
)

// Refresh implements store.Refresher. It needs the privilege maintenance.
func (s *Store) Refresh(ctx context.Context) error {
	return s.conn.o.place().Failed(s.conn.refresh(ctx), "refresh")
}
