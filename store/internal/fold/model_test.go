package fold_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// model is what the rows must be: those of one machine that does one change after the other.
type model struct {
	t       *rapid.T
	tb      testing.TB
	shop    shop
	rows    map[string]driver.Row // a version of "?" was not seen yet
	seen    map[driver.Version]bool
	known   map[string][]driver.Version
	handles []handle
	links   []*link
	late    []driver.Op
}

func (m *model) open() handle {
	o := options()
	o.SaveEvery = rapid.IntRange(1, 8).Draw(m.t, "every")
	h, l := m.shop.through(m.tb, o)
	l.only = "op"
	m.handles, m.links = append(m.handles, h), append(m.links, l)
	return h
}

// decide does a change, or says why not.
func (m *model) decide(o driver.Op) (done bool) {
	if m.rows[o.Key].Version != o.If {
		return false
	}
	if delete(m.rows, o.Key); !o.Delete {
		m.rows[o.Key] = driver.Row{Key: o.Key, Name: o.Name, Value: o.Value, Version: "?"}
	}
	return true
}

// The fates of a change: sound, or one of drivertest.
const sound = -1

// do makes a change through a handle, and compares what it says.
func (m *model) do(i, fate int, o driver.Op) {
	if fate != sound {
		m.links[i].Next(drivertest.Fault(fate), func() {})
	}
	before := m.rows[o.Key]
	v, err := m.handles[i].Swap(context.Background(), o)
	if fate != sound {
		if !errors.Is(err, store.ErrUnknown) {
			m.t.Fatalf("%+v, whose answer was lost: %v, want ErrUnknown", o, err)
		}
		if fate == int(drivertest.LostReply) {
			m.decide(o)
		}
		if fate == int(drivertest.LateRequest) {
			m.late = append(m.late, o)
		}
		return
	}
	done := m.decide(o)
	if errors.Is(err, store.ErrUnknown) { // another handle has saved a snapshot behind it, and trimmed
		m.check(m.handles[i], o.Key)
		return
	}
	var c *driver.Conflict
	if done != (err == nil) || !done && (!errors.As(err, &c) || c.Row == nil) {
		m.t.Fatalf("%+v where %+v stands: %v", o, before, err)
	}
	if !done {
		m.same(*c.Row, before)
		return
	}
	if o.Delete {
		return
	}
	if m.seen[v] || v == "" {
		m.t.Fatalf("version %q of %s came back", v, o.Key)
	}
	r := m.rows[o.Key]
	r.Version = v
	m.rows[o.Key] = r
	m.learn(r)
}

func (m *model) learn(r driver.Row) {
	m.seen[r.Version] = true
	m.known[r.Key] = append(m.known[r.Key], r.Version)
}

// same compares a row that was read, and learns its version if it was not seen yet.
func (m *model) same(got, want driver.Row) {
	if want.Version == "?" && got.Version != "" && !m.seen[got.Version] {
		want.Version = got.Version
		m.rows[got.Key] = want
		m.learn(want)
	}
	if got.Name != want.Name || string(got.Value) != string(want.Value) || got.Version != want.Version {
		m.t.Fatalf("%s is %+v, want %+v", got.Key, got, want)
	}
}

func (m *model) check(h handle, key string) {
	r, err := get(h, key)
	if err != nil {
		m.t.Fatalf("read %s: %v", key, err)
	}
	m.same(r, m.rows[key])
}

// arrive lets all changes come that are on their way.
func (m *model) arrive() {
	for _, l := range m.links {
		l.Arrive()
	}
	for _, o := range m.late {
		m.decide(o)
	}
	m.late = nil
}

var modelKeys = []string{"a", "b", "c/d"}

func (m *model) step(n int) {
	key := rapid.SampledFrom(modelKeys).Draw(m.t, "key")
	i := rapid.IntRange(0, len(m.handles)-1).Draw(m.t, "handle")
	o := driver.Op{Key: key, Name: fmt.Sprint("op", n), Value: fmt.Append(nil, n)}
	if rapid.IntRange(0, 3).Draw(m.t, "delete") == 0 {
		o.Delete, o.Value = true, nil
	}
	if m.rows[key].Version == "?" {
		m.check(m.handles[i], key)
	}
	switch rapid.IntRange(0, 10).Draw(m.t, "step") {
	case 0, 1:
		m.check(m.handles[i], key)
	case 2:
		m.arrive()
	case 3:
		if len(m.handles) < 6 {
			m.check(m.open(), key)
		}
	case 4: // a version of the past, or of no row
		o.If = rapid.SampledFrom(append(m.known[key], "", "zz", "!", "0", "01")).Draw(m.t, "version")
		m.do(i, sound, o)
	case 5:
		if err := m.handles[i].Free(context.Background(), []string{"a", "b"}); err != nil {
			m.t.Fatal(err)
		}
		delete(m.rows, "a")
		delete(m.rows, "b")
	default:
		o.If = m.rows[key].Version
		fate := max(sound, rapid.IntRange(-4, 2).Draw(m.t, "fate"))
		if fate == int(drivertest.LateRequest) && len(m.late) > 0 { // of two it is not known which comes first
			fate = sound
		}
		m.do(i, fate, o)
	}
}

// TestModel lets some handles change rows while requests and answers get lost, and come late; handles come, and read
// snapshots.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { played(t, rt) })
}

func played(t *testing.T, rt *rapid.T) {
	m := &model{t: rt, tb: t, shop: newShop(), rows: map[string]driver.Row{}, seen: map[driver.Version]bool{},
		known: map[string][]driver.Version{}}
	defer func() {
		for _, h := range m.handles {
			h.life.End()
		}
	}()
	m.open()
	for n := range rapid.IntRange(1, 60).Draw(rt, "steps") {
		m.step(n)
	}
	m.arrive()
	for _, h := range append(m.handles, m.open()) {
		for _, key := range modelKeys {
			m.check(h, key)
		}
		rows, err := h.Read(context.Background(), driver.Query{From: "\x00", To: "d", Limit: 10})
		if err != nil || len(rows.Range) != len(m.rows) {
			rt.Fatalf("%+v, %v; want %v", rows.Range, err, m.rows)
		}
	}
}
