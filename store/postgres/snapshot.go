package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

const (
	chunkBytes = 1 << 20
	chunkPage  = 8 // chunks that one request reads
)

// pointer says which snapshot is the newest, and where its chunks are.
type pointer struct {
	head   uint64 // of the log, when this was read
	index  uint64 // 0: there is no snapshot
	folder string // of chunks, so that two that save at once do not write into one another's
	chunks int
	sum    string
}

func (s *Store) pointer(ctx context.Context) (pointer, error) {
	rows, err := s.ask(ctx, sqlHead)
	if err != nil {
		return pointer{}, err
	}
	if len(rows) != 1 {
		return pointer{}, fmt.Errorf("%w: the table head has %d rows", ErrDamaged, len(rows))
	}
	r := rows[0]
	return pointer{uint64(r.int(0)), uint64(r.int(1)), r.text(2), int(r.int(3)), r.text(4)}, nil //nolint:gosec // not negative
}

// Snapshot implements store.Log.
func (s *Store) Snapshot(ctx context.Context) (store.Record, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return store.Record{}, s.place.Failed(err, "read snapshot")
	}
	defer leave()
	r, err := s.readSnapshot(ctx)
	if err != nil {
		return store.Record{}, s.place.Failed(err, "read snapshot")
	}
	return r, nil
}

// readSnapshot reads the pointer, and then the chunks. These never change, but they go when a newer snapshot comes: then it begins again.
func (s *Store) readSnapshot(ctx context.Context) (store.Record, error) {
	for before := ""; ; {
		p, err := s.pointer(ctx)
		switch {
		case err != nil:
			return store.Record{}, err
		case p.index == 0:
			return store.Record{}, store.ErrNotFound
		}
		data, err := s.readChunks(ctx, p)
		if err == nil {
			return store.Record{Index: p.index, Data: data}, nil
		}
		if !errors.Is(err, ErrDamaged) || p.folder == before {
			return store.Record{}, err
		}
		before = p.folder
	}
}

func (s *Store) readChunks(ctx context.Context, p pointer) ([]byte, error) {
	data := []byte{}
	for n := 0; n < p.chunks; {
		rows, err := s.ask(ctx, sqlChunks, bounded(p.index), p.folder, n, chunkPage)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, fmt.Errorf("%w: chunk %d of the snapshot at %d is missing", ErrDamaged, n, p.index)
		}
		for _, r := range rows {
			data = append(data, r[0]...)
		}
		n += len(rows)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.sum {
		return nil, fmt.Errorf("%w: the snapshot at %d has another checksum than when it was saved", ErrDamaged, p.index)
	}
	return data, nil
}

// SaveSnapshot implements store.Log. All chunks but the last are written first; the transaction with the last one makes the snapshot the
// newest, if no newer one exists by then. An index that the log has not reached is refused.
func (s *Store) SaveSnapshot(ctx context.Context, r store.Record) error {
	return s.place.Failed(driver.Because(ctx, s.saveSnapshot(ctx, r)), "save snapshot at %d", r.Index)
}

func (s *Store) saveSnapshot(ctx context.Context, r store.Record) error {
	if err := driver.CheckSize(r.Data, MaxSnapshot); err != nil {
		return err
	}
	ctx, leave, err := s.enterChange(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p, err := s.pointer(ctx)
	switch {
	case err != nil:
		return err
	case r.Index == 0 || r.Index > p.head:
		return fmt.Errorf("the log has the indexes 1 to %d", p.head)
	case r.Index <= p.index:
		return nil
	}
	return s.store(ctx, newDraft(r))
}

// draft is a snapshot that is being saved.
type draft struct {
	index  int64
	folder string
	chunks [][]byte // at least one
	sum    string
}

func newDraft(r store.Record) draft {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	sum := sha256.Sum256(r.Data)
	d := draft{index: bounded(r.Index), folder: hex.EncodeToString(id), sum: hex.EncodeToString(sum[:])}
	data := present(r.Data)
	for len(data) > chunkBytes {
		d.chunks, data = append(d.chunks, data[:chunkBytes]), data[chunkBytes:]
	}
	d.chunks = append(d.chunks, data)
	return d
}

// store writes a draft and makes it the newest snapshot, unless a newer one came.
func (s *Store) store(ctx context.Context, d draft) error {
	last := len(d.chunks) - 1
	for n, chunk := range d.chunks[:last] {
		if _, err := s.change(ctx, sqlChunk, d.index, d.folder, n, chunk); err != nil {
			s.dropChunks(ctx, sqlDropDraft, d.index, d.folder)
			return driver.NotDone(err) // nobody has heard of these chunks
		}
	}
	rows, err := s.change(ctx, sqlPoint, d.index, d.folder, last, d.chunks[last], d.sum)
	switch {
	case errors.Is(err, store.ErrUnknown):
		return err // the chunks may be in use
	case err != nil || len(rows) == 0:
		s.dropChunks(ctx, sqlDropDraft, d.index, d.folder)
		return err
	}
	s.dropChunks(ctx, sqlDropOlder)
	return nil
}

// dropChunks removes chunks that no snapshot uses, or will use: whoever still saves a snapshot older than the newest finds that out before it
// points at its chunks. What stays is removed with the next snapshot. The caller, who is inside, waits until ctx ends; it is done then all the same.
func (s *Store) dropChunks(ctx context.Context, st statement, args ...any) {
	done := make(chan struct{})
	s.inside.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(s.ctx, dropPatience)
		defer cancel()
		if _, err := s.change(ctx, st, args...); err != nil {
			s.log.Warn("remove chunks of old snapshots; the next snapshot will", "err", err)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// dropPatience bounds the removal of chunks.
const dropPatience = 10 * time.Second
