package postgres

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// newVersion is a version that no other change has ever had: 15 random bytes. A number that the server counts would come back after a standby that had not
// heard of the last changes has become the primary.
func newVersion() store.Version {
	b := make([]byte, 15)
	rand.Read(b) // never fails
	return store.Version(base64.RawURLEncoding.EncodeToString(b))
}

// Get implements store.Docs. It is linearizable: the primary answers, from what was committed when the call began, or later.
func (s *Store) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := s.get(ctx, key)
	if err != nil {
		return store.Doc{}, s.place.Failed(err, "get %q", key)
	}
	return d, nil
}

func (s *Store) get(ctx context.Context, key string) (store.Doc, error) {
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return store.Doc{}, err
	}
	defer leave()
	rows, err := s.ask(ctx, sqlGet, key)
	switch {
	case err != nil:
		return store.Doc{}, err
	case len(rows) == 0:
		return store.Doc{}, store.ErrNotFound
	}
	if rows[0].bool(2) {
		s.judge.look() // the process that it belongs to seems to be dead
	}
	return store.Doc{Key: key, Value: rows[0][0], Version: store.Version(rows[0].text(1))}, nil
}

// Put implements store.Docs. The written document is tied to no session, even if the previous one was.
func (s *Store) Put(ctx context.Context, d store.Doc) (_ store.Version, err error) {
	defer s.place.Wrap(&err, "put %q", d.Key)
	if err := checkDoc(d); err != nil {
		return "", err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return s.write(ctx, d, nil)
}

func checkDoc(d store.Doc) error {
	if err := store.CheckKey(d.Key); err != nil {
		return err
	}
	return driver.CheckSize(d.Value, MaxRecord)
}

// write puts a document if its version is current. session is the number of one, or nil.
func (s *Store) write(ctx context.Context, d store.Doc, session any) (store.Version, error) {
	if d.Version != "" {
		return s.writeBy(ctx, sqlUpdateDoc, d, session, text(d.Version))
	}
	return s.writeBy(ctx, sqlCreateDoc, d, session)
}

// writeBy puts a document by a statement, which gives a row if it wrote.
func (s *Store) writeBy(ctx context.Context, st statement, d store.Doc, args ...any) (store.Version, error) {
	v := newVersion()
	rows, err := s.change(ctx, st, append([]any{d.Key, present(d.Value), string(v)}, args...)...)
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0:
		return "", store.ErrConflict
	}
	return v, nil
}

// text is what the server compares a version with: one that is not text to it is nobody's.
func text(v store.Version) string {
	return strings.ToValidUTF8(strings.ReplaceAll(string(v), "\x00", "?"), "?")
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) error {
	return s.place.Failed(s.delete(ctx, key, v), "delete %q", key)
}

func (s *Store) delete(ctx context.Context, key string, v store.Version) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	calling, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	rows, err := s.change(calling, sqlDeleteDoc, key, text(v))
	if err != nil || len(rows) == 1 {
		return err
	}
	// The version was not current. Whether there is a document now is another question.
	if _, err := s.get(ctx, key); err != nil {
		return err
	}
	return store.ErrConflict
}

// List implements store.Docs. All documents are from one instant.
func (s *Store) List(ctx context.Context, prefix string) (_ []store.Doc, err error) {
	defer s.place.Wrap(&err, "list %q", prefix)
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	end := ""
	if prefix != "" {
		end = strings.TrimSuffix(prefix, "/") + "0" // what follows the slash
	}
	rows, err := s.ask(ctx, sqlList, prefix, end)
	if err != nil {
		return nil, err
	}
	var docs []store.Doc
	for _, r := range rows {
		docs = append(docs, store.Doc{Key: r.text(0), Value: r[1], Version: store.Version(r.text(2))})
	}
	return docs, nil
}
