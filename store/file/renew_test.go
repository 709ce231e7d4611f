package file

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestARenewalWakesNobody: a renewed heartbeat is there for all who look, and neither the bell nor the look at the
// database's version makes others look. A commit whose bell was not rung does.
func TestARenewalWakesNobody(t *testing.T) {
	t.Parallel()
	dir := place(t)
	owner, other := openIn(t, dir, Options{}), openIn(t, dir, Options{})
	session, err := owner.OpenSession(deadline(t), time.Minute)
	must.Succeed(t, err)
	d := store.Doc{Key: "pulse/a/1", Value: []byte("0")}
	if d.Version, err = session.Put(deadline(t), d); err != nil {
		t.Fatal(err)
	}
	n := newNotifier(other.disk, Options{guard: time.Hour})
	hints := 0
	w := &watch{prefix: "d/pulse/a/", hint: func() { hints++ }}
	n.watches[w] = struct{}{}
	defer n.release()
	hinted := func() bool {
		hints = 0
		n.checkVersion()
		return hints > 0
	}
	hinted()
	before := must.Get(other.bell.look())(t)
	for i := range 5 {
		d.Value = []byte{byte('1' + i)}
		if d.Version, err = store.Renew(deadline(t), session, d); err != nil {
			t.Fatal(err)
		}
		if hinted() {
			t.Fatal("a renewal was taken for a commit whose bell was not rung")
		}
	}
	after, err := other.bell.look()
	if err != nil || before != after {
		t.Errorf("a renewal rang the bell (%v)", err)
	}
	must.Succeed(t, must.Err(owner.Put(deadline(t), store.Doc{Key: "done"})))
	hinted()
	must.Succeed(t, (&rows{owner.disk}).Free(deadline(t), []string{"d/done"}))
	if hinted() {
		t.Error("that a row was freed was taken for a commit whose bell was not rung")
	}
	if got, err := other.Get(deadline(t), d.Key); err != nil || string(got.Value) != "5" || got.Version != d.Version {
		t.Errorf("another handle has %q (%v), want 5", got.Value, err)
	}
	if _, err := store.Renew(deadline(t), session, store.Doc{Key: d.Key, Version: "other"}); err == nil {
		t.Error("a renewal of another version was taken")
	}
	o := newOp(0, func(tx *tx) error { _, err := tx.exec(`UPDATE docs SET name = 'x'`); return err })
	if err := owner.do(context.Background(), o); err != nil || !hinted() {
		t.Errorf("a commit whose bell was not rung went unnoticed (%v)", err)
	}
}
