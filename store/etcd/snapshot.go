package etcd

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

const (
	chunkBytes = 1 << 20
	chunkPage  = 8 // chunks that one request reads
)

// pointer is what the snapshot's key holds: the newest snapshot.
type pointer struct {
	Index  uint64 `json:"index"`
	ID     string `json:"id"` // of the folder of chunks, so that concurrent saves use different folders
	Chunks int    `json:"chunks"`
	Sum    string `json:"sha256"`
}

// pointerAt reads the key; an index of 0 means that there is no snapshot.
func pointerAt(kvs []*mvccpb.KeyValue) (p pointer, revision int64, err error) {
	if len(kvs) == 0 {
		return pointer{}, 0, nil
	}
	if err := json.Unmarshal(kvs[0].Value, &p); err != nil || p.Index == 0 || p.Chunks < 1 {
		return pointer{}, 0, fmt.Errorf("%w: the key %q does not name a snapshot", ErrDamaged, kvs[0].Key)
	}
	return p, kvs[0].ModRevision, nil
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
		r, err := s.read(ctx, s.keys.snapshot())
		if err != nil {
			return store.Record{}, err
		}
		p, _, err := pointerAt(r.Kvs)
		switch {
		case err != nil:
			return store.Record{}, err
		case p.Index == 0:
			return store.Record{}, store.ErrNotFound
		}
		data, err := s.readChunks(ctx, p)
		if err == nil {
			return store.Record{Index: p.Index, Data: data}, nil
		}
		if !errors.Is(err, ErrDamaged) || p.ID == before {
			return store.Record{}, err
		}
		before = p.ID
	}
}

func (s *Store) readChunks(ctx context.Context, p pointer) ([]byte, error) {
	data := []byte{}
	for n := 0; n < p.Chunks; {
		from, end := s.keys.chunk(p.Index, p.ID, n), clientv3.GetPrefixRangeEnd(s.keys.chunkFolder(p.Index, p.ID))
		r, err := s.read(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(chunkPage))
		if err != nil {
			return nil, err
		}
		if len(r.Kvs) == 0 {
			return nil, fmt.Errorf("%w: chunk %d of the snapshot at %d is missing", ErrDamaged, n, p.Index)
		}
		for _, kv := range r.Kvs {
			data = append(data, kv.Value...)
		}
		n += len(r.Kvs)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.Sum {
		return nil, fmt.Errorf("%w: the snapshot at %d has another checksum than when it was saved", ErrDamaged, p.Index)
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
	v, err := s.view(ctx, clientv3.OpGet(s.keys.head()), clientv3.OpGet(s.keys.snapshot()))
	if err != nil {
		return err
	}
	head, err := number(rangeOf(v, 0).Kvs)
	if err != nil {
		return err
	}
	if r.Index == 0 || r.Index > head {
		return fmt.Errorf("the log has the indexes 1 to %d", head)
	}
	present, revision, err := pointerAt(rangeOf(v, 1).Kvs)
	if err != nil || r.Index <= present.Index {
		return err
	}
	return s.store(ctx, newDraft(r), revision)
}

// draft is a snapshot that is being saved.
type draft struct {
	pointer
	chunks []string // at least one
}

func newDraft(r store.Record) draft {
	sum, id := sha256.Sum256(r.Data), make([]byte, 8)
	rand.Read(id)
	d := draft{pointer: pointer{Index: r.Index, ID: hex.EncodeToString(id), Sum: hex.EncodeToString(sum[:])}}
	data := string(r.Data)
	for len(data) > chunkBytes {
		d.chunks = append(d.chunks, data[:chunkBytes])
		data = data[chunkBytes:]
	}
	d.chunks = append(d.chunks, data)
	d.Chunks = len(d.chunks)
	return d
}

// store writes a draft and makes it the newest snapshot, in place of the one whose key has the given mod revision.
func (s *Store) store(ctx context.Context, d draft, revision int64) error {
	last := len(d.chunks) - 1
	for n, chunk := range d.chunks[:last] {
		_, err := change(ctx, s, func(ctx context.Context) (*clientv3.PutResponse, error) {
			return s.client.Put(ctx, s.keys.chunk(d.Index, d.ID, n), chunk)
		})
		if err != nil {
			s.dropChunks(ctx, s.keys.chunkFolder(d.Index, d.ID), "")
			return driver.NotDone(err) // nobody has heard of these chunks
		}
	}
	for {
		present, at, err := s.point(ctx, d, revision)
		switch {
		case errors.Is(err, store.ErrUnknown):
			return err // the chunks may be in use
		case err != nil || present.Index >= d.Index && present.ID != d.ID:
			s.dropChunks(ctx, s.keys.chunkFolder(d.Index, d.ID), "")
			return err
		case present.ID == d.ID:
			s.dropChunks(ctx, s.keys.chunks(), s.keys.chunksBelow(d.Index))
			return nil
		}
		revision = at // an older one came in between
	}
}

// point makes a draft the newest snapshot if the key has still the given mod revision. It returns which one is the newest now.
func (s *Store) point(ctx context.Context, d draft, revision int64) (pointer, int64, error) {
	text, err := json.Marshal(d.pointer)
	if err != nil {
		return pointer{}, 0, fmt.Errorf("encode the pointer to the snapshot: %w", err)
	}
	key, last := s.keys.snapshot(), len(d.chunks)-1
	r, err := change(ctx, s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(at(key, revision)).
			Then(clientv3.OpPut(s.keys.chunk(d.Index, d.ID, last), d.chunks[last]), clientv3.OpPut(key, string(text))).
			Else(clientv3.OpGet(key)).Commit()
	})
	switch {
	case err != nil:
		return pointer{}, 0, s.full(ctx, err, key, revision)
	case r.Succeeded:
		return d.pointer, r.Header.Revision, nil
	}
	return pointerAt(rangeOf(r, 0).Kvs)
}

// dropChunks removes chunks that no snapshot uses, or will use: whoever still saves a snapshot older than the newest finds that out before it
// points at its chunks. end is the end of the range; "": all below from. What stays is removed with the next snapshot. The caller, who is inside, waits
// until ctx ends; it is done then all the same.
func (s *Store) dropChunks(ctx context.Context, from, end string) {
	if end == "" {
		end = clientv3.GetPrefixRangeEnd(from)
	}
	done := make(chan struct{})
	s.inside.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
		defer cancel()
		if _, err := s.client.Delete(ctx, from, clientv3.WithRange(end)); err != nil {
			s.log.Warn("remove chunks of old snapshots; the next snapshot will", "from", from, "err", err)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}
