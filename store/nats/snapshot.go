package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// pointer says which snapshot counts. Its chunks were written before it; the chunks of a snapshot that no pointer names are never read.
type pointer struct {
	Index  uint64 `json:"index"`
	ID     string `json:"id"`     // of the chunks
	Chunks int    `json:"chunks"` // numbered from 0
	Bytes  int    `json:"bytes"`
	Sum    string `json:"sha256"`
}

// pointer reads the pointer and its sequence; zero if there is none.
func (s *Store) pointer(ctx context.Context) (uint64, pointer, error) {
	m, err := s.newest(ctx, s.names.snapshot())
	if err != nil || m.marker() {
		return m.seq, pointer{}, err
	}
	var p pointer
	if err := json.Unmarshal(m.data, &p); err != nil {
		return 0, pointer{}, fmt.Errorf("%w: read %s: %w", ErrDamaged, s.names.snapshot(), err)
	}
	return m.seq, p, nil
}

// Snapshot implements store.Log.
func (s *Store) Snapshot(ctx context.Context) (_ store.Record, err error) {
	defer driver.Wrap(&err, "read snapshot")
	if err := s.enter(ctx); err != nil {
		return store.Record{}, err
	}
	before := uint64(0)
	for {
		at, p, err := s.pointer(ctx)
		if err != nil {
			return store.Record{}, err
		}
		if p.Index == 0 {
			return store.Record{}, store.ErrNotFound
		}
		data, err := s.readChunks(ctx, p)
		switch {
		case err == nil:
			return store.Record{Index: p.Index, Data: data}, nil
		case !errors.Is(err, ErrDamaged) || at == before:
			return store.Record{}, err
		}
		before = at // a newer snapshot may have taken its place while we read
	}
}

func (s *Store) readChunks(ctx context.Context, p pointer) ([]byte, error) {
	data := make([]byte, 0, min(p.Bytes, 64<<20))
	for i := range p.Chunks {
		m, err := s.newest(ctx, s.names.chunk(p.ID, i))
		if err != nil {
			return nil, err
		}
		if m.marker() {
			return nil, fmt.Errorf("%w: chunk %d of %d of the snapshot at %d is missing", ErrDamaged, i+1, p.Chunks, p.Index)
		}
		data = append(data, m.data...)
	}
	if len(data) != p.Bytes || sum(data) != p.Sum {
		return nil, fmt.Errorf("%w: the snapshot at %d has a wrong checksum", ErrDamaged, p.Index)
	}
	return data, nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// SaveSnapshot implements store.Log. A snapshot may be larger than one message: it is split into chunks.
func (s *Store) SaveSnapshot(ctx context.Context, r store.Record) error {
	if err := driver.Because(ctx, s.saveSnapshot(ctx, r)); err != nil {
		return fmt.Errorf("save snapshot at %d: %w", r.Index, err)
	}
	return nil
}

func (s *Store) saveSnapshot(ctx context.Context, r store.Record) error {
	if err := s.enterChange(ctx); err != nil {
		return err
	}
	if err := s.checkSize(r.Data[:min(1, len(r.Data))]); err != nil {
		return err // not even a chunk of one byte
	}
	if err := s.appended(ctx, r.Index); err != nil {
		return err
	}
	for {
		at, p, err := s.pointer(ctx)
		if err != nil || p.Index >= r.Index {
			return err
		}
		if err := s.replaceSnapshot(ctx, at, r); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// appended refuses a snapshot of an index that the log has not reached.
func (s *Store) appended(ctx context.Context, index uint64) error {
	state, err := s.logState(ctx)
	if err != nil {
		return err
	}
	if index == 0 || index > state.Last {
		return fmt.Errorf("the log has the indexes 1 to %d", state.Last)
	}
	return nil
}

// replaceSnapshot writes chunks and points to them, unless the pointer is no longer at this sequence; then it removes the chunks again.
func (s *Store) replaceSnapshot(ctx context.Context, at uint64, r store.Record) error {
	p := pointer{Index: r.Index, ID: s.newID(), Bytes: len(r.Data), Sum: sum(r.Data)}
	first := uint64(0)
	for rest := r.Data; len(rest) > 0; p.Chunks++ {
		n := min(len(rest), s.most())
		seq, err := s.swap(ctx, s.names.chunk(p.ID, p.Chunks), 0, nil, rest[:n])
		if err != nil {
			s.sweep(ctx, purgeRequest{Filter: s.names.chunksOf(p.ID)})
			return driver.NotDone(err)
		}
		if first == 0 {
			first = seq
		}
		rest = rest[n:]
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	seq, err := s.swap(ctx, s.names.snapshot(), at, nc.Header{}, text)
	switch {
	case errors.Is(err, errMoved):
		s.sweep(ctx, purgeRequest{Filter: s.names.chunksOf(p.ID)})
		return err
	case err != nil:
		return err
	}
	if first == 0 {
		first = seq
	}
	// What was begun before us is the former snapshot, or belongs to a member that died, or whose pointer will be refused because ours has moved it.
	s.sweep(ctx, purgeRequest{Filter: s.names.chunks(), Seq: first})
	return nil
}

// sweep removes chunks that nobody will read. Where it cannot, the next snapshot does.
func (s *Store) sweep(ctx context.Context, r purgeRequest) {
	if err := s.purge(ctx, s.names.docs(), r); err != nil {
		s.log.Debug("remove chunks of a former snapshot", "err", err)
	}
}
