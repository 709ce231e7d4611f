package nats_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	nc "github.com/nats-io/nats.go"

	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// TestRefusedWrites has a leader that was replaced refuse a write, as it may before it notices, and looks what the handle makes of that.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		done   bool  // by the new leader
		others bool  // write too
		away   bool  // nobody confirms the refusal
		want   error // nil: done
	}{
		"done":                         {done: true},
		"not done yet":                 {}, // it is sent again
		"somebody else was first":      {others: true, want: store.ErrConflict},
		"done perhaps, others after":   {done: true, others: true, want: store.ErrUnknown},
		"done, and nobody confirms it": {done: true, away: true, want: store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := bucket(), startRelay(t)
			door, others, s := backdoorTo(t, b), openWith(t, nats.Options{Bucket: b}), r.openInCluster(t, b)
			older := mustPut(t, others, "a", "older", "")
			first := mustPut(t, others, "a", "first", older)
			lost, refused := atomic.Bool{}, false
			r.with(func(m *nc.Msg, pass func() []byte) []byte {
				switch {
				case refused && c.away:
					lost.Store(true)
					return nil
				case refused || m.Subject != door.doc("a"):
					return pass()
				}
				refused = true
				if c.done {
					pass()
				}
				if c.others {
					putNewest(t, others, "a", "theirs")
				}
				return fmt.Appendf(nil, `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: %s"},"stream":%q,"seq":0}`, older, door.docs())
			})
			v, err := s.Put(stoppedWhen(t, lost.Load), store.Doc{Key: "a", Value: []byte("mine"), Version: first})
			if !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) != errors.Is(c.want, store.ErrUnknown) {
				t.Fatalf("put: error %v, want %v", err, c.want)
			}
			if err == nil {
				wantValue(t, others, "a", "mine", v)
			}
		})
	}
}

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

// TestReadsAreConfirmed changes a document after a leader has read it: in a cluster that is what a leader answers that was replaced.
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

// TestAShorterLogIsNotBelieved reads a log of which more was seen, as a leader answers that was replaced.
func TestAShorterLogIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := startRelay(t)
	s := r.openInCluster(t, bucket())
	read := func() (store.Page, error) { return s.Read(rig.Deadline(t), 0, 10) }
	var before []answerer
	for n := range uint64(3) {
		if page, err := read(); err != nil || page.Head != n {
			t.Fatalf("read: head %d, %v; want %d", page.Head, err, n)
		}
		before = append(before, r.past())
		appendN(t, s, 1)
	}
	for n, past := range before {
		r.with(past)
		if page, err := read(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("read of a log with %d records that had 3: head %d, %v; want ErrUnavailable", n, page.Head, err)
		}
	}
	r.with(faithful)
	if page, err := read(); err != nil || page.Head != 3 {
		t.Errorf("read: head %d, %v; want 3", page.Head, err)
	}
}
