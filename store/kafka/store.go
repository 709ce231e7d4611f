package kafka

import (
	"context"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/engine/full"
	"github.com/rota-run/rota/store/engine/log"
)

// The maximum sizes; above them, calls return store.ErrTooLarge.
const (
	MaxRecord   = maxBatch - overhead // bytes of a document or of a record of the log
	MaxSnapshot = log.MaxValues       // bytes of a snapshot, which is split into parts
)

// Store is one handle, with its own connections. It is safe for concurrent use.
type Store struct {
	*full.Watched
	*group
	c *cluster
}

var (
	_ store.Full         = (*Store)(nil)
	_ store.Watcher      = (*Store)(nil)
	_ store.Group        = (*Store)(nil)
	_ store.EndableGroup = (*Store)(nil)
	_ store.SessionEnder = (*Store)(nil)
	_ store.Seeder       = (*Store)(nil)
	_ store.Queue        = (*Store)(nil)
)

// Foreign is the number of records skipped by this handle that rota did not write.
func (s *Store) Foreign() int64 { return s.c.line.foreign.Load() + s.c.Skipped() }

// endsPlace is what the key of a member of the group begins with.
const endsPlace = "member "

// EndPlace implements store.EndableGroup.
func (s *Store) EndPlace(id string) store.EndKey { return store.EndKey{Text: endsPlace + id} }

// EndSession implements store.SessionEnder: it ends what a process has written to documents, or leaves the group.
func (s *Store) EndSession(ctx context.Context, key string) error {
	if id, ok := strings.CutPrefix(key, endsPlace); ok {
		return s.LeaveGroup(ctx, id)
	}
	return s.Watched.EndSession(ctx, key)
}
