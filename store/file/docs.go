package file

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// row is a document as it is stored.
type row struct {
	store.Doc
	session string // "": stays until deleted
	sum     int64
}

// verify checks that the row is what was written.
func (r row) verify() error {
	if docSum(r.Key, string(r.Version), r.session, r.Value) != r.sum {
		return fmt.Errorf("document %q: wrong checksum: %w", r.Key, ErrDamaged)
	}
	return nil
}

// Get implements store.Docs.
func (s *Store) Get(ctx context.Context, key string) (store.Doc, error) {
	d, err := s.get(ctx, key)
	return d, s.wrap(err, "get %q", key)
}

func (s *Store) get(ctx context.Context, key string) (store.Doc, error) {
	if err := store.CheckKey(key); err != nil {
		return store.Doc{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Doc{}, err
	}
	defer s.inside.Done()
	r := row{Doc: store.Doc{Key: key}}
	err := s.asks.row(ctx, `SELECT ver, sess, sum, value FROM docs WHERE key = ?`, []any{key}, []any{&r.Version, &r.session, &r.sum, &r.Value})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.Doc{}, store.ErrNotFound
	case err != nil:
		return store.Doc{}, readError(ctx, err)
	}
	if err := r.verify(); err != nil {
		return store.Doc{}, err
	}
	if s.dead(r.session) {
		s.bury(r.session)
		return store.Doc{}, store.ErrNotFound
	}
	return r.Doc, nil
}

// Gets implements store.GetMany. All documents are from the same moment.
func (s *Store) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	docs, err := s.gets(ctx, keys)
	return docs, s.wrap(err, "get %d documents", len(keys))
}

func (s *Store) gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	if err := store.CheckKeys(keys); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.inside.Done()
	asked, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, `key IN (SELECT value FROM json_each(?))`, string(asked))
	if err != nil {
		return nil, readError(ctx, err)
	}
	found, err := s.living(rows)
	if err != nil {
		return nil, err
	}
	docs := make([]store.Doc, len(keys))
	for i, key := range keys {
		docs[i].Key = key
		if at, ok := slices.BinarySearchFunc(found, key, func(d store.Doc, key string) int { return strings.Compare(d.Key, key) }); ok {
			docs[i] = store.Doc{Key: key, Value: slices.Clone(found[at].Value), Version: found[at].Version}
		}
	}
	return docs, nil
}

// List implements store.Docs. It is never stale.
func (s *Store) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	docs, err := s.list(ctx, prefix)
	return docs, s.wrap(err, "list %q", prefix)
}

func (s *Store) list(ctx context.Context, prefix string) ([]store.Doc, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.inside.Done()
	from, to := span(prefix)
	rows, err := s.rows(ctx, `key >= ? AND key < ?`, from, to)
	if err != nil {
		return nil, readError(ctx, err)
	}
	return s.living(rows)
}

// living are the documents of rows whose sessions have not ended.
func (s *Store) living(rows []row) ([]store.Doc, error) {
	dead := map[string]bool{}
	var docs []store.Doc
	for _, r := range rows {
		if err := r.verify(); err != nil {
			return nil, err
		}
		gone, known := dead[r.session]
		if !known {
			gone = s.dead(r.session)
			dead[r.session] = gone
		}
		if !gone {
			docs = append(docs, r.Doc)
		}
	}
	for id, gone := range dead {
		if gone {
			s.bury(id)
		}
	}
	return docs, nil
}

// rows are those that a condition names, sorted by key, as they were at one moment.
func (s *Store) rows(ctx context.Context, condition string, args ...any) ([]row, error) {
	rows, err := s.asks.rows(ctx, `SELECT key, ver, sess, sum, value FROM docs WHERE `+condition+` ORDER BY key`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.Key, &r.Version, &r.session, &r.sum, &r.Value); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// span is the range of keys below a prefix: from, but not to. A prefix ends with "/", whose successor is "0".
func span(prefix string) (from, to string) {
	if prefix == "" {
		return "", "\x7f" // no key has this byte
	}
	return prefix, strings.TrimSuffix(prefix, "/") + "0"
}

// Put implements store.Docs. The written document is tied to no session, even if the previous one was.
func (s *Store) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	v, err := s.put(ctx, d, nil, false)
	return v, s.wrap(err, "put %q", d.Key)
}

// put writes a document. A renewal wakes nobody and does not wait for the disk: a session ends with the machine's power.
func (s *Store) put(ctx context.Context, d store.Doc, owner *session, renewal bool) (store.Version, error) {
	if err := errors.Join(store.CheckKey(d.Key), driver.CheckSize(d.Value, MaxRecord)); err != nil {
		return "", err
	}
	// The caller may change its bytes when this returns, which may be before the transaction ends.
	value := slices.Clone(d.Value)
	if value == nil {
		value = []byte{}
	}
	version := newVersion()
	o := newOp(len(d.Key)+len(value), func(tx *tx) error {
		current, err := s.current(tx, d.Key)
		switch {
		case err != nil:
			return err
		case owner != nil && owner.ended():
			return refuse(store.ErrSession)
		case current != d.Version:
			return refuse(store.ErrConflict)
		}
		if renewal {
			tx.renewed = true
		} else {
			tx.changed.doc(d.Key)
		}
		_, err = tx.exec(`INSERT OR REPLACE INTO docs (key, ver, sess, sum, value) VALUES (?, ?, ?, ?, ?)`,
			d.Key, string(version), owner.name(), docSum(d.Key, string(version), owner.name(), value), value)
		return err
	})
	o.light = renewal
	if err := s.do(ctx, o); err != nil {
		return "", err
	}
	return version, nil
}

// current is the version of a document inside a transaction: "" if there is none or if its session has ended.
func (s *Store) current(tx *tx, key string) (v store.Version, err error) {
	var session string
	err = tx.row(`SELECT ver, sess FROM docs WHERE key = ?`, []any{key}, []any{&v, &session})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err == nil && s.dead(session) {
		return "", nil
	}
	return v, err
}

// Delete implements store.Docs.
func (s *Store) Delete(ctx context.Context, key string, v store.Version) error {
	return s.wrap(s.delete(ctx, key, v), "delete %q", key)
}

func (s *Store) delete(ctx context.Context, key string, v store.Version) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return s.change(ctx, len(key), func(tx *tx) error {
		current, err := s.current(tx, key)
		switch {
		case err != nil:
			return err
		case current == "":
			return refuse(store.ErrNotFound)
		case current != v:
			return refuse(store.ErrConflict)
		}
		tx.changed.doc(key)
		_, err = tx.exec(`DELETE FROM docs WHERE key = ?`, key)
		return err
	})
}
