package zookeeper_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/zookeeper"
)

// noise returns n bytes that do not repeat.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// TestSnapshotsInParts saves snapshots of sizes near the limits of a part: those before go.
func TestSnapshotsInParts(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	appendN(t, s, 10)
	for i, size := range []int{0, 1, zookeeper.MaxRecord, zookeeper.MaxRecord + 1, 3*zookeeper.MaxRecord + 17} {
		data := noise(size)
		if err := s.SaveSnapshot(ctx, store.Record{Index: uint64(i + 1), Data: data}); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		got, err := s.Snapshot(ctx)
		if err != nil || got.Index != uint64(i+1) || !bytes.Equal(got.Data, data) {
			t.Fatalf("%d bytes: index %d, %d bytes, %v", size, got.Index, len(got.Data), err)
		}
		want := (size + zookeeper.MaxRecord - 1) / zookeeper.MaxRecord
		if parts := below.parts(t); len(parts) != want {
			t.Errorf("%d bytes: %d parts are there, want %d", size, len(parts), want)
		}
	}
}

// TestDamagedSnapshot changes and deletes a part of a snapshot.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	o, ctx := zookeeper.Options{Servers: servers(t), Path: freshPath(t)}, rig.Deadline(t)
	s, below := openWith(t, o), nodesOf(t, o)
	appendN(t, s, 2)
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: 1, Data: []byte("whole")}))
	parts := below.parts(t)
	if len(parts) != 1 {
		t.Fatalf("parts %q, want one", parts)
	}
	part := parts[0]
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
