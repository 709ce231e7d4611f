package nats_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// noise is data that does not repeat itself.
func noise(seed uint64, size int) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data)
	return data
}

func appendN(t *testing.T, s *nats.Store, n int) []uint64 {
	t.Helper()
	indexes := make([]uint64, n)
	for i := range indexes {
		var err error
		if indexes[i], err = s.Append(rig.Deadline(t), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	return indexes
}

func saveAt(t *testing.T, s *nats.Store, index uint64, data []byte) {
	t.Helper()
	must.Succeed(t, s.SaveSnapshot(rig.Deadline(t), store.Record{Index: index, Data: data}))
}

func wantSnapshot(t *testing.T, s *nats.Store, index uint64, data []byte) {
	t.Helper()
	r, err := s.Snapshot(rig.Deadline(t))
	if err != nil || r.Index != index || !bytes.Equal(r.Data, data) {
		t.Fatalf("snapshot at %d with %d bytes, %v; want %d and %d", r.Index, len(r.Data), err, index, len(data))
	}
}

// smallMessages runs a server whose messages have room for a chunk of so many bytes.
func smallMessages(t *testing.T, chunk int32) string {
	t.Helper()
	return bare(t, &server.Options{JetStream: true, MaxPayload: headerRoom + chunk})
}

func TestSnapshotsGreaterThanAMessage(t *testing.T) {
	t.Parallel()
	b := bucket()
	s, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	indexes := appendN(t, s, 8)
	for i, size := range []int{0, 1, most - 1, most, most + 1, 3*most + 17, 10} {
		data := noise(uint64(i), size)
		saveAt(t, s, indexes[i], data)
		wantSnapshot(t, s, indexes[i], data)
		want := (size + most - 1) / most
		if n := door.chunks(t); n != want {
			t.Errorf("snapshot of %d bytes: %d chunks are there, want %d: former ones are removed", size, n, want)
		}
	}
}

// TestNoRoomForChunks saves where the server takes messages that have room for headers alone.
func TestNoRoomForChunks(t *testing.T) {
	t.Parallel()
	s := openWith(t, nats.Options{URLs: []string{smallMessages(t, 0)}})
	if err := s.SaveSnapshot(rig.Deadline(t), store.Record{Index: 1, Data: []byte("x")}); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("save: error %v, want ErrTooLarge", err)
	}
}

// TestManySaveSnapshots has several writers and readers at a time: what is read is whole, and never older than what was saved before.
func TestManySaveSnapshots(t *testing.T) {
	t.Parallel()
	const size = 5000
	url, b := smallMessages(t, 1000), bucket()
	door := backdoorTo(t, b, url)
	open := func(t *testing.T) *nats.Store { return openWith(t, nats.Options{URLs: []string{url}, Bucket: b}) }
	s := open(t)
	indexes := appendN(t, s, 24)
	ctx := rig.Deadline(t)
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
					t.Errorf("snapshot at %d after one at %d, or its data is another's", r.Index, last)
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
	if n := door.chunks(t); n != 1 {
		t.Errorf("%d chunks are there after the last snapshot, want 1", n)
	}
}

// TestHalfASnapshotIsNothing leaves the chunks of a writer that died before it was done.
func TestHalfASnapshotIsNothing(t *testing.T) {
	t.Parallel()
	b := bucket()
	s, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	indexes := appendN(t, s, 3)
	door.write(t, door.subject("chunk.dead.0"), "half")
	if _, err := s.Snapshot(rig.Deadline(t)); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("snapshot: %v, want ErrNotFound", err)
	}
	saveAt(t, s, indexes[0], []byte("whole"))
	door.write(t, door.subject("chunk.dead.1"), "half")
	wantSnapshot(t, s, indexes[0], []byte("whole"))
	saveAt(t, s, indexes[1], []byte("next"))
	wantSnapshot(t, s, indexes[1], []byte("next"))
	if n := door.chunks(t); n != 1 {
		t.Errorf("%d chunks are there, want 1: orphans go with the next snapshot", n)
	}
}

// TestDamagedSnapshots changes what is stored.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, d backdoor, chunk string){
		"a chunk is missing": func(t *testing.T, d backdoor, chunk string) {
			must.Succeed(t, d.stream(t, d.docs()).Purge(rig.Deadline(t), jetstream.WithPurgeSubject(chunk)))
		},
		"a chunk is another": func(t *testing.T, d backdoor, chunk string) {
			data := d.newest(t, chunk).Data
			data[7] ^= 1
			d.write(t, chunk, string(data))
		},
		"the pointer is no pointer": func(t *testing.T, d backdoor, _ string) { d.write(t, d.subject("snapshot"), "?") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bucket()
			s, door := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
			saveAt(t, s, appendN(t, s, 1)[0], noise(1, most+8))
			var pointer struct{ ID string }
			must.Succeed(t, json.Unmarshal(door.newest(t, door.subject("snapshot")).Data, &pointer))
			spoil(t, door, door.subject("chunk."+pointer.ID+".1"))
			if _, err := s.Snapshot(rig.Deadline(t)); !errors.Is(err, nats.ErrDamaged) {
				t.Fatalf("snapshot: %v, want ErrDamaged", err)
			}
		})
	}
}

// TestLostRecord removes a record between others: a reader must get an error that does not say that it was trimmed.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	b := bucket()
	maker, made := openWith(t, nats.Options{Bucket: b}), backdoorTo(t, b)
	door := backdoorTo(t, bucket())
	c := made.stream(t, made.log()).CachedInfo().Config
	c.Name, c.Subjects, c.DenyDelete = door.log(), []string{door.logSubject()}, false // a stream that the store itself makes refuses what follows
	if _, err := door.js.CreateStream(rig.Deadline(t), c); err != nil {
		t.Fatal(err)
	}
	s := openWith(t, nats.Options{Bucket: door.bucket})
	indexes := appendN(t, s, 5)
	must.Succeed(t, door.stream(t, door.log()).DeleteMsg(rig.Deadline(t), indexes[2]))
	if _, err := s.Read(rig.Deadline(t), 0, 10); !errors.Is(err, nats.ErrDamaged) || errors.Is(err, store.ErrTruncated) {
		t.Fatalf("read: %v, want ErrDamaged", err)
	}
	if page, err := s.Read(rig.Deadline(t), indexes[2], 10); err != nil || len(page.Records) != 2 {
		t.Fatalf("read after it: %d records, %v", len(page.Records), err)
	}
	if err := made.stream(t, made.log()).DeleteMsg(rig.Deadline(t), appendN(t, maker, 2)[0]); err == nil {
		t.Fatal("a log's stream lets single records be deleted")
	}
}
