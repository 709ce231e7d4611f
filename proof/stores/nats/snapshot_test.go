package nats_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

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
			t.Errorf("snapshot of %d bytes: %d parts are there, want %d: former ones are removed", size, n, want)
		}
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
