package doclog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rota-run/rota/store"
)

// meta is what the log knows beside its records. Each of its fields only grows.
type meta struct {
	Format int `json:"format"`
	// Base is the highest index that is trimmed. It is raised before anything is removed.
	Base uint64 `json:"base"`
	// Freed is the index up to which all records were removed.
	Freed    uint64  `json:"freed"`
	Snapshot pointer `json:"snapshot"`
	// Seed is the name of the seed with which the log began; "" if it began with a record.
	Seed string `json:"seed,omitempty"`
}

// pointer says which snapshot counts.
type pointer struct {
	Index uint64 `json:"index"` // 0: none
	Name  string `json:"name"`
	Parts int    `json:"parts"`
	Bytes int    `json:"bytes"`
	Sum   uint32 `json:"sum"` // CRC-32C
}

// format is what this code reads and writes.
const format = 1

func (m meta) encode() ([]byte, error) { return json.Marshal(m) }

// decodeMeta reads what encode wrote.
func decodeMeta(b []byte) (meta, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	var m meta
	if err := d.Decode(&m); err != nil {
		return meta{}, fmt.Errorf("state of the log: %w: %w", err, ErrDamaged)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return meta{}, fmt.Errorf("state of the log: something follows it: %w", ErrDamaged)
	}
	if m.Format > format {
		return meta{}, fmt.Errorf("state of the log: format %d is newer than %d, which this version reads: use a newer one", m.Format, format)
	}
	return m, m.check()
}

func (m meta) check() error {
	s := m.Snapshot
	if m.Format < 1 || m.Freed > m.Base || s.Parts < 0 || s.Bytes < 0 || s.Bytes < s.Parts || s.Index > 0 && m.Base > s.Index {
		return fmt.Errorf("state of the log: %+v makes no sense: %w", m, ErrDamaged)
	}
	return nil
}

func (l *log) metaKey() string { return l.o.Place + "/meta" }

// readMeta reads the present state and its version, "" where nothing was written yet.
func (l *log) readMeta(ctx context.Context) (meta, store.Version, error) {
	d, err := l.docs.Get(ctx, l.metaKey())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return meta{}, "", err
	}
	m, err := l.metaOf(d)
	return m, d.Version, err
}

// metaOf is the state in its document, which has no version where nothing was written yet.
func (l *log) metaOf(d store.Doc) (meta, error) {
	if d.Version == "" {
		return meta{Format: format}, nil
	}
	m, err := decodeMeta(d.Value)
	if err == nil {
		l.reached(m.Base)
	}
	return m, err
}

// change changes the state by a function that does no more when it is done twice, and returns the new one. So a write whose outcome is unknown needs no
// proof: the state is read again, and either it is as wanted, or it is written again. What was sent may still arrive, but not behind another write.
func (l *log) change(ctx context.Context, fn func(meta) meta) (meta, error) {
	var lost error
	for try := 0; ; {
		m, version, err := l.readMeta(ctx)
		next := fn(m)
		if err == nil && next == m {
			return m, nil
		}
		if err == nil {
			err = l.writeMeta(ctx, next, version)
		}
		switch {
		case err == nil:
			return next, nil
		case errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknown) && ctx.Err() == nil && try < resends:
			lost = err
			try++
		case lost != nil && !errors.Is(err, store.ErrUnknown):
			return meta{}, unknown(err)
		default:
			return meta{}, err
		}
	}
}

func (l *log) writeMeta(ctx context.Context, m meta, version store.Version) error {
	value, err := m.encode()
	if err != nil {
		return err
	}
	_, err = l.docs.Put(ctx, store.Doc{Key: l.metaKey(), Value: value, Version: version})
	return err
}

// told makes sure that the error of a call whose ctx has ended tells the cause.
func told(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}
	return err
}

// resends is how often a write is sent again whose outcome is unknown.
const resends = 3

// unknown says that a call may have changed something, and why nobody can tell.
func unknown(why error) error {
	if errors.Is(why, store.ErrUnknown) {
		return why
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, why)
}
