package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// schema is the driver of package engine: one handle on a schema.
type schema struct {
	*wire
	journal journal // the log
}

// The limits of a request.
const (
	keysMost = 1000    // of a read
	batch    = 512     // records of an append
	pageMost = 1 << 20 // rows of a list: one request has them all, from one instant
)

// Limits implements driver.Driver.
func (s *schema) Limits() driver.Limits {
	const most = MaxRecord + 1
	return driver.Limits{Value: most, Swap: most, Keys: keysMost, Page: pageMost, Batch: batch}
}

// Read implements driver.Documents. The range is from one instant, and so are the keys, from a later one.
func (s *schema) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return rows, err
	}
	defer leave()
	if q.From != "" {
		from, behind := strings.CutSuffix(q.From, "\x00") // no text has a zero byte
		found, err := s.ask(ctx, sqlRange, from, q.To, q.Limit+1, q.Bare, behind)
		if err != nil {
			return rows, err
		}
		for _, r := range found[:min(len(found), q.Limit)] {
			rows.Range = append(rows.Range, r.row())
		}
		rows.More = len(found) > q.Limit
	}
	if len(q.Keys) > 0 {
		rows.Keys, err = s.rows(ctx, q.Keys)
	}
	return rows, err
}

// rows reads rows by their keys.
func (s *schema) rows(ctx context.Context, keys []string) ([]driver.Row, error) {
	found, err := s.ask(ctx, sqlGet, keys)
	if err != nil {
		return nil, err
	}
	at, dead := make(map[string]int, len(found)), false
	for i, r := range found {
		at[r.text(0)], dead = i, dead || r.bool(4)
	}
	if dead {
		s.judge.look() // the process that one belongs to seems to be dead
	}
	rows, used := make([]driver.Row, len(keys)), make([]bool, len(found))
	for i, key := range keys {
		n, there := at[key]
		if !there {
			rows[i].Key = key
			continue
		}
		if rows[i] = found[n].row(); used[n] { // the key comes twice
			rows[i].Value = bytes.Clone(rows[i].Value)
		}
		used[n] = true
	}
	return rows, nil
}

// row is a row of the table.
func (r row) row() driver.Row {
	return driver.Row{Key: r.text(0), Name: r.text(1), Version: driver.Version(r.text(2)), Value: r[3]}
}

// Swap implements driver.Documents. A row of a vigil is one of nobody then.
func (s *schema) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if len(with) > 0 {
		return "", fmt.Errorf("%q: one row at a time: %w", op.Key, store.ErrTooLarge)
	}
	return s.swap(ctx, op, nil)
}

// swap writes a row of a session, or of none if that is nil.
func (s *schema) swap(ctx context.Context, op driver.Op, session any) (driver.Version, error) {
	if err := inner.CheckSize(op.Value, MaxRecord+1); err != nil {
		return "", fmt.Errorf("%q: %w", op.Key, err)
	}
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	hint := !op.Beat && !op.Once
	v, at := newVersion(), text(op.If)
	var rows []row
	switch {
	case op.Delete:
		v = ""
		rows, err = s.change(ctx, sqlDelete, op.Key, at, hint)
	case op.If == "":
		rows, err = s.change(ctx, sqlCreateRow, op.Key, op.Name, string(v), present(op.Value), session, hint)
	default:
		rows, err = s.change(ctx, sqlUpdate, op.Key, op.Name, string(v), present(op.Value), session, hint, at)
	}
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0:
		return "", &driver.Conflict{}
	}
	return v, nil
}

// newVersion is a version that no other change has ever had: 15 random bytes. A number that the server counts would
// come back after a standby that had not heard of the last changes has become the primary.
func newVersion() driver.Version {
	b := make([]byte, 15)
	rand.Read(b) // never fails
	return driver.Version(base64.RawURLEncoding.EncodeToString(b))
}

// text is what the server compares a version with: one that is not text to it is nobody's.
func text(v driver.Version) string {
	return strings.ToValidUTF8(strings.ReplaceAll(string(v), "\x00", "?"), "?")
}

// Free implements driver.Documents.
func (s *schema) Free(ctx context.Context, keys []string) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, err = s.change(ctx, sqlFree, keys)
	return err
}
