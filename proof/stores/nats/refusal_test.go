package nats_test

import (
	"errors"
	"testing"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// putNewest writes over whatever is there.
func putNewest(t *testing.T, s *nats.Store, key, value string) {
	d, err := s.Get(rig.Deadline(t), key)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err == nil {
		_, err = s.Put(rig.Deadline(t), store.Doc{Key: key, Value: []byte(value), Version: d.Version})
	}
	if err != nil {
		t.Errorf("put %q: %v", key, err)
	}
}

// TestReadsAreConfirmed changes a document after a leader has read it: in a cluster that is what a leader answers that
// was replaced.
func TestReadsAreConfirmed(t *testing.T) {
	t.Parallel()
	b, r := bucket(), startRelay(t)
	door, others, s := backdoorTo(t, b), openWith(t, nats.Options{Bucket: b}), r.openInCluster(t, b)
	for _, value := range []string{"first", "second"} { // where there was nothing, and where there was something
		r.onceAt("$JS.API.STREAM.MSG.GET."+door.docs(), func(_ *nc.Msg, pass func() []byte) []byte {
			old := pass()
			putNewest(t, others, "a", value)
			return old
		})
		if d, err := s.Get(rig.Deadline(t), "a"); err != nil || string(d.Value) != value {
			t.Errorf("get: %q, %v; want %q, which was acknowledged before the answer came", d.Value, err, value)
		}
	}
	if there(t, s, "b") {
		t.Error("there is a document that nobody wrote")
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
	must.Succeed(t, must.Err(door.js.CreateStream(rig.Deadline(t), c)))
	s := openWith(t, nats.Options{Bucket: door.bucket})
	indexes := appendN(t, s, 5)
	must.Succeed(t, door.stream(t, door.log()).DeleteMsg(rig.Deadline(t), indexes[2]))
	if _, err := s.Read(rig.Deadline(t), 0, 10); !errors.Is(err, nats.ErrDamaged) ||
		errors.Is(err, store.ErrTruncated) {
		t.Fatalf("read: %v, want ErrDamaged", err)
	}
	if page, err := s.Read(rig.Deadline(t), indexes[2], 10); err != nil || len(page.Records) != 2 {
		t.Fatalf("read after it: %d records, %v", len(page.Records), err)
	}
	if err := made.stream(t, made.log()).DeleteMsg(rig.Deadline(t), appendN(t, maker, 2)[0]); err == nil {
		t.Fatal("a log's stream lets single records be deleted")
	}
}
