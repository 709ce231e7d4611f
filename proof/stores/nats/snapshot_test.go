package nats_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/nats"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rota-run/rota/store"
)

// noise is data that does not repeat itself.
func noise(seed uint64, size int) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data)
	return data
}

func appendN(t *testing.T, s *Store, n int) []uint64 {
	t.Helper()
	indexes := make([]uint64, n)
	for i := range indexes {
		var err error
		if indexes[i], err = s.Append(deadline(t), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	return indexes
}

func saveAt(t *testing.T, s *Store, index uint64, data []byte) {
	t.Helper()
	if err := s.SaveSnapshot(deadline(t), store.Record{Index: index, Data: data}); err != nil {
		t.Fatal(err)
	}
}

func wantSnapshot(t *testing.T, s *Store, index uint64, data []byte) {
	t.Helper()
	r, err := s.Snapshot(deadline(t))
	if err != nil || r.Index != index || !bytes.Equal(r.Data, data) {
		t.Fatalf("snapshot at %d with %d bytes, %v; want %d and %d", r.Index, len(r.Data), err, index, len(data))
	}
}

// pieces counts the chunks that the stream holds.
func pieces(t *testing.T, s *Store) int {
	t.Helper()
	page, left, err := s.batch(deadline(t), s.names.docs(), batchRequest{1, s.names.chunks(), 1000})
	if err != nil || left > 0 {
		t.Fatalf("%d left, %v", left, err)
	}
	return len(page)
}

func TestSnapshotsGreaterThanAMessage(t *testing.T) {
	t.Parallel()
	s := openWith(t, Options{Bucket: bucket()})
	indexes := appendN(t, s, 8)
	for i, size := range []int{0, 1, s.most() - 1, s.most(), s.most() + 1, 3*s.most() + 17, 10} {
		data := noise(uint64(i), size)
		saveAt(t, s, indexes[i], data)
		wantSnapshot(t, s, indexes[i], data)
		want := (size + s.most() - 1) / s.most()
		if n := pieces(t, s); n != want {
			t.Errorf("snapshot of %d bytes: %d chunks are there, want %d: former ones are removed", size, n, want)
		}
	}
}

// TestManySaveSnapshots has writers in each other's way, and readers beside them: what is read is whole, and never older than what was saved before.
func TestManySaveSnapshots(t *testing.T) {
	t.Parallel()
	const size = 5000
	b := bucket()
	open := func(t *testing.T) *Store { return openWith(t, Options{Bucket: b, piece: 1000}) }
	s := open(t)
	indexes := appendN(t, s, 24)
	ctx := deadline(t)
	var saved [4]uint64
	var wg, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 4 {
		mine := open(t)
		wg.Go(func() {
			for i := w; i < len(indexes); i += 4 {
				if err := mine.SaveSnapshot(ctx, store.Record{Index: indexes[i], Data: noise(indexes[i], size)}); err != nil {
					t.Errorf("save at %d: %v", indexes[i], err)
				}
				r, err := mine.Snapshot(ctx)
				if err != nil || r.Index < indexes[i] {
					t.Errorf("after saving at %d: snapshot at %d, %v", indexes[i], r.Index, err)
				}
				saved[w] = indexes[i]
			}
		})
	}
	for range 2 {
		mine := open(t)
		readers.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := mine.Snapshot(ctx)
				switch {
				case errors.Is(err, store.ErrNotFound) && last == 0:
				case err != nil:
					t.Errorf("read: %v", err)
					return
				case r.Index < last || !bytes.Equal(r.Data, noise(r.Index, size)):
					t.Errorf("snapshot at %d behind one at %d, or its data is another's", r.Index, last)
					return
				default:
					last = r.Index
				}
			}
		})
	}
	wg.Wait()
	close(done)
	readers.Wait()
	last := indexes[len(indexes)-1]
	wantSnapshot(t, s, last, noise(last, size))
	next := appendN(t, s, 1)[0]
	saveAt(t, s, next, []byte("x"))
	if n := pieces(t, s); n != 1 {
		t.Errorf("%d chunks are there after the last snapshot, want 1", n)
	}
}

// TestHalfASnapshotIsNothing leaves what a writer leaves that dies on the way.
func TestHalfASnapshotIsNothing(t *testing.T) {
	t.Parallel()
	s := openWith(t, Options{Bucket: bucket()})
	indexes := appendN(t, s, 3)
	orphan := func(i int) {
		if _, err := s.swap(deadline(t), s.names.chunk("dead", i), 0, nil, []byte("half")); err != nil {
			t.Fatal(err)
		}
	}
	orphan(0)
	if _, err := s.Snapshot(deadline(t)); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("snapshot: %v, want ErrNotFound", err)
	}
	saveAt(t, s, indexes[0], []byte("whole"))
	orphan(1)
	wantSnapshot(t, s, indexes[0], []byte("whole"))
	saveAt(t, s, indexes[1], []byte("next"))
	wantSnapshot(t, s, indexes[1], []byte("next"))
	if n := pieces(t, s); n != 1 {
		t.Errorf("%d chunks are there, want 1: orphans go with the next snapshot", n)
	}
}

// TestDamagedSnapshots changes what stands there.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Store, pointer) error{
		"a chunk is missing": func(s *Store, p pointer) error {
			return s.purge(context.Background(), s.names.docs(), purgeRequest{Filter: s.names.chunk(p.ID, 1)})
		},
		"a chunk is another": func(s *Store, p pointer) error {
			m, err := s.newest(context.Background(), s.names.chunk(p.ID, 1))
			if err == nil {
				m.data[7] ^= 1
				_, err = s.swap(context.Background(), m.subject, m.seq, nil, m.data)
			}
			return err
		},
		"the pointer is no pointer": func(s *Store, _ pointer) error {
			m, err := s.newest(context.Background(), s.names.snapshot())
			if err == nil {
				_, err = s.swap(context.Background(), m.subject, m.seq, nil, []byte("?"))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openWith(t, Options{Bucket: bucket()})
			saveAt(t, s, appendN(t, s, 1)[0], noise(1, s.most()+8))
			_, p, err := s.pointer(deadline(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(s, p); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Snapshot(deadline(t)); !errors.Is(err, ErrDamaged) {
				t.Fatalf("snapshot: %v, want ErrDamaged", err)
			}
		})
	}
}

// TestLostRecord removes a record between others: a reader must hear that, and not that it was trimmed.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	maker := openWith(t, Options{Bucket: bucket()})
	n := names{bucket()}
	c := maker.logConfig(1)
	c.Name, c.Subjects, c.DenyDelete = n.log(), []string{n.logSubject()}, false // what Rota makes itself lets nobody do what follows
	if err := maker.api(deadline(t), "STREAM.CREATE", c.Name, c, nil, true); err != nil {
		t.Fatal(err)
	}
	s := openWith(t, Options{Bucket: n.bucket})
	indexes := appendN(t, s, 5)
	if err := s.api(deadline(t), "STREAM.MSG.DELETE", n.log(), map[string]any{"seq": indexes[2]}, nil, true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(deadline(t), 0, 10); !errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrTruncated) {
		t.Fatalf("read: %v, want ErrDamaged", err)
	}
	if page, err := s.Read(deadline(t), indexes[2], 10); err != nil || len(page.Records) != 2 {
		t.Fatalf("read behind it: %d records, %v", len(page.Records), err)
	}
	if err := maker.api(deadline(t), "STREAM.MSG.DELETE", maker.names.log(), map[string]any{"seq": appendN(t, maker, 2)[0]}, nil, true); err == nil {
		t.Fatal("a log's stream lets single records be deleted")
	}
}
