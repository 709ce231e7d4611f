package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
)

var (
	_ store.Endable      = (*Store)(nil)
	_ store.EndableGroup = (*Store)(nil)
	_ store.SessionEnder = (*Store)(nil)
)

// What an EndKey begins with.
const (
	endsDocs  = "documents"
	endsPlace = "member"
)

// EndKey implements store.Endable: it names the documents. Who uses it gives each life of a process keys of its own.
func (s *Store) EndKey(docs ...string) store.EndKey {
	return store.EndKey{Text: endsDocs + " " + strings.Join(docs, " ")}
}

// EndPlace implements store.EndableGroup.
func (s *Store) EndPlace(id string) store.EndKey { return store.EndKey{Text: endsPlace + " " + id} }

// EndSession implements store.SessionEnder: it deletes documents, or leaves the group. A renewal that the dead process
// has sent before meets no document. The first write of a heartbeat that comes later stays, and counts as silent: its
// process had not joined yet.
func (s *Store) EndSession(ctx context.Context, key string) error {
	what, of, _ := strings.Cut(key, " ")
	switch what {
	case endsPlace:
		return s.LeaveGroup(ctx, of)
	case endsDocs:
		for _, doc := range strings.Fields(of) {
			if err := s.remove(ctx, doc); err != nil {
				return fmt.Errorf("end what another process has written: %w", err)
			}
		}
		return nil
	}
	return errors.New("end what another process has opened: the key is not one of Kafka")
}

// remove deletes a document until it is gone.
func (s *Store) remove(ctx context.Context, key string) error {
	for {
		d, err := s.Get(ctx, key)
		if err == nil {
			err = s.Delete(ctx, key, d.Version)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown):
			return err
		}
	}
}
