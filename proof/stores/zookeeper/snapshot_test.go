package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// partBytes is the most bytes of a part of a snapshot.
const partBytes = 768 << 10

// partsOf returns how many parts a snapshot has.
func partsOf(bytes int) int { return (bytes + partBytes - 1) / partBytes }

// noise returns n bytes that do not repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// TestSnapshotsInParts saves snapshots of sizes near the limits of a part.
func TestSnapshotsInParts(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	appendN(t, s, 10)
	for i, size := range []int{0, 1, partBytes - 1, partBytes, partBytes + 1, 3*partBytes + 17} {
		data := noise(size)
		if err := s.SaveSnapshot(ctx, store.Record{Index: uint64(i + 1), Data: data}); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		got, err := s.Snapshot(ctx)
		if err != nil || got.Index != uint64(i+1) || !bytes.Equal(got.Data, data) {
			t.Fatalf("%d bytes: index %d, %d bytes, %v", size, got.Index, len(got.Data), err)
		}
		if parts := below.names(t, snapNode); len(parts) != partsOf(size) {
			t.Errorf("%d bytes: %d parts are there, want %d", size, len(parts), partsOf(size))
		}
	}
}

// TestHalfWrittenSnapshot leaves what writers leave that die before they set the pointer.
func TestHalfWrittenSnapshot(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	appendN(t, s, 10)
	for _, index := range []uint64{4, 9} {
		for part := range 2 {
			below.create(t, below.below(fmt.Sprintf("%s/%020d-abandoned%07d-%06d", snapNode, index, index, part)), noise(100), zk.FlagPersistent)
		}
	}
	if _, err := s.Snapshot(ctx); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a snapshot without a pointer: %v, want ErrNotFound", err)
	}
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: 5, Data: []byte("five")}))
	got, err := s.Snapshot(ctx)
	if err != nil || string(got.Data) != "five" {
		t.Errorf("snapshot: %+v, %v", got, err)
	}
	names := below.names(t, snapNode)
	for _, name := range names {
		if strings.HasPrefix(name, "00000000000000000004-") {
			t.Errorf("%s is still there: no pointer will ever name it", name)
		}
	}
	if len(names) != 3 { // its own, and two of index 9, whose writer may still be at it
		t.Errorf("%d parts are there, want 3: %q", len(names), names)
	}
}

// TestDamagedSnapshot changes and deletes a part of a snapshot.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	appendN(t, s, 2)
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: 1, Data: []byte("whole")}))
	names := below.names(t, snapNode)
	if len(names) != 1 {
		t.Fatalf("parts %q, want one", names)
	}
	part := below.below(snapNode + "/" + names[0])
	if _, err := below.Set(part, []byte("wrong"), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(ctx); !errors.Is(err, zookeeper.ErrDamaged) {
		t.Errorf("a part was changed: %v, want ErrDamaged", err)
	}
	must.Succeed(t, below.Delete(part, -1))
	if _, err := s.Snapshot(ctx); !errors.Is(err, zookeeper.ErrDamaged) {
		t.Errorf("a part was deleted: %v, want ErrDamaged", err)
	}
	if err := s.SaveSnapshot(ctx, store.Record{Index: 2, Data: []byte("next")}); err != nil {
		t.Errorf("the next snapshot: %v", err)
	}
}

// TestWhyASnapshotIsInDoubt breaks the connection under the last step, which sets the pointer, and ends the call while it waits for another connection.
func TestWhyASnapshotIsInDoubt(t *testing.T) {
	t.Parallel()
	o := zookeeper.Options{Servers: servers(t), Path: freshPath(t), Session: time.Minute}
	s, link, tap := openTapped(t, o)
	appendN(t, s, 1)
	tap.on(opSetData, link.Stall)
	before := tap.counts()
	ctx, giveUp := context.WithCancelCause(rig.Deadline(t))
	defer giveUp(nil)
	given := make(chan error, 1)
	go func() { given <- s.SaveSnapshot(ctx, store.Record{Index: 1, Data: []byte("one")}) }()
	rig.Eventually(t, "the pointer is on its way", func() bool { return tap.since(before)[opSetData] > 0 && link.Stats().HeldRequests > 0 })
	link.Refuse()
	link.Cut()
	rig.Eventually(t, "attempts to connect have failed", func() bool { return tap.refusals() > 1 })
	giveUp(errEnough)
	if err := <-given; !errors.Is(err, store.ErrUnknown) || !errors.Is(err, errEnough) {
		t.Errorf("error %v, want ErrUnknown and the reason", err)
	}
	must.Succeed(t, link.Heal())
}

// TestSnapshotsSavedAtOnce reads while several handles save: each snapshot that is read is whole, and not older than the one before.
func TestSnapshotsSavedAtOnce(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	reader := openWith(t, o)
	appendN(t, reader, 40)
	var wg sync.WaitGroup
	for w := range 4 {
		s := openWith(t, o)
		wg.Go(func() {
			for i := w; i < 40; i += 2 { // each index by two handles
				r := store.Record{Index: uint64(i + 1), Data: bytes.Repeat([]byte{byte(i + 1)}, 1000)}
				if err := s.SaveSnapshot(ctx, r); err != nil {
					t.Errorf("save at %d: %v", r.Index, err)
				}
			}
		})
	}
	saved := make(chan struct{})
	go func() { wg.Wait(); close(saved) }()
	last := uint64(0)
	for over := false; !over; {
		select {
		case <-saved:
			over = true
		default:
		}
		got, err := reader.Snapshot(ctx)
		if errors.Is(err, store.ErrNotFound) && last == 0 {
			continue
		}
		if err != nil || got.Index < last || !bytes.Equal(got.Data, bytes.Repeat([]byte{byte(got.Index)}, 1000)) {
			t.Fatalf("snapshot at %d after %d: %d bytes, %v", got.Index, last, len(got.Data), err)
		}
		last = got.Index
	}
	if last != 40 {
		t.Errorf("the newest snapshot is at %d, want 40", last)
	}
	if parts := nodesOf(t, o).names(t, snapNode); len(parts) != 1 {
		t.Errorf("parts %q, want one", parts)
	}
}
