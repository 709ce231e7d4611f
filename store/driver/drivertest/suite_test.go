package drivertest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// lossy is a handle on a map whose changes pass a link.
type lossy struct {
	drivertest.Documenter
	planned   bool
	fault     drivertest.Fault
	meanwhile func()
	late      []func()
}

func (l *lossy) Next(f drivertest.Fault, meanwhile func()) {
	l.planned, l.fault, l.meanwhile = true, f, meanwhile
}

func (l *lossy) Arrive() {
	for _, f := range l.late {
		f()
	}
	l.late = nil
}

func (l *lossy) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if !l.planned {
		return l.Documenter.Swap(ctx, op, with...)
	}
	l.planned = false
	send := func() { _, _ = l.Documenter.Swap(ctx, op, with...) }
	switch l.fault {
	case drivertest.LostReply:
		send()
	case drivertest.LateRequest:
		l.late = append(l.late, send)
	}
	l.meanwhile()
	return "", store.ErrUnknown
}

// mistake is a driver around another one. It is made once for all handles of a store.
type mistake func() func(drivertest.Documenter) drivertest.Documenter

func sound() func(drivertest.Documenter) drivertest.Documenter {
	return func(d drivertest.Documenter) drivertest.Documenter { return d }
}

// setup makes stores whose handles make a mistake: the driver, which sends by the link, or the store behind it.
func setup(m mistake, behind bool) drivertest.Setup {
	return drivertest.Setup{
		Open: func(*testing.T) func() drivertest.Documenter {
			s, with := drivermap.New(), m()
			return func() drivertest.Documenter { return with(s.Open()) }
		},
		Through: func(*testing.T) (witness, through drivertest.Documenter, link drivertest.Link) {
			s, with := drivermap.New(), m()
			if behind {
				l := &lossy{Documenter: with(s.Open())}
				return with(s.Open()), l, l
			}
			l := &lossy{Documenter: s.Open()}
			return with(s.Open()), with(l), l
		},
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	drivertest.Documents(t, setup(sound, false))
}

// each is a mistake that handles make by themselves.
func each(wrap func(drivertest.Documenter) drivertest.Documenter) mistake {
	return func() func(drivertest.Documenter) drivertest.Documenter { return wrap }
}

// swapper is a driver with another Swap, and reader one with another Read.
type swapper struct {
	drivertest.Documenter
	swap func(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error)
}

func (s swapper) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	return s.swap(ctx, op, with...)
}

type reader struct {
	drivertest.Documenter
	read func(ctx context.Context, q driver.Query) (driver.Rows, error)
}

func (r reader) Read(ctx context.Context, q driver.Query) (driver.Rows, error) { return r.read(ctx, q) }

// renamed gives rows versions of its own, by a function of what was written so far to the key; it is true to them.
type renamed struct {
	drivertest.Documenter
	mu    *sync.Mutex
	given map[string][]driver.Row // by key: what was written, "" for a delete; Version is the one that it was given
	name  func(past []driver.Row, op driver.Op) driver.Version
}

func rename(name func([]driver.Row, driver.Op) driver.Version) mistake {
	return func() func(drivertest.Documenter) drivertest.Documenter {
		mu, given := &sync.Mutex{}, map[string][]driver.Row{}
		return func(d drivertest.Documenter) drivertest.Documenter { return &renamed{d, mu, given, name} }
	}
}

func (r *renamed) version(key string) driver.Version {
	if past := r.given[key]; len(past) > 0 {
		return past[len(past)-1].Version
	}
	return ""
}

func (r *renamed) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.version(op.Key) != op.If {
		return "", &driver.Conflict{}
	}
	rows, err := r.Documenter.Read(ctx, driver.Query{Keys: []string{op.Key}})
	if err != nil {
		return "", err
	}
	next := op
	next.If = rows.Keys[0].Version
	if _, err := r.Documenter.Swap(ctx, next, with...); err != nil {
		return "", err
	}
	for _, o := range append([]driver.Op{op}, with...) {
		row := driver.Row{Value: o.Value}
		if !o.Delete {
			row.Version = r.name(r.given[o.Key], o)
		}
		r.given[o.Key] = append(r.given[o.Key], row)
	}
	return r.version(op.Key), nil
}

func (r *renamed) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.Known = nil
	rows, err := r.Documenter.Read(ctx, q)
	for _, all := range [][]driver.Row{rows.Range, rows.Keys} {
		for i := range all {
			if all[i].Version != "" {
				all[i].Version = r.version(all[i].Key)
			}
		}
	}
	return rows, err
}

// apart reads rows one by one, by a plan of the order in which they are asked for; others write in between: it waits
// for six of their writes, two rounds of three keys.
func apart(order func(n int) []int, rangeLast bool) mistake {
	return func() func(drivertest.Documenter) drivertest.Documenter {
		var written atomic.Int64
		return func(d drivertest.Documenter) drivertest.Documenter {
			count := swapper{d, func(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
				v, err := d.Swap(ctx, op, with...)
				written.Add(1)
				return v, err
			}}
			meanwhile := func(ctx context.Context) {
				for until := written.Load() + 6; written.Load() < until && ctx.Err() == nil; {
					runtime.Gosched()
				}
			}
			return reader{count, func(ctx context.Context, q driver.Query) (driver.Rows, error) {
				return readApart(ctx, d, q, order(len(q.Keys)), rangeLast, meanwhile)
			}}
		}
	}
}

func readApart(ctx context.Context, d driver.Documents, q driver.Query, order []int, rangeLast bool,
	meanwhile func(context.Context),
) (out driver.Rows, err error) {
	ranged := driver.Query{From: q.From, To: q.To, Limit: q.Limit}
	if !rangeLast {
		if out, err = d.Read(ctx, ranged); err != nil {
			return out, err
		}
	}
	out.Keys = make([]driver.Row, len(q.Keys))
	for _, i := range order {
		rows, err := d.Read(ctx, driver.Query{Keys: q.Keys[i : i+1]})
		if err != nil {
			return out, err
		}
		out.Keys[i] = rows.Keys[0]
		meanwhile(ctx)
	}
	if rangeLast {
		rows, err := d.Read(ctx, ranged)
		if err != nil {
			return out, err
		}
		out.Range, out.More = rows.Range, rows.More
	}
	return out, nil
}

// once reads apart, and a key that comes twice only at its first place.
func once() func(drivertest.Documenter) drivertest.Documenter {
	apart := apart(forward, false)()
	return func(d drivertest.Documenter) drivertest.Documenter {
		d = apart(d)
		return reader{d, func(ctx context.Context, q driver.Query) (driver.Rows, error) {
			rows, err := d.Read(ctx, q)
			for i, key := range q.Keys {
				if first := slices.Index(q.Keys, key); err == nil {
					rows.Keys[i] = rows.Keys[first]
				}
			}
			return rows, err
		}}
	}
}

func forward(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func backward(n int) []int {
	out := forward(n)
	slices.Reverse(out)
	return out
}

// swaps is a mistake of Swap.
func swaps(f func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version,
	error)) mistake {
	return each(func(d drivertest.Documenter) drivertest.Documenter {
		return swapper{d, func(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
			return f(d, ctx, op, with)
		}}
	})
}

// mistakes are drivers that are wrong, and the test that notices.
var mistakes = []struct {
	name, found string
	mistake     mistake
}{
	{"a lost answer is called not done", "the outcome is told", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			v, err := d.Swap(ctx, op, with...)
			if errors.Is(err, store.ErrUnknown) {
				err = store.ErrUnavailable
			}
			return v, err
		})},
	{"a lost answer is called done", "the outcome is told", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			v, err := d.Swap(ctx, op, with...)
			if errors.Is(err, store.ErrUnknown) {
				return "v", nil
			}
			return v, err
		})},
	{"an absent row is called never", "the outcome is told", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			v, err := d.Swap(ctx, op, with...)
			if rows, failed := d.Read(ctx, driver.Query{Keys: []string{op.Key}}); failed == nil &&
				rows.Keys[0].Version == "" && errors.Is(err, store.ErrUnknown) {
				err = store.ErrUnavailable
			}
			return v, err
		})},
	{"a change is sent again, and meets itself", "the outcome is told", swaps(again)},
	{"a create is sent again", "a change is sent once", swaps(again)},
	{"a version is that of the bytes", "a version never comes back", rename(
		func(_ []driver.Row, op driver.Op) driver.Version {
			return driver.Version(fmt.Sprint(crc32.ChecksumIEEE(op.Value)))
		})},
	{"a store gives the version of the bytes", "a late swap meets its version", rename(
		func(_ []driver.Row, op driver.Op) driver.Version { return driver.Version("of " + string(op.Value)) })},
	{"versions begin anew after a delete", "a version never comes back", rename(
		func(past []driver.Row, _ driver.Op) driver.Version {
			n := 1
			for _, r := range past {
				if n++; r.Version == "" {
					n = 1
				}
			}
			return driver.Version(fmt.Sprint(n))
		})},
	{"keys are read backwards", "keys are read in their order", apart(backward, false)},
	{"a key that comes twice is read once", "keys are read in their order", once},
	{"the range is read behind the keys", "the range is read before", apart(forward, true)},
	{"a handle remembers what it has read", "a read shows what is known",
		each(func(d drivertest.Documenter) drivertest.Documenter {
			kept := map[string]driver.Row{}
			return reader{d, func(ctx context.Context, q driver.Query) (driver.Rows, error) {
				rows, err := d.Read(ctx, q)
				for i, r := range rows.Keys {
					if old, ok := kept[r.Key]; ok {
						rows.Keys[i] = old
					}
					kept[r.Key] = rows.Keys[i]
				}
				return rows, err
			}}
		})},
	{"a create replaces", "swap compares versions", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			rows, err := d.Read(ctx, driver.Query{Keys: []string{op.Key}})
			if err == nil && op.If == "" {
				op.If = rows.Keys[0].Version
			}
			return d.Swap(ctx, op, with...)
		})},
	{"a delete ignores the version", "swap compares versions", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			rows, err := d.Read(ctx, driver.Query{Keys: []string{op.Key}})
			if err == nil && op.Delete {
				op.If = rows.Keys[0].Version
			}
			return d.Swap(ctx, op, with...)
		})},
	{"others are written before the first is compared", "swap with others is all", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			for _, o := range with {
				if _, err := d.Swap(ctx, o); err != nil {
					return "", err
				}
			}
			return d.Swap(ctx, op)
		})},
	{"a limit is told too late", "too large changes nothing", swaps(
		func(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
			v, err := d.Swap(ctx, op, with...)
			if errors.Is(err, store.ErrTooLarge) {
				op.Value = op.Value[:10]
				_, _ = d.Swap(ctx, op, with...)
			}
			return v, err
		})},
	{"more is never said", "a range is sorted and cut", each(func(d drivertest.Documenter) drivertest.Documenter {
		return reader{d, func(ctx context.Context, q driver.Query) (driver.Rows, error) {
			rows, err := d.Read(ctx, q)
			rows.More = false
			return rows, err
		}}
	})},
	{"a second close fails", "what has ended is refused", each(func(d drivertest.Documenter) drivertest.Documenter {
		return &onceClosed{Documenter: d}
	})},
}

// onceClosed is a driver whose second Close fails.
type onceClosed struct {
	drivertest.Documenter
	closed bool
}

func (o *onceClosed) Close() error {
	if o.closed {
		return store.ErrClosed
	}
	o.closed = true
	return o.Documenter.Close()
}

// again sends what may be lost once more.
func again(d drivertest.Documenter, ctx context.Context, op driver.Op, with []driver.Op) (driver.Version, error) {
	v, err := d.Swap(ctx, op, with...)
	if errors.Is(err, store.ErrUnknown) {
		v, err = d.Swap(ctx, op, with...)
	}
	return v, err
}

// planted is a suite over a mistake, and the test of it that notices.
type planted struct {
	found string
	run   func(t *testing.T)
}

// allPlanted are the mistakes of drivers, of journals and of vigils.
func allPlanted() map[string]planted {
	all := map[string]planted{}
	for _, m := range mistakes {
		made := setup(m.mistake, strings.HasPrefix(m.name, "a store"))
		all[m.name] = planted{m.found, func(t *testing.T) { drivertest.Documents(t, made) }}
	}
	for name, w := range wrongJournals {
		all["journal: "+name] = planted{w.found, func(t *testing.T) { drivertest.Journals(t, journalSetup(w.mistake)) }}
	}
	for name, found := range wrongVigils {
		all["vigil: "+name] = planted{found, func(t *testing.T) { drivertest.Vigils(t, vigilSetup(name)) }}
	}
	return all
}

var mistakeFlag = flag.String("mistake", "", "the mistake over which TestPlanted runs its suite")

// TestPlanted is run by TestMistakes, in a process of its own, since it has to fail.
func TestPlanted(t *testing.T) {
	t.Parallel()
	if *mistakeFlag != "" {
		allPlanted()[*mistakeFlag].run(t)
	}
}

// TestMistakes: the suites notice each mistake, by the test that is named for it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	all := allPlanted()
	if want := len(mistakes) + len(wrongJournals) + len(wrongVigils); len(all) != want {
		t.Errorf("%d mistakes have names of their own, of %d", len(all), want)
	}
	for name, m := range all { // order-free: each is a process of its own
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := strings.ReplaceAll(m.found, " ", "_")
			args := []string{"-test.run", "^TestPlanted$/^" + found + "$", "-mistake", name}
			out, err := exec.CommandContext(t.Context(), os.Args[0], args...).CombinedOutput()
			failed := strings.Contains(string(out), "--- FAIL: TestPlanted/"+found)
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || !failed {
				t.Errorf("%q does not notice it: %v\n%s", m.found, err, out)
			}
		})
	}
}
