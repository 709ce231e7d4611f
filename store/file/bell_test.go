package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestTouchedBy: a watch is hinted at what it is about. A renewal of one member's heartbeat is not a hint for those who
// watch another one, and a saved position is none for those who watch all heartbeats.
func TestTouchedBy(t *testing.T) {
	t.Parallel()
	doc := func(key string) (p numbers) {
		var changed slots
		changed.doc("d/" + key)
		for i, is := range changed.of {
			if is {
				p.of[i] = 1
			}
		}
		for i, is := range changed.families {
			if is {
				p.families[i] = 1
			}
		}
		return p
	}
	var log numbers
	log.of[logSlot] = 1
	for _, c := range []struct {
		prefix, key string
		want        bool
	}{
		{"pulse/a/", "pulse/a/1-0", true}, {"pulse/a/", "pulse/b/1-0", false}, {"pulse/", "pulse/b/1-0", true},
		{"", "pulse/b/1-0", true},
		{"pulse/a/1/", "pulse/a/1/x", true}, {"a/", "a/b", true}, {"", "a", true}, {"pulse/", "position/b", false},
		{"position/", "pulse/a/1-0", false},
	} {
		w := &watch{prefix: "d/" + c.prefix}
		if got := w.touchedBy(numbers{}, doc(c.key)); got != c.want {
			t.Errorf("prefix %q, key %q: touched %v", c.prefix, c.key, got)
		}
		if w.touchedBy(numbers{}, log) {
			t.Errorf("prefix %q: touched by the log", c.prefix)
		}
	}
	if !(&watch{log: true}).touchedBy(numbers{}, log) || (&watch{log: true}).touchedBy(numbers{}, doc("a/b")) {
		t.Error("a watch of the log is about the log alone")
	}
	// Processes of several versions of this program share a directory.
	if got := [3]int{docSlot("pulse/a/1-0"), docSlot("x"), family("pulse/a/1-0")}; got != [3]int{39, 57, 30} {
		t.Errorf("another version looks at other slots: %d", got)
	}
	shared := map[int]int{}
	for i := range 100 {
		shared[docSlot(fmt.Sprintf("pulse/m%03d/x", i))]++
	}
	for slot, n := range shared {
		if n > 8 {
			t.Errorf("%d of 100 members share slot %d", n, slot)
		}
	}
}

// TestRing: what is rung changes, what is not stays, and so does the mark between the numbers.
func TestRing(t *testing.T) {
	t.Parallel()
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	b := must.Get(openBell(root, Options{}.withDefaults()))(t)
	defer b.close()
	must.Succeed(t, b.setMark(7))
	keys := []string{"position/a", "position/b", "pulse/a/1", "zz"}
	for n := range 1 << len(keys) {
		var changed slots
		changed.of[logSlot] = n%3 == 0
		for i, key := range keys {
			if n>>i&1 == 1 {
				changed.doc(key)
			}
		}
		before, now := rung(t, b, changed)
		for i, is := range changed.of {
			if is != (before.of[i] != now.of[i]) {
				t.Errorf("%b: slot %d changed: %v, want %v", n, i, !is, is)
			}
		}
		for i, is := range changed.families {
			if is != (before.families[i] != now.families[i]) {
				t.Errorf("%b: family %d changed: %v, want %v", n, i, !is, is)
			}
		}
	}
	if mark, err := b.mark(); err != nil || mark != 7 {
		t.Errorf("mark %d, %v", mark, err)
	}
	must.Succeed(t, b.close())
	if must.Err(b.mark()) == nil || must.Err(b.renewed()) == nil {
		t.Error("what cannot be read is there")
	}
}

// rung is what the bell showed before and after it was rung.
func rung(t *testing.T, b *bell, changed slots) (before, now numbers) {
	t.Helper()
	before, err := b.look()
	if err == nil {
		err = b.ring(changed)
	}
	if err == nil {
		now, err = b.look()
	}
	must.Succeed(t, err)
	return before, now
}

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
	d0, ctx := &rows{owner.disk}, deadline(t)
	must.Succeed(t, must.Err(d0.OpenJournal(ctx, "y", true)))
	hinted()
	for what, quiet := range map[string]func() error{ // order-free: each has a name of its own
		"a row is freed":   func() error { return d0.Free(ctx, []string{"d/done"}) },
		"a log is made":    func() error { return must.Err(d0.OpenJournal(ctx, "x", true)) },
		"a log is dropped": func() error { return d0.DropJournal(ctx, "y") },
	} {
		if must.Succeed(t, quiet()); hinted() {
			t.Errorf("%s: that was taken for a commit whose bell was not rung", what)
		}
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

// TestMark: a mark that is not there, is half there, or was never written refuses nothing.
func TestMark(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := openIn(t, dir, Options{})
	fillLog(t, s, 3, 10)
	if got, err := s.bell.mark(); err != nil || got != 3 {
		t.Fatalf("mark %d, %v; want 3", got, err)
	}
	for _, raw := range [][]byte{{}, make([]byte, markSize), binary.LittleEndian.AppendUint64(nil, 9),
		[]byte(strings.Repeat(strconv.Itoa(7), markSize))} {
		must.Succeed(t, os.Truncate(filepath.Join(dir, bellName), markAt))
		must.Succeed(t, must.Err(s.bell.file.WriteAt(raw, markAt)))
		if got, err := s.bell.mark(); err != nil || got != 0 {
			t.Errorf("mark of % x: %d, %v; want none", raw, got, err)
		}
	}
	fillLog(t, s, 1, 10)
	if got, err := s.bell.mark(); err != nil || got != 4 {
		t.Errorf("mark %d, %v; want 4", got, err)
	}
	must.Succeed(t, s.bell.setMark(1))
	if err := s.unused(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a store without tables, of which one record was acknowledged: %v", err)
	}
}
