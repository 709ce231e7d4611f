package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/etcd"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	server "github.com/rota-run/rota/proof/server/etcd"
	"github.com/rota-run/rota/store"
)

func fill(t *testing.T, s *Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := w; i < n; i += 50 {
				if _, err := s.Append(deadline(t), record); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	ctx := deadline(t)
	exact, over := make([]byte, MaxRecord), make([]byte, MaxRecord+1)
	_, putErr := s.Put(ctx, store.Doc{Key: "a", Value: exact})
	_, appendErr := s.Append(ctx, exact)
	if err := errors.Join(putErr, appendErr); err != nil {
		t.Fatalf("the largest value: %v", err)
	}
	_, putErr = s.Put(ctx, store.Doc{Key: "b", Value: over})
	_, appendErr = s.Append(ctx, over)
	_, sessionErr := openSession(t, s, patience).Put(ctx, store.Doc{Key: "b", Value: over})
	for call, err := range map[string]error{
		"put": putErr, "append": appendErr, "put with session": sessionErr,
		"save": s.SaveSnapshot(ctx, store.Record{Index: 1, Data: make([]byte, MaxSnapshot+1)}),
	} {
		if !errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrTooLarge", call, err)
		}
	}
}

// TestLargeRecords checks that a reader with a high limit does not get everything at once, and that many large records share no request.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	const n = 12
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := s.Append(deadline(t), make([]byte, MaxRecord-100)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := s.Read(deadline(t), 0, 1); err != nil { // from here on it knows how large they are
		t.Fatal(err)
	}
	page, err := s.Read(deadline(t), 0, n)
	if err != nil || len(page.Records) > 8 || page.Head != n {
		t.Fatalf("%d records, head %d, %v", len(page.Records), page.Head, err)
	}
	if got := len(logged(t, s)); got != 1 {
		t.Fatalf("%d different records, want one", got)
	}
}

// TestCallersShareTransactions counts by the server's revision, which grows by one with each transaction.
func TestCallersShareTransactions(t *testing.T) {
	t.Parallel()
	member, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	s := openWith(t, Options{Endpoints: member.Endpoints(), Timeout: 20 * time.Second})
	before, err := s.now(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 1000)
	after, err := s.now(deadline(t))
	if err != nil || after-before > 700 || headOf(t, s) != 1000 {
		t.Fatalf("%d transactions, %v, head %d", after-before, err, headOf(t, s))
	}
	t.Logf("%d transactions for 1000 records of 50 callers", after-before)
}

// TestServerWithFewOperations has a server that takes smaller transactions than others.
func TestServerWithFewOperations(t *testing.T) {
	t.Parallel()
	member, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true, TxnOps: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	s := openWith(t, Options{Endpoints: member.Endpoints(), Timeout: 20 * time.Second})
	fill(t, s, 500)
	if n := len(logged(t, s)[string(record)]); n != 500 {
		t.Fatalf("%d records, want 500", n)
	}
}

func TestTrimInSteps(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	ctx := deadline(t)
	const n = 250
	s.trimStep = 100
	fill(t, s, n)
	if err := s.SaveSnapshot(ctx, store.Record{Index: n - 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Trim(ctx, n); err != nil {
		t.Fatal(err)
	}
	left, err := s.client.Get(ctx, s.keys.record(0), clientv3.WithRange(s.keys.recordsEnd()), clientv3.WithCountOnly())
	if err != nil || left.Count != 1 {
		t.Fatalf("%d records are left, %v; want 1", left.Count, err)
	}
	if _, err := s.Read(ctx, n-2, 10); !errors.Is(err, store.ErrTruncated) {
		t.Errorf("read: error %v, want ErrTruncated", err)
	}
	if page, err := s.Read(ctx, n-1, 10); err != nil || len(page.Records) != 1 {
		t.Errorf("read: %d records, %v; want 1", len(page.Records), err)
	}
}

func snapshotOf(index uint64, size int) store.Record {
	return store.Record{Index: index, Data: bytes.Repeat(fmt.Appendf(nil, "%d,", index), size)}
}

func wantSnapshot(t *testing.T, s *Store, want store.Record) {
	t.Helper()
	got, err := s.Snapshot(deadline(t))
	if err != nil || got.Index != want.Index || !bytes.Equal(got.Data, want.Data) {
		t.Fatalf("snapshot at %d of %d bytes, %v; want %d of %d", got.Index, len(got.Data), err, want.Index, len(want.Data))
	}
}

func chunkCount(t *testing.T, s *Store) int64 {
	t.Helper()
	r, err := s.client.Get(deadline(t), s.keys.chunks(), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return r.Count
}

func TestSnapshotInChunks(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	ctx := deadline(t)
	fill(t, s, 60)
	for i, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 7, 9 * chunkBytes} {
		r := store.Record{Index: uint64(i + 1), Data: bytes.Repeat([]byte{byte(i)}, size)}
		if err := s.SaveSnapshot(ctx, r); err != nil {
			t.Fatal(err)
		}
		wantSnapshot(t, s, r)
		if want := int64(max((size+chunkBytes-1)/chunkBytes, 1)); chunkCount(t, s) != want {
			t.Errorf("%d bytes: %d chunks are there, want %d", size, chunkCount(t, s), want)
		}
	}
}

// TestSnapshotThatWasNotFinished leaves chunks behind, as a process does that is killed between them.
func TestSnapshotThatWasNotFinished(t *testing.T) {
	t.Parallel()
	s := openWith(t, options())
	ctx := deadline(t)
	fill(t, s, 9)
	if err := s.SaveSnapshot(ctx, snapshotOf(3, 10)); err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{3, 5} {
		for n := range 3 {
			if _, err := s.client.Put(ctx, s.keys.chunk(index, "dead", n), "half"); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantSnapshot(t, s, snapshotOf(3, 10))
	if err := s.SaveSnapshot(ctx, snapshotOf(7, 10)); err != nil {
		t.Fatal(err)
	}
	wantSnapshot(t, s, snapshotOf(7, 10))
	if n := chunkCount(t, s); n != 1 {
		t.Errorf("%d chunks are there, want 1", n)
	}
}

// TestSnapshotsAtOnce lets handles save in any order while others read: what is read is whole and never older than before.
func TestSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	o := options()
	main := openWith(t, o)
	fill(t, main, 100)
	stop := make(chan struct{})
	var savers, readers sync.WaitGroup
	for range 4 {
		s := openWith(t, o)
		savers.Go(func() {
			for range 5 {
				index := uint64(1 + rand.IntN(100))
				if err := s.SaveSnapshot(deadline(t), snapshotOf(index, 400_000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		s := openWith(t, o)
		readers.Go(func() { readSnapshots(t, s, stop) })
	}
	savers.Wait()
	close(stop)
	readers.Wait()
	last, err := main.Snapshot(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := main.SaveSnapshot(deadline(t), snapshotOf(100, 1)); err != nil {
		t.Fatal(err)
	}
	if n := chunkCount(t, main); last.Index < 100 && n != 1 {
		t.Errorf("%d chunks are left, want 1", n)
	}
}

func readSnapshots(t *testing.T, s *Store, stop <-chan struct{}) {
	last := uint64(0)
	for {
		select {
		case <-stop:
			return
		default:
		}
		r, err := s.Snapshot(deadline(t))
		if errors.Is(err, store.ErrNotFound) && last == 0 {
			continue
		}
		if err != nil || r.Index < last || !bytes.Equal(r.Data, snapshotOf(r.Index, 400_000).Data) {
			t.Errorf("snapshot at %d after one at %d, %d bytes: %v", r.Index, last, len(r.Data), err)
			return
		}
		last = r.Index
	}
}

// TestDamage changes what is stored, one thing at a time.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(ctx context.Context, s *Store) error
		call func(ctx context.Context, s *Store) error
	}{
		"record is missing": {
			func(ctx context.Context, s *Store) error {
				_, err := s.client.Delete(ctx, s.keys.record(2))
				return err
			},
			func(ctx context.Context, s *Store) error { _, err := s.Read(ctx, 0, 10); return err },
		},
		"newest record is missing": {
			func(ctx context.Context, s *Store) error {
				_, err := s.client.Delete(ctx, s.keys.record(3))
				return err
			},
			func(ctx context.Context, s *Store) error { _, err := s.Read(ctx, 2, 10); return err },
		},
		"foreign key among the records": {
			func(ctx context.Context, s *Store) error {
				_, err := s.client.Put(ctx, s.keys.record(1)+"x", "")
				return err
			},
			func(ctx context.Context, s *Store) error { _, err := s.Read(ctx, 0, 10); return err },
		},
		"head is no number": {
			func(ctx context.Context, s *Store) error { _, err := s.client.Put(ctx, s.keys.head(), "x"); return err },
			func(ctx context.Context, s *Store) error { _, err := s.Append(ctx, nil); return err },
		},
		"chunk is missing": {
			func(ctx context.Context, s *Store) error {
				_, err := s.client.Delete(ctx, s.keys.chunks(), clientv3.WithPrefix())
				return err
			},
			func(ctx context.Context, s *Store) error { _, err := s.Snapshot(ctx); return err },
		},
		"chunk is another": {
			func(ctx context.Context, s *Store) error {
				r, err := s.client.Get(ctx, s.keys.chunks(), clientv3.WithPrefix())
				if err == nil {
					_, err = s.client.Put(ctx, string(r.Kvs[0].Key), "x")
				}
				return err
			},
			func(ctx context.Context, s *Store) error { _, err := s.Snapshot(ctx); return err },
		},
		"snapshot is nonsense": {
			func(ctx context.Context, s *Store) error {
				_, err := s.client.Put(ctx, s.keys.snapshot(), "{")
				return err
			},
			func(ctx context.Context, s *Store) error { return s.Trim(ctx, 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openWith(t, options())
			ctx := deadline(t)
			for range 3 {
				if _, err := s.Append(ctx, record); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(s.SaveSnapshot(ctx, snapshotOf(1, 5)), c.harm(ctx, s)); err != nil {
				t.Fatal(err)
			}
			if err := c.call(ctx, s); !errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("error %v, want ErrDamaged", err)
			}
		})
	}
}

// TestFullServer fills a server up to its quota.
func TestFullServer(t *testing.T) {
	t.Parallel()
	member, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true, Quota: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	o := Options{Endpoints: member.Endpoints(), Timeout: 20 * time.Second}
	s := openWith(t, o)
	ctx := deadline(t)
	if _, err := s.Append(ctx, record); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveSnapshot(ctx, snapshotOf(1, 1)); err != nil {
		t.Fatal(err)
	}
	v, err := s.Put(ctx, store.Doc{Key: "a"})
	head := uint64(1)
	for err == nil {
		var index uint64
		if index, err = s.Append(ctx, make([]byte, MaxRecord)); err == nil {
			head = index
		}
	}
	// The append that crossed the quota was made, and answered like those that were not.
	if got := headOf(t, s); got != head && (got != head+1 || !errors.Is(err, store.ErrUnknown)) {
		t.Errorf("head %d, acknowledged %d: error %v", got, head, err)
	}
	head = headOf(t, s)
	_, appendErr := s.Append(ctx, record)
	_, putErr := s.Put(ctx, store.Doc{Key: "b"})
	_, updateErr := s.Put(ctx, store.Doc{Key: "a", Version: v})
	_, sessionErr := s.OpenSession(ctx, patience)
	for call, err := range map[string]error{
		"append": appendErr, "put": putErr, "update": updateErr, "session": sessionErr,
		"save": s.SaveSnapshot(ctx, snapshotOf(2, 1)), "save in chunks": s.SaveSnapshot(ctx, snapshotOf(2, 2*chunkBytes)),
	} {
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: error %v, want ErrUnavailable alone", call, err)
		}
	}
	if err := errors.Join(s.Delete(ctx, "a", v), s.Trim(ctx, 1)); err != nil {
		t.Errorf("make room: %v", err)
	}
	if _, err := s.Read(ctx, 0, 1); !errors.Is(err, store.ErrTruncated) {
		t.Errorf("read what was trimmed: error %v, want ErrTruncated", err)
	}
	if got := headOf(t, s); got != head {
		t.Errorf("head %d, want %d", got, head)
	}
	if s, err := Open(ctx, o); err == nil {
		s.Close()
		t.Error("a full server was opened for writing")
	} else if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("open: error %v, want ErrUnavailable", err)
	}
	o.ReadOnly = true
	if got := headOf(t, openWith(t, o)); got != head {
		t.Errorf("an observer reads head %d, want %d", got, head)
	}
}

// TestManyRequestsWhileCompacting reads what takes several requests, while the server forgets each instant as soon as it is over.
func TestManyRequestsWhileCompacting(t *testing.T) {
	t.Parallel()
	member, err := server.Start(deadline(t), server.Options{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Stop)
	s := openWith(t, Options{Endpoints: member.Endpoints(), Timeout: 20 * time.Second})
	ctx := longDeadline(t)
	const docs = 3*listPage - 1
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < docs; i += 16 {
				if _, err := s.Put(ctx, store.Doc{Key: fmt.Sprintf("d/%06d", i), Value: record}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	fill(t, s, 1)
	want := snapshotOf(1, 5*chunkBytes)
	if err := s.SaveSnapshot(ctx, want); err != nil {
		t.Fatal(err)
	}
	compacting, stop := context.WithCancel(ctx)
	wg.Go(func() {
		for compacting.Err() == nil {
			r, err := s.client.Put(compacting, "elsewhere", "")
			if err == nil {
				_, _ = s.client.Compact(compacting, r.Header.Revision)
			}
			pause(compacting, firstPause)
		}
	})
	for range 5 {
		if all, err := s.List(ctx, "d/"); err != nil || len(all) != docs {
			t.Errorf("list: %d documents, %v; want %d", len(all), err, docs)
		}
		wantSnapshot(t, s, want)
	}
	stop()
	wg.Wait()
}
