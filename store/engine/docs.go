package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Docs are the documents of a store.
//
// A document that is deleted leaves a tombstone: the row stays, with the name of the delete. So the answer of a delete
// that was lost is found, and what a life has sent before its end meets another version. A create over a tombstone is a
// swap. A [Sweeper] frees tombstones. A store with leases or vigils ends lives by itself: there a delete removes the
// row, and one whose answer was lost stays unknown.
type Docs struct {
	rows   *Rows
	native bool // deletes remove rows
	ends   bool // the store ends lives by itself, so there are no tombstones
}

var (
	_ store.Docs    = (*Docs)(nil)
	_ store.GetMany = (*Docs)(nil)
	_ store.Watcher = (*Docs)(nil)
)

// NewDocs makes documents of rows.
func NewDocs(r *Rows) *Docs {
	_, leases := r.Driver.(driver.Leaser)
	_, vigils := r.Driver.(driver.Vigils)
	return &Docs{rows: r, native: leases || vigils, ends: leases || vigils}
}

// Untombed makes deletes remove rows: only End leaves tombstones. A delete whose answer was lost stays unknown then.
func (d *Docs) Untombed() *Docs { return &Docs{rows: d.rows, native: true} }

// Life is that of the handle: what it writes has it.
func (d *Docs) Life() string { return d.rows.life }

func docKey(key string) string { return "d/" + key }

// docOf is the document in a row; its version is "" if there is none.
func docOf(row driver.Row) (store.Doc, error) {
	d := store.Doc{Key: strings.TrimPrefix(row.Key, "d/")}
	switch {
	case row.Version == "":
		return d, nil
	case row.Name == "": // another program wrote it: it is a document with that text, which who reads it refuses
		d.Value, d.Version = row.Value, store.Version(row.Version)
		return d, nil
	case isTomb(row):
		return d, nil
	case len(row.Value) > 0 && row.Value[0] == live:
		d.Value, d.Version = row.Value[1:], store.Version(row.Version)
		return d, nil
	}
	return d, fmt.Errorf("document %q is not what was written: another program has changed it", d.Key)
}

// Get implements store.Docs.
func (d *Docs) Get(ctx context.Context, key string) (store.Doc, error) {
	docs, err := d.Gets(ctx, []string{key})
	if err == nil && docs[0].Version == "" {
		err = fmt.Errorf("get %q: %w", key, store.ErrNotFound)
	}
	if err != nil {
		return store.Doc{}, err
	}
	return docs[0], nil
}

// Gets implements store.GetMany, in one request.
func (d *Docs) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	rowKeys, err := DocKeys(keys)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := d.rows.Read(ctx, driver.Query{Keys: rowKeys})
	if err != nil {
		return nil, fmt.Errorf("get %q: %w", keys, err)
	}
	return DocsOf(rows.Keys)
}

// DocKeys are the keys of the rows of documents.
func DocKeys(keys []string) (rowKeys []string, err error) {
	for _, key := range keys {
		if err := store.CheckKey(key); err != nil {
			return nil, err
		}
		rowKeys = append(rowKeys, docKey(key))
	}
	return rowKeys, nil
}

// DocsOf are the documents in rows, each without a version where there is none.
func DocsOf(rows []driver.Row) (docs []store.Doc, err error) {
	for _, row := range rows {
		doc, err := docOf(row)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// Put implements store.Docs.
func (d *Docs) Put(ctx context.Context, doc store.Doc) (store.Version, error) {
	return d.write(ctx, doc, false)
}

// write is Put; beat: of a heartbeat.
func (d *Docs) write(ctx context.Context, doc store.Doc, beat bool) (store.Version, error) {
	v, err := d.put(ctx, doc, beat)
	if err != nil {
		return "", fmt.Errorf("put %q: %w", doc.Key, err)
	}
	return store.Version(v), nil
}

func (d *Docs) put(ctx context.Context, doc store.Doc, beat bool) (driver.Version, error) {
	if err := d.check(doc); err != nil {
		return "", err
	}
	value := append([]byte{live}, doc.Value...)
	op := driver.Op{Key: docKey(doc.Key), Name: d.rows.NewName(), If: driver.Version(doc.Version), Value: value}
	op.Beat = beat
	for {
		v, err := d.rows.Put(ctx, op)
		if !errors.Is(err, store.ErrConflict) || d.ends {
			return v, err
		}
		row, failed := d.rows.standing(ctx, op.Key, err)
		if failed != nil {
			return "", failed // it was refused
		}
		now, failed := docOf(row)
		switch {
		case failed != nil:
			return "", failed
		case ended(row, d.rows.life):
			return "", store.ErrSession
		case doc.Version != "" || now.Version != "":
			return "", err
		}
		op.If = row.Version // of a tombstone, or of nothing again
	}
}

// check refuses what no store takes.
func (d *Docs) check(doc store.Doc) error {
	if most := MaxValue(d.rows.Limits()); len(doc.Value) > most {
		return fmt.Errorf("%d bytes, at most %d: %w", len(doc.Value), most, store.ErrTooLarge)
	}
	return store.CheckKey(doc.Key)
}

// Delete implements store.Docs.
func (d *Docs) Delete(ctx context.Context, key string, v store.Version) error {
	if err := d.remove(ctx, key, v); err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

func (d *Docs) remove(ctx context.Context, key string, v store.Version) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	var err error = &driver.Conflict{} // of "", which no document has
	if v != "" {
		op := driver.Op{Key: docKey(key), Name: d.rows.NewName(), If: driver.Version(v), Value: []byte{tomb}}
		if d.native {
			op.Delete, op.Value = true, nil
		}
		_, err = d.rows.Put(ctx, op)
	}
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	row, failed := d.rows.standing(ctx, docKey(key), err)
	if failed != nil {
		return failed
	}
	now, failed := docOf(row)
	switch {
	case failed != nil:
		return failed
	case now.Version == "":
		return store.ErrNotFound
	}
	return err
}

// listed is how many rows one request of a list asks for, where the driver does not say.
const listed = 500

// List implements store.Docs.
func (d *Docs) List(ctx context.Context, prefix string) (out []store.Doc, err error) {
	rows, err := d.list(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	docs, err := DocsOf(rows)
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", prefix, err)
	}
	for _, doc := range docs {
		if doc.Version != "" {
			out = append(out, doc)
		}
	}
	return out, nil
}

// list are the rows below a prefix, with tombstones.
func (d *Docs) list(ctx context.Context, prefix string) (out []driver.Row, err error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	most := max(listed, d.rows.Limits().Page)
	q := driver.Query{From: docKey(prefix), To: strings.TrimSuffix(docKey(prefix), "/") + "0", Limit: most, Stale: true}
	for {
		rows, err := d.rows.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, rows.Range...)
		if !rows.More || len(rows.Range) == 0 {
			return out, nil
		}
		q.From = rows.Range[len(rows.Range)-1].Key + "\x00"
	}
}

// Watch implements store.Watcher.
func (d *Docs) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	hints, err := d.rows.Hints(ctx, docKey(prefix))
	if err != nil {
		return nil, fmt.Errorf("watch %q: %w", prefix, err)
	}
	return hints, nil
}

// Close implements store.Store.
func (d *Docs) Close() error { return d.rows.Close() }
