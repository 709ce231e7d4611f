package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
)

// DocsFaults is the suite of store.Docs when the path to the server breaks.
func DocsFaults[S store.Docs](t *testing.T, open OpenThrough[S]) {
	runFaultRules(t, open, []faultRule[S]{
		{"cut in the middle", docsCut[S]},
		{"works again", docsAgain[S]},
		{"linearizable", docsLinearizableFaults[S]},
	})
}

// change is a write of one document whose outcome is looked into.
type change struct {
	op, key string
	before  store.Doc     // as the witness saw it; no version: it does not exist
	value   string        // that is put; "" for a delete
	session store.Session // that writes it, if one does
	version store.Version
}

func (c *change) String() string { return c.op + " of " + c.key }

// changes are one of each kind, on keys of their own. The values fill more than one packet's header.
func changes[S store.Docs](t *testing.T, b *bench[S], tag string) []*change {
	t.Helper()
	var all []*change
	for _, op := range []string{"create", "update", "delete"} {
		c := &change{op: op, key: "f/" + op + "/" + tag, value: strings.Repeat(op+" ", 300)}
		if op != "create" {
			v := put(t, b.ctx, b.witness, c.key, "before", "")
			c.before = store.Doc{Key: c.key, Value: []byte("before"), Version: v}
		}
		if op == "delete" {
			c.value = ""
		}
		all = append(all, c)
	}
	return all
}

// do makes the change.
func (c *change) do(ctx context.Context, s store.Docs) (err error) {
	if c.op == "delete" {
		return s.Delete(ctx, c.key, c.before.Version)
	}
	by := putter(s)
	if c.session != nil {
		by = c.session
	}
	c.version, err = by.Put(ctx, store.Doc{Key: c.key, Value: []byte(c.value), Version: c.before.Version})
	return err
}

// look reports whether the change has happened, as the witness sees it; anything but before and after is a failure.
func (c *change) look(t *testing.T, ctx context.Context, witness store.Docs) (happened bool, now store.Doc) {
	t.Helper()
	now, err := witness.Get(ctx, c.key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get %q by the witness: %v", c.key, err)
	}
	switch {
	case err != nil && c.op == "delete":
		return true, store.Doc{}
	case err != nil && c.before.Version == "":
		return false, store.Doc{}
	case err == nil && now.Version == c.before.Version:
		return false, now
	case err == nil && c.op != "delete" && string(now.Value) == c.value:
		return true, now
	}
	t.Fatalf("%v: the witness sees %.30q at %q, %v: neither what was nor what was to be", c, now.Value, now.Version, err)
	return false, store.Doc{}
}

// verify holds what the call said against what the witness sees, then closes the document to writes that come late. It returns what it saw.
func (c *change) verify(t *testing.T, ctx context.Context, witness store.Docs, err error) string {
	t.Helper()
	said := judge(t, c.String(), err)
	happened, now := c.look(t, ctx, witness)
	switch {
	case said == done && !happened:
		t.Errorf("%v: it was acknowledged and has not happened", c)
	case said == done && c.op != "delete" && now.Version != c.version:
		t.Errorf("%v: acknowledged at %q, the witness sees %q", c, c.version, now.Version)
	case said == notDone && happened:
		t.Errorf("%v: error %v says that it was not done, but it was", c, err)
	}
	_, fence := witness.Put(ctx, store.Doc{Key: c.key, Value: []byte("fence"), Version: now.Version})
	if errors.Is(fence, store.ErrConflict) && said == unknown && !happened { // it came right now
		_, now = c.look(t, ctx, witness)
		_, fence = witness.Put(ctx, store.Doc{Key: c.key, Value: []byte("fence"), Version: now.Version})
	}
	if fence != nil {
		t.Errorf("%v (%v): the document changed again behind the witness: %v", c, err, fence)
	}
	if said == unknown && happened {
		return "unknown and done"
	}
	return [...]string{done: "done", notDone: "not done", unknown: "unknown and not done"}[said]
}

// fenced wants that nothing came behind the witness's last write.
func (c *change) fenced(t *testing.T, ctx context.Context, witness store.Docs) {
	t.Helper()
	if d, err := witness.Get(ctx, c.key); err != nil || string(d.Value) != "fence" {
		t.Errorf("%v: at the end %.30q, %v; want what the witness wrote last", c, d.Value, err)
	}
}

// warm makes sure that the handle is connected.
func (b *bench[S]) warm(t *testing.T, s store.Docs) {
	t.Helper()
	again(t, b.ctx, "get", func(ctx context.Context) error {
		_, err := s.Get(ctx, "f/none")
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

func docsCut[S store.Docs](t *testing.T, b *bench[S]) { cutEach(t, b, changes[S]) }

// cutEach cuts changes at each moment.
func cutEach[S store.Docs](t *testing.T, b *bench[S], changes func(t *testing.T, b *bench[S], tag string) []*change) {
	t.Helper()
	var all []*change
	outcomes := map[string]int{}
	for _, m := range moments() {
		for _, c := range changes(t, b, m.tag()) {
			b.warm(t, b.through)
			m.arm(b.link)
			err := b.begin(func(ctx context.Context) error { return c.do(ctx, b.through) }).end(t, c.String()+" cut at "+m.name)
			b.heal(t)
			b.warm(t, b.through)
			outcomes[c.verify(t, b.ctx, b.witness, err)]++
			all = append(all, c)
		}
	}
	t.Log(outcomes)
	for _, c := range all {
		c.fenced(t, b.ctx, b.witness)
	}
}

// during does something while the link is broken, and returns when it is whole again: what was held may happen then.
func during[S store.Docs](t *testing.T, b *bench[S], o outage, do func()) {
	t.Helper()
	b.warm(t, b.through)
	o.make(b.link)
	do()
	b.heal(t)
	b.warm(t, b.through)
}

// behind makes a change while the link is broken, and holds what it said against what the witness sees.
func behind[S store.Docs](t *testing.T, b *bench[S], o outage, c *change) {
	t.Helper()
	var err error
	during(t, b, o, func() {
		err = b.begin(func(ctx context.Context) error { return c.do(ctx, b.through) }).end(t, c.String())
		if err == nil {
			t.Errorf("%v while the link is %s: no error", c, o.name)
		}
	})
	c.verify(t, b.ctx, b.witness, err)
	c.fenced(t, b.ctx, b.witness)
}

// docsAgain breaks the link in all ways, one after the other: a change says what came of it, the answer to who asks for
// what exists may be missing and not wrong, and the same handle works after each.
func docsAgain[S store.Docs](t *testing.T, b *bench[S]) {
	v := put(t, b.ctx, b.witness, "k/a", "0", "")
	for i, o := range outages() {
		for _, c := range changes(t, b, strings.ReplaceAll(o.name, " ", "-")) {
			behind(t, b, o, c)
		}
		during(t, b, o, func() {
			for name, call := range map[string]func(context.Context) error{
				"get":  func(ctx context.Context) error { _, err := b.through.Get(ctx, "k/a"); return err },
				"list": func(ctx context.Context) error { _, err := b.through.List(ctx, "k/"); return err },
			} {
				judgeNoAnswer(t, name+" while the link is "+o.name, b.begin(call))
			}
		})
		wantDoc(t, b.ctx, b.through, "k/a", fmt.Sprint(i), v)
		v = put(t, b.ctx, b.through, "k/a", fmt.Sprint(i+1), v)
		wantDoc(t, b.ctx, b.witness, "k/a", fmt.Sprint(i+1), v)
		listed(t, b.ctx, b.through, "k/", []string{"k/a"})
	}
}
