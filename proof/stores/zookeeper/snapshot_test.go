package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	. "github.com/rota-run/rota/store/zookeeper"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func TestSnapshotsInParts(t *testing.T) {
	t.Parallel()
	s, ctx := openWith(t, Options{Servers: servers(t), Path: freshPath(t)}), deadline(t)
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
		names, err := s.children(ctx, s.at(snapNode))
		if err != nil || len(names) != partsOf(size) {
			t.Errorf("%d bytes: %d parts are there, %v; want %d", size, len(names), err, partsOf(size))
		}
	}
}

// TestHalfWrittenSnapshot leaves what writers leave who die before they set the pointer.
func TestHalfWrittenSnapshot(t *testing.T) {
	t.Parallel()
	s, ctx := openWith(t, Options{Servers: servers(t), Path: freshPath(t)}), deadline(t)
	appendN(t, s, 10)
	for _, index := range []uint64{4, 9} {
		p := pointer{index: index, name: newLife(), parts: 2}
		if err := s.writeParts(ctx, p, noise(partBytes+1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Snapshot(ctx); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a snapshot without a pointer: %v, want ErrNotFound", err)
	}
	if err := s.SaveSnapshot(ctx, store.Record{Index: 5, Data: []byte("five")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Snapshot(ctx)
	if err != nil || string(got.Data) != "five" {
		t.Errorf("snapshot: %+v, %v", got, err)
	}
	names, err := s.children(ctx, s.at(snapNode))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "00000000000000000004-") {
			t.Errorf("%s is still there: no pointer will ever name it", name)
		}
	}
	if len(names) != 3 { // its own, and two of index 9, whose writer may still be at it
		t.Errorf("%d parts are there, want 3: %q", len(names), names)
	}
}

func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	s, ctx := openWith(t, Options{Servers: servers(t), Path: freshPath(t)}), deadline(t)
	appendN(t, s, 2)
	c := raw(t, s.o.Servers)
	part := func() string {
		names, err := s.children(ctx, s.at(snapNode))
		if err != nil || len(names) == 0 {
			t.Fatalf("parts %q, %v", names, err)
		}
		return s.at(snapNode, names[0])
	}
	if err := s.SaveSnapshot(ctx, store.Record{Index: 1, Data: []byte("whole")}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(part(), []byte("wrong"), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(ctx); !errors.Is(err, ErrDamaged) {
		t.Errorf("a part was changed: %v, want ErrDamaged", err)
	}
	if err := c.Delete(part(), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(ctx); !errors.Is(err, ErrDamaged) {
		t.Errorf("a part was deleted: %v, want ErrDamaged", err)
	}
	if err := s.SaveSnapshot(ctx, store.Record{Index: 2, Data: []byte("next")}); err != nil {
		t.Errorf("the next snapshot: %v", err)
	}
}

// TestWhyASnapshotIsInDoubt loses the answer of the last step, and ends the call while it waits for another connection.
func TestWhyASnapshotIsInDoubt(t *testing.T) {
	t.Parallel()
	o := Options{Servers: servers(t), Path: freshPath(t), Session: time.Minute}
	s, link := openThrough(t, o)
	appendN(t, s, 1)
	old, err := s.freshPointer(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	link.Stall()
	ctx, giveUp := context.WithCancelCause(deadline(t))
	defer giveUp(nil)
	given := make(chan error, 1)
	go func() { given <- s.point(ctx, pointer{index: 1, name: newLife()}, old) }()
	until(t, "the request was sent", func() bool { return s.link.pending() > 0 })
	link.Refuse()
	link.Cut()
	until(t, "attempts to connect have failed", func() bool { return s.link.refused() })
	giveUp(errEnough)
	if err := <-given; !errors.Is(err, store.ErrUnknown) || !errors.Is(err, errEnough) {
		t.Errorf("error %v, want ErrUnknown and the reason", err)
	}
	if err := link.Heal(); err != nil {
		t.Fatal(err)
	}
}

// refused tells whether the newest attempt to connect met nobody.
func (l *link) refused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Is(l.lastErr, syscall.ECONNREFUSED)
}

// TestSnapshotsSavedAtOnce reads while several handles save: what is read is always a whole one, and never older than one seen before.
func TestSnapshotsSavedAtOnce(t *testing.T) {
	t.Parallel()
	o, ctx := Options{Servers: servers(t), Path: freshPath(t)}, deadline(t)
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
		t.Errorf("the newest snapshot stands at %d, want 40", last)
	}
	names, err := reader.children(ctx, reader.at(snapNode))
	if err != nil || len(names) != 1 {
		t.Errorf("parts %q, %v; want one", names, err)
	}
}
