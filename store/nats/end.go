package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rota-run/rota/store"
)

var (
	_ store.SessionEnder   = (*Store)(nil)
	_ store.EndableSession = (*session)(nil)
)

// endKey is what names a session: the server knows its documents alone.
type endKey struct {
	Session string   `json:"session"`
	Docs    []string `json:"docs"`
}

// EndKey implements store.EndableSession. Each document of the session contains its id, and no other session has it.
func (o *session) EndKey(docs ...string) store.EndKey {
	b, err := json.Marshal(endKey{o.id, docs})
	if err != nil {
		return store.EndKey{} // strings can be encoded
	}
	return store.EndKey{Text: string(b)}
}

// EndSession implements store.SessionEnder: it deletes the session's documents, each by its revision and only while it belongs to the session. A write of the
// owner that arrives later names an outdated revision, and is refused.
func (s *Store) EndSession(ctx context.Context, key string) error {
	var k endKey
	if err := json.Unmarshal([]byte(key), &k); err != nil || k.Session == "" {
		return errors.New("end session: the key is not that of a session of NATS")
	}
	if err := s.enterChange(ctx); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	var errs []error
	for _, doc := range k.Docs {
		if err := s.endDoc(ctx, k.Session, doc); err != nil {
			errs = append(errs, fmt.Errorf("end session: remove %q: %w", doc, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Store) endDoc(ctx context.Context, session, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	m, err := s.current(ctx, s.names.doc(key))
	if err != nil || m.marker() || m.header.Get(headerSession) != session {
		return err
	}
	return s.removeOf(ctx, session, key, m.seq)
}
