package etcd_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/etcd"
)

func snapshotOf(index uint64, size int) store.Record {
	return store.Record{Index: index, Data: bytes.Repeat(fmt.Appendf(nil, "%d,", index), size)}
}

func save(t *testing.T, s *etcd.Store, r store.Record) {
	t.Helper()
	must.Succeed(t, s.SaveSnapshot(rig.Deadline(t), r))
}

func wantSnapshot(t *testing.T, s *etcd.Store, want store.Record) {
	t.Helper()
	got, err := s.Snapshot(rig.Deadline(t))
	if err != nil || got.Index != want.Index || !bytes.Equal(got.Data, want.Data) {
		t.Fatalf("snapshot at %d of %d bytes, %v; want %d of %d", got.Index, len(got.Data), err, want.Index, len(want.Data))
	}
}

func TestSnapshotInChunks(t *testing.T) {
	t.Parallel()
	o := options()
	s, raw := openWith(t, o), rawOf(t, o)
	fill(t, s, 60)
	for i, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3*chunkBytes + 7, 9 * chunkBytes} {
		r := store.Record{Index: uint64(i + 1), Data: bytes.Repeat([]byte{byte(i)}, size)}
		save(t, s, r)
		wantSnapshot(t, s, r)
		if got, want := raw.count(t, raw.chunks()), int64((size+chunkBytes-1)/chunkBytes); got != want {
			t.Errorf("%d bytes: there are %d chunks, want %d", size, got, want)
		}
	}
}

// TestSnapshotThatWasNotFinished leaves chunks, as a process does that is killed before it has written the last.
func TestSnapshotThatWasNotFinished(t *testing.T) {
	t.Parallel()
	o := options()
	s, raw := openWith(t, o), rawOf(t, o)
	fill(t, s, 9)
	save(t, s, snapshotOf(3, 10))
	for _, index := range []uint64{3, 5} {
		for n := range 3 {
			raw.put(t, raw.deadChunk(index, n), "half")
		}
	}
	wantSnapshot(t, s, snapshotOf(3, 10))
	save(t, s, snapshotOf(7, 10))
	wantSnapshot(t, s, snapshotOf(7, 10))
	if n := raw.count(t, raw.chunks()); n != 1 {
		t.Errorf("there are %d chunks, want 1", n)
	}
}

// TestSnapshotsAtOnce lets handles save in any order while others read: what is read is whole and never older than before.
func TestSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	o := options()
	main, raw := openWith(t, o), rawOf(t, o)
	fill(t, main, 100)
	stop := make(chan struct{})
	var savers, readers sync.WaitGroup
	for range 4 {
		s := openWith(t, o)
		savers.Go(func() {
			for range 5 {
				index := uint64(1 + rand.IntN(100))
				if err := s.SaveSnapshot(rig.Deadline(t), snapshotOf(index, 400_000)); err != nil {
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
	last, err := main.Snapshot(rig.Deadline(t))
	must.Succeed(t, err)
	save(t, main, snapshotOf(100, 1))
	if n := raw.count(t, raw.chunks()); last.Index < 100 && n != 1 {
		t.Errorf("%d chunks are left, want 1", n)
	}
}

func readSnapshots(t *testing.T, s *etcd.Store, stop <-chan struct{}) {
	last := uint64(0)
	for {
		select {
		case <-stop:
			return
		default:
		}
		r, err := s.Snapshot(rig.Deadline(t))
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
