package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/check"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/mutant/mutanttest"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine/internal/adversary"
)

// outcome is what a write was said to have come to.
type outcome struct {
	name    string
	deletes bool
	err     error
}

// isEnded is told when a life was ended, and isLast by somebody new, at the end.
type (
	isEnded string
	isLast  struct{}
)

// witness sees each write that a store executes, and holds it against what callers are told.
type witness struct {
	done, refused map[string]bool // by name
	ended         string          // a life
	last          driver.Op
	settles       bool // no delete may stay unknown
	broken        string
}

func newWitness(settles bool) func() adversary.Judge {
	return func() adversary.Judge {
		return &witness{done: map[string]bool{}, refused: map[string]bool{}, settles: settles}
	}
}

func (w *witness) Clone() adversary.Judge {
	c := *w
	c.done, c.refused = maps.Clone(w.done), maps.Clone(w.refused)
	return &c
}
func (w *witness) Mark() uint64   { return 0 }
func (w *witness) Broken() string { return w.broken }
func (w *witness) Text() string   { return fmt.Sprint(w.done, w.refused, w.ended, w.last.Name) }

func (w *witness) Executed(op driver.Op) {
	if w.done[op.Name] || w.refused[op.Name] {
		w.broken = fmt.Sprintf("%s was done; before it was done: %v, said not to be done: %v", op.Name, w.done[op.Name],
			w.refused[op.Name])
	}
	w.done[op.Name], w.last = true, op
	if w.ended != "" && strings.HasPrefix(op.Name, w.ended+".") {
		w.broken = fmt.Sprintf("%s was done after its life had been ended", op.Name)
	}
}

func (w *witness) Told(event any, _ uint64, rows adversary.Rows) {
	o, _ := event.(outcome)
	life, isEnd := event.(isEnded)
	_, last := event.(isLast)
	switch row := rows.All()["d/k"]; {
	case isEnd:
		w.ended = string(life)
		if !isTomb(row) && strings.HasPrefix(row.Name, w.ended+".") {
			w.broken = fmt.Sprintf("%s stands after its life has been ended", row.Name)
		}
	case last && !w.last.Delete && row.Name != w.last.Name, last && w.last.Delete && row.Version != "":
		w.broken = fmt.Sprintf("%q was written last, and %q stands", w.last.Name, row.Name)
	case last, o.name == "":
	case w.settles && o.deletes && errors.Is(o.err, store.ErrUnknown):
		w.broken = fmt.Sprintf("%s is not settled: %v", o.name, o.err)
	case errors.Is(o.err, store.ErrUnknown):
	case o.err == nil && !w.done[o.name]:
		w.broken = o.name + " was said to be done"
	case o.err != nil:
		w.refused[o.name] = true
		if w.done[o.name] {
			w.broken = fmt.Sprintf("%s was done, and said not to be: %v", o.name, o.err)
		}
	}
}

// writes puts values in turn, each over the one before; "-" deletes. It goes on from what stands there.
func writes(values ...string) adversary.Script {
	return func(p *adversary.Player) { write(p, NewRows(p, p.Name), values) }
}

func write(p *adversary.Player, r *Rows, values []string) {
	d, ctx := NewDocs(r), context.Background()
	for _, value := range values {
		now, err := d.Get(ctx, "k")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return
		}
		if value == "-" {
			err = d.Delete(ctx, "k", now.Version)
		} else {
			_, err = d.Put(ctx, store.Doc{Key: "k", Version: now.Version, Value: []byte(value)})
		}
		if value != "-" || now.Version != "" {
			p.Tell(outcome{fmt.Sprintf("%s.%d", p.Name, r.names.Load()), value == "-", err})
		}
	}
}

// leasing is a store with leases: it ends lives by itself.
type leasing struct{ *adversary.Player }

func (leasing) Lease(context.Context, time.Duration) (driver.Lease, error) {
	return nil, store.ErrUnavailable
}
func (leasing) EndLease(context.Context, string) error { return store.ErrUnavailable }

// native is writes on such a store, where a delete removes the row.
func native(values ...string) adversary.Script {
	return func(p *adversary.Player) { write(p, NewRows(leasing{p}, p.Name), values) }
}

// removes is a store that removes the document of a session that has ended.
func removes(p *adversary.Player) {
	if row, err := NewRows(p, p.Name).Get(context.Background(), "d/k"); err == nil && row.Version != "" {
		_, _ = p.Swap(context.Background(), driver.Op{Key: "d/k", Name: p.Name + ".gone", If: row.Version,
			Delete: true})
	}
}

// sweeps sweeps twice, and rests in between.
func sweeps(p *adversary.Player) {
	s, now := NewDocs(NewRows(p, p.Name)).Sweeper(""), time.Duration(0)
	s.now = func() time.Duration { return now }
	for range 2 {
		if s.Sweep(context.Background()) != nil {
			return
		}
		p.Tell(outcome{})
		p.Rest()
		now += Quiet
	}
}

// ends ends the life of the first caller, when that is dead, and sweeps.
func ends(p *adversary.Player) {
	p.Outlive(0)
	if NewDocs(NewRows(p, p.Name+".end")).End(context.Background(), "p0", "k") == nil {
		p.Tell(isEnded("p0"))
		sweeps(p)
	}
}

// walk is a model for package check.
type walk struct{ adversary.Model }

func (m walk) Next(w adversary.World) (out []check.Move[adversary.World]) {
	for _, move := range m.Moves(w) {
		out = append(out, check.Move[adversary.World]{Name: move.Name, To: move.To})
	}
	return out
}

// TestEveryInterleaving tries all orders of the requests of a few writers of a document, and all places of faults.
func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	all := map[string]adversary.Model{ // order-free: each is walked alone
		"two creates":                   {Scripts: []adversary.Script{writes("a"), writes("b")}, Faults: 2},
		"a create beside one who takes": {Scripts: []adversary.Script{writes("a"), removes}, Faults: 1},
		"writers and a deleter": {Scripts: []adversary.Script{writes("a", "c"), writes("b", "-", "d")},
			Before: writes("x"), Faults: 1},
		"over a tombstone": {Scripts: []adversary.Script{writes("a"), writes("b", "-")},
			Before: writes("x", "-"), Faults: 2, Mute: true},
		"two deleters": {Scripts: []adversary.Script{writes("-"), writes("-")}, Before: writes("x"), Faults: 2},
		"a create beside a sweeper": {Scripts: []adversary.Script{writes("a"), sweeps},
			Before: writes("x", "-"), Faults: 1},
		"two sweepers": {Scripts: []adversary.Script{sweeps, sweeps}, Before: writes("x", "-"), Faults: 1},
		"a lost answer and a sweeper": {Scripts: []adversary.Script{writes("-"), sweeps}, Before: writes("x"),
			Faults: 1, Only: "reply lost"},
		"a second delete and a sweeper": {Scripts: []adversary.Script{writes("a", "-"), sweeps},
			Before: writes("x", "-"), Faults: 1, Only: "reply lost"},
		"a create and the end": {Scripts: []adversary.Script{writes("a"), ends}, Faults: 2},
		"a create over a tombstone and the end": {Scripts: []adversary.Script{writes("a"), ends},
			Before: writes("x", "-"), Faults: 2},
		"native, writers and a deleter": {Scripts: []adversary.Script{native("a", "c"), native("b", "-", "d")},
			Before: native("x"), Faults: 1},
		"native, two deleters":    {Scripts: []adversary.Script{native("-"), native("-")}, Before: native("x"), Faults: 2},
		"a heartbeat and the end": {Scripts: []adversary.Script{writes("a", "b"), ends}, Faults: 1},
	}
	walks := map[string]check.Model[adversary.World]{}
	for name, m := range all { // order-free: each is walked alone
		m.Judge = newWitness(m.Only == "reply lost")
		m.After = func(p *adversary.Player) { p.Tell(isLast{}) }
		walks[name] = walk{m}
	}
	mutanttest.Prove(t, 1_000_000, walks)
}

func TestFlawsFit(t *testing.T) { t.Parallel(); mutanttest.Fit(t) }

func TestFlawsAreFound(t *testing.T) {
	t.Parallel()
	mutanttest.AreFound(t, "store/engine")
}

// left are the keys of all rows.
func left(t *testing.T, d driver.Documents) string {
	t.Helper()
	rows := must.Get(d.Read(t.Context(), driver.Query{From: "d/", To: "d0", Limit: 100}))(t)
	var keys []string
	for _, row := range rows.Range {
		keys = append(keys, strings.TrimPrefix(row.Key, "d/"))
	}
	return strings.Join(keys, " ")
}

// TestSweep: tombstones below the prefix are freed when they have stood for long, and nothing else is.
func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, h := t.Context(), drivermap.New().Open()
		d := NewDocs(NewRows(h, "a"))
		write := func(key string) store.Version {
			return must.Get(d.Put(ctx, store.Doc{Key: key, Value: []byte("x")}))(t)
		}
		remove := func(key string) { must.Succeed(t, d.Delete(ctx, key, write(key))) }
		s := d.Sweeper("p/")
		sweep := func(want string) {
			t.Helper()
			must.Succeed(t, s.Sweep(ctx))
			if got := left(t, h); got != want {
				t.Errorf("after the sweep there are %q, want %q", got, want)
			}
		}
		write("p/stays")
		for _, key := range []string{"p/gone", "p/again", "p/anew", "q/other"} {
			remove(key)
		}
		sweep("p/again p/anew p/gone p/stays q/other")
		time.Sleep(Quiet - 1) // waits: in virtual time
		write("p/again")
		remove("p/anew")
		sweep("p/again p/anew p/gone p/stays q/other")
		time.Sleep(time.Nanosecond) // waits: in virtual time
		sweep("p/again p/anew p/stays q/other")
		time.Sleep(Quiet) // waits: in virtual time
		sweep("p/again p/stays q/other")
	})
}

// TestHowLongATombstoneStands: for as long as it must, from when the rows had been read to when they are read again.
func TestHowLongATombstoneStands(t *testing.T) {
	t.Parallel()
	rows := []driver.Row{{Key: "k", Value: []byte{tomb}, Version: "1"}}
	_, seen := ripe(rows, nil, moment{began: 10, ended: 20}, 100)
	for began, want := range map[time.Duration]int{119: 0, 120: 1} { // order-free: each is judged alone
		if free, _ := ripe(rows, seen, moment{began: began, ended: 200}, 100); len(free) != want {
			t.Errorf("read again at %d, %d are freed, want %d", began, len(free), want)
		}
	}
}

// TestEnd: what a life has written is gone, and it can write no more, wherever it has ended. Others can.
func TestEnd(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), drivermap.New()
	open := func(life string) *Docs { return NewDocs(NewRows(m.Open(), life)) }
	owner, other, guardian := open("o"), open("ox"), open("g")
	put := func(d *Docs, key string, v store.Version) (store.Version, error) {
		return d.Put(ctx, store.Doc{Key: key, Value: []byte("x"), Version: v})
	}
	v := must.Get(put(owner, "there", ""))(t)
	others := must.Get(put(other, "others", ""))(t)
	for range 2 { // it may be repeated
		must.Succeed(t, guardian.End(ctx, "o", "there", "none", "others"))
	}
	if docs, err := other.List(ctx, ""); err != nil || len(docs) != 1 || docs[0].Key != "others" {
		t.Errorf("after the end there are %+v, %v", docs, err)
	}
	for key, at := range map[string]store.Version{"there": v, "none": ""} { // order-free: each is judged alone
		if _, err := guardian.Get(ctx, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q after the end: %v", key, err)
		}
		for _, at := range []store.Version{at, ""} {
			if _, err := put(owner, key, at); !errors.Is(err, store.ErrSession) {
				t.Errorf("who was ended wrote %q over %q: %v", key, at, err)
			}
		}
		must.Succeed(t, must.Err(put(other, key, "")))
	}
	must.Succeed(t, must.Err(put(other, "others", others)))
}

// refusing is a driver whose swaps end in an error.
type refusing struct {
	*drivermap.Handle
	err   error
	swaps int
}

func (r *refusing) Swap(context.Context, driver.Op, ...driver.Op) (driver.Version, error) {
	r.swaps++
	return "", r.err
}

// TestWhatEndAndSweepSay: a refusal is said; what may have come to nothing is tried again, and said by End alone.
func TestWhatEndAndSweepSay(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct { // order-free: each is judged alone
		end, sweep error
		tries      int
	}{
		store.ErrUnavailable: {store.ErrUnavailable, store.ErrUnavailable, 1},
		store.ErrConflict:    {store.ErrUnknown, nil, sends},
		store.ErrUnknown:     {store.ErrUnknown, nil, sends * sends}, // a put in doubt is sent again by itself
	} {
		ctx, m := t.Context(), drivermap.New()
		must.Succeed(t, NewDocs(NewRows(m.Open(), "a")).End(ctx, "gone", "k"))
		r := &refusing{Handle: m.Open(), err: err}
		d := NewDocs(NewRows(r, "b"))
		if got := d.End(ctx, "o", "k", "more"); !errors.Is(got, want.end) || r.swaps != want.tries {
			t.Errorf("End with swaps that end in %q: %v after %d of them, want %d", err, got, r.swaps, want.tries)
		}
		s := d.Sweeper("")
		for _, at := range []time.Duration{0, Quiet} {
			s.now = func() time.Duration { return at }
			if got := s.Sweep(ctx); at == Quiet && !errors.Is(got, want.sweep) {
				t.Errorf("Sweep with swaps that end in %q: %v", err, got)
			}
		}
	}
}
