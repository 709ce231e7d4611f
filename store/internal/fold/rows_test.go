package fold_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/engine/log"
	inner "github.com/rota-run/rota/store/internal/driver"
	"github.com/rota-run/rota/store/internal/fold"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handle is rows with a life of their own.
type handle struct {
	*fold.Rows
	life *inner.Life
}

func (h handle) Close() error { h.life.End(); return nil }

// options are those of tests where they do not say others.
func options() fold.Options {
	return fold.Options{
		Limits:    driver.Limits{Value: 1 << 16, Swap: 1 << 17, Keys: 100},
		SaveEvery: 10_000, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
}

// shop is a store that has a journal alone.
type shop struct{ *drivermap.Map }

func newShop() shop {
	m := drivermap.New()
	m.Gaps = true
	return shop{m}
}

// journal is another handle's.
func (s shop) journal() journal {
	return journal{Journal: s.OpenKeeping().Journal().(fold.Journal)} //nolint:forcetypeassert // it keeps values
}

func open(t testing.TB, j fold.Journal, o fold.Options) handle {
	life := inner.NewLife()
	t.Cleanup(life.End)
	return handle{fold.New(life, j, o), life}
}

// journal is a journal with other methods, where they are given.
type journal struct {
	fold.Journal
	append func(records [][]byte) ([]uint64, error)
	read   func(after uint64, n int) ([]store.Record, uint64, uint64, error)
	put    func(values [][]byte) ([]string, error)
	values func() // before values are read
}

func (j journal) Values(ctx context.Context, at []string) ([][]byte, error) {
	if j.values != nil {
		j.values()
	}
	return j.Journal.Values(ctx, at)
}

func (j journal) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if j.append == nil {
		return j.Journal.Append(ctx, records)
	}
	return j.append(records)
}

func (j journal) Read(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	if j.read == nil {
		return j.Journal.Read(ctx, after, n)
	}
	return j.read(after, n)
}

func (j journal) PutValues(ctx context.Context, values [][]byte) ([]string, error) {
	if j.put == nil {
		return j.Journal.PutValues(ctx, values)
	}
	return j.put(values)
}

// link loses appends.
type link struct {
	to        fold.Journal
	mu        sync.Mutex
	planned   bool
	fault     drivertest.Fault
	meanwhile func()
	late      [][][]byte
}

func (l *link) Next(f drivertest.Fault, meanwhile func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.planned, l.fault, l.meanwhile = true, f, meanwhile
}

func (l *link) Arrive() {
	for _, records := range l.late {
		_, _ = l.to.Append(context.Background(), records)
	}
	l.late = nil
}

func (l *link) append(records [][]byte) ([]uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.planned {
		return l.to.Append(context.Background(), records)
	}
	switch l.planned = false; l.fault {
	case drivertest.LostReply:
		_, _ = l.to.Append(context.Background(), records)
	case drivertest.LateRequest:
		l.late = append(l.late, records)
	}
	l.meanwhile()
	return nil, store.ErrUnknown
}

// through is a handle behind a link.
func (s shop) through(t testing.TB, o fold.Options) (handle, *link) {
	j := s.journal()
	l := &link{to: j.Journal}
	j.append = l.append
	return open(t, j, o), l
}

// kinds are the options under which the suite runs. With fewer records between two snapshots, a handle that the machine
// stops for some milliseconds could not see what became of its change, and the suite wants to know.
func kinds() map[string]func(*fold.Options) {
	return map[string]func(*fold.Options){
		"plain":     func(*fold.Options) {},
		"confirmed": func(o *fold.Options) { o.Confirm = true },
		"short":     func(o *fold.Options) { o.SaveEvery = 120 },
	}
}

func TestDriver(t *testing.T) {
	t.Parallel()
	for name, set := range kinds() { // order-free: each is tested alone
		o := options()
		set(&o)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Documents(t, drivertest.Setup{
				Open: func(t *testing.T) func() drivertest.Documenter {
					s := newShop()
					return func() drivertest.Documenter { return open(t, s.journal(), o) }
				},
				Through: func(t *testing.T) (witness, through drivertest.Documenter, l drivertest.Link) {
					s := newShop()
					through, l = s.through(t, o)
					return open(t, s.journal(), o), through, l
				},
			})
		})
	}
}

// write writes a row, and ends the test if that fails.
func write(t testing.TB, h handle, key, value string, v driver.Version) driver.Version {
	t.Helper()
	v, err := h.Swap(context.Background(),
		driver.Op{Key: key, Name: fmt.Sprint(key, value, v), If: v, Value: []byte(value)})
	must.Succeed(t, err)
	return v
}

// get reads a row.
func get(h handle, key string) (driver.Row, error) {
	rows, err := h.Read(context.Background(), driver.Query{Keys: []string{key}})
	if err != nil {
		return driver.Row{}, err
	}
	return rows.Keys[0], nil
}

// TestForeignRecords finds records that are no operations: they are counted, and change nothing.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	s := newShop()
	texts := []string{"", "x\x01n\x01a\x00v", "p\x7fa", "p\x01a\x00\x00v", "p\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}
	for _, text := range append(texts, "m\x01n\x00\x00") { // the last one is a mark
		must.Succeed(t, must.Err(s.journal().Append(t.Context(), [][]byte{[]byte(text)})))
	}
	h := open(t, s.journal(), options())
	write(t, h, "a", "x", "")
	rows, err := h.Read(t.Context(), driver.Query{From: "\x00", To: "~", Limit: 9})
	if err != nil || len(rows.Range) != 1 || h.Skipped() != int64(len(texts)) {
		t.Errorf("%+v, %d records skipped, %v; want a row and %d", rows, h.Skipped(), err, len(texts))
	}
}

// TestLateHandle begins with a snapshot, since the beginning of the journal is trimmed.
func TestLateHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, o := newShop(), options()
		o.SaveEvery = 10
		first, versions := open(t, s.journal(), o), map[string]driver.Version{}
		for i := range 200 {
			key := fmt.Sprint("k", i%7)
			versions[key] = write(t, first, key, fmt.Sprint(i), versions[key])
		}
		synctest.Wait() // for the snapshot that is being saved
		records, begin, head, err := s.journal().Read(t.Context(), 0, 1000)
		if err != nil || begin < 150 || head > begin+100 || head < begin+10 {
			t.Fatalf("after 200 changes with a snapshot every 10 there are %d records from %d to %d, %v", len(records),
				begin, head, err)
		}
		j := s.journal()
		j.read = func(after uint64, n int) ([]store.Record, uint64, uint64, error) {
			return j.Journal.Read(context.Background(), after, min(n, 3)) // fewer than asked for, and not the end
		}
		late, hints := open(t, j, o), 0
		go func() { _ = late.Watch(t.Context(), "of nobody/", func() { hints++ }) }()
		if synctest.Wait(); hints != 2 {
			t.Errorf("%d hints, want one at the beginning, and one that a snapshot says more than records", hints)
		}
		for key, v := range versions { // order-free: each is read alone
			if r, err := get(late, key); err != nil || r.Version != v || !strings.HasPrefix(r.Name, key) {
				t.Errorf("%s: %+v, %v; want version %s, and its name", key, r, err, v)
			}
		}
	})
}

// TestAJournalThatStops: a journal that reports records and does not return them cannot be read. A call fails, and does
// not wait for them; who has read nothing yet changes nothing, since it would not see what became of that.
func TestAJournalThatStops(t *testing.T) {
	t.Parallel()
	j, reads := newShop().journal(), 0
	j.read = func(uint64, int) ([]store.Record, uint64, uint64, error) {
		if reads++; reads > 9 {
			return nil, 0, 0, errors.New("it is read again and again")
		}
		return nil, 1, 5, nil
	}
	j.append = func([][]byte) ([]uint64, error) { return nil, errors.New("it is written") }
	h := open(t, j, options())
	if _, err := get(h, "a"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	_, err := h.Swap(t.Context(), driver.Op{Key: "a", Name: "n"})
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("write: %v", err)
	}
}

// TestReadingThatBeganBefore has a read that begins while another one is under way: what that one has read is too old.
func TestReadingThatBeganBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		j, gate, held := s.journal(), make(chan struct{}), false
		j.read = func(after uint64, n int) ([]store.Record, uint64, uint64, error) {
			records, first, head, err := j.Journal.Read(context.Background(), after, n)
			if !held {
				held = true
				<-gate
			}
			return records, first, head, err
		}
		marks, o := 0, options()
		j.append = func(records [][]byte) ([]uint64, error) {
			marks++
			return j.Journal.Append(context.Background(), records)
		}
		o.Confirm = true
		h := open(t, j, o)
		look := func(stale bool) chan driver.Row {
			to := make(chan driver.Row, 1)
			go func() {
				rows, _ := h.Read(t.Context(), driver.Query{Keys: []string{"a"}, Stale: stale})
				to <- rows.Keys[0]
			}()
			synctest.Wait()
			return to
		}
		first := look(true) // it has read the journal, which was empty
		v := write(t, open(t, s.journal(), options()), "a", "x", "")
		second, third := look(true), look(false)
		close(gate)
		if r := <-first; r.Version != "" && r.Version != v {
			t.Errorf("the read before the write: %+v", r)
		}
		if r := <-second; r.Version != v {
			t.Errorf("the read after the write: %+v", r)
		}
		if r := <-third; r.Version != v || marks != 1 {
			t.Errorf("a read that has to be confirmed, behind one that has not: %+v after %d marks", r, marks)
		}
	})
}

// TestConfirmed reads behind a leader that was replaced: its end is old until this handle has seen a newer one.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	s, o := newShop(), options()
	j, writer := s.journal(), open(t, s.journal(), o)
	v := write(t, writer, "a", "old", "")
	_, _, old, err := j.Journal.Read(t.Context(), 0, 0)
	must.Succeed(t, err)
	seen := uint64(0)
	j.append = func(records [][]byte) ([]uint64, error) {
		at, err := j.Journal.Append(context.Background(), records)
		seen = at[0]
		return at, err
	}
	j.read = func(after uint64, n int) ([]store.Record, uint64, uint64, error) {
		if seen > old {
			return j.Journal.Read(context.Background(), after, n)
		}
		records, first, _, err := j.Journal.Read(context.Background(), after, 1)
		if after >= old {
			records = nil
		}
		return records, first, old, err
	}
	v = write(t, writer, "a", "new", v)
	o.Confirm = true
	h := open(t, j, o)
	if rows, err := h.Read(t.Context(), driver.Query{Keys: []string{"a"}, Stale: true}); err != nil ||
		string(rows.Keys[0].Value) != "old" {
		t.Errorf("a stale read behind a leader that was replaced: %+v, %v", rows, err)
	}
	if r, err := get(h, "a"); err != nil || r.Version != v {
		t.Errorf("a read behind a leader that was replaced: %s, %v; want the new row", r.Value, err)
	}
}

// TestMarkOfUnknownOutcome: what is read without the mark may be old, so it is no answer; but nothing is unknown for
// the reader.
func TestMarkOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	o := options()
	o.Confirm = true
	h, l := newShop().through(t, o)
	write(t, h, "a", "x", "")
	l.Next(drivertest.LostRequest, func() {})
	if _, err := get(h, "a"); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v, want unavailable", err)
	}
	must.Succeed(t, must.Err(get(h, "a")))
}

// TestSnapshots: the journal is not trimmed unless a snapshot was saved, and one that is due while another is being
// saved is saved then. Where the records behind what a handle has read are gone, and no snapshot has them, that is
// damage.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, o := newShop(), options()
		o.SaveEvery = 10
		j, away, gate := s.journal(), true, make(chan struct{})
		j.put = func(values [][]byte) ([]string, error) {
			if away {
				return nil, store.ErrUnavailable
			}
			<-gate
			return j.Journal.PutValues(context.Background(), values)
		}
		h, v := open(t, j, o), driver.Version("")
		puts := func(n int) {
			for range n {
				v = write(t, h, "a", "x", v)
				synctest.Wait() // for the snapshot that is being saved
			}
		}
		begin := func() uint64 {
			_, first, _, err := s.journal().Read(t.Context(), 0, 1)
			must.Succeed(t, err)
			return first
		}
		asleep := open(t, s.journal(), o)
		must.Succeed(t, must.Err(get(asleep, "a")))
		puts(50)
		if at := begin(); at > 1 {
			t.Errorf("the journal begins at %d, and no snapshot is saved", at)
		}
		away = false
		puts(50) // while the first is being saved
		close(gate)
		synctest.Wait()
		if at := begin(); at < 150 {
			t.Errorf("the journal begins at %d: what came while a snapshot was being saved was not saved", at)
		}
		if r, err := get(asleep, "a"); err != nil || r.Version != v {
			t.Errorf("who slept meanwhile reads %+v, %v", r, err)
		}
		puts(1)
		must.Succeed(t, s.journal().Free(t.Context(), 1<<20))
		if _, err := get(asleep, "a"); !errors.Is(err, log.ErrDamaged) {
			t.Errorf("behind what is gone: %v, want damaged", err)
		}
	})
}

// TestSaveOfASave: that a snapshot was saved is a record too, and no reason to save another one. It is enough for who
// comes when the records that it has are gone.
func TestSaveOfASave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, o, saves := newShop(), options(), 0
		o.SaveEvery = 1
		j := s.journal()
		j.put = func(values [][]byte) ([]string, error) {
			if saves++; saves > 5 {
				return nil, store.ErrUnavailable
			}
			return j.Journal.PutValues(context.Background(), values)
		}
		write(t, open(t, j, o), "a", "x", "")
		synctest.Wait()
		if saves != 1 {
			t.Errorf("%d snapshots of one change", saves)
		}
		must.Succeed(t, s.journal().Free(t.Context(), 1)) // all that the snapshot has, and nothing more
		if r, err := get(open(t, s.journal(), options()), "a"); err != nil || string(r.Value) != "x" {
			t.Errorf("from the snapshot: %+v, %v", r, err)
		}
	})
}

// TestSnapshotIsReplaced has a handle that has found the newest snapshot, and cannot read it any more: another one was
// saved.
func TestSnapshotIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, o := newShop(), options()
		o.SaveEvery = 10
		writer, v := open(t, s.journal(), o), driver.Version("")
		puts := func() {
			for range 50 {
				v = write(t, writer, "a", "x", v)
			}
			time.Sleep(time.Second) // waits: in virtual time, for the snapshot that is being saved
		}
		puts()
		j, reads := s.journal(), 0
		j.values = func() {
			if reads++; reads == 1 {
				puts()
			}
		}
		if r, err := get(open(t, j, o), "a"); err != nil || r.Version != v || reads < 2 {
			t.Errorf("%+v, %v, values were read %d times; want version %s", r, err, reads, v)
		}
	})
}

// TestHints: a change below the prefix gives a hint, a heartbeat or another change none, and a watch ends with an error
// when the journal cannot be read.
func TestHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, away, reads := newShop(), error(nil), 0
		j := s.journal()
		j.read = func(after uint64, n int) ([]store.Record, uint64, uint64, error) {
			if reads++; away != nil {
				return nil, 0, 0, away
			}
			return j.Journal.Read(context.Background(), after, n)
		}
		h, writer := open(t, j, options()), open(t, s.journal(), options())
		v := write(t, writer, "w/a", "x", "")
		hints, over := 0, make(chan error, 1)
		go func() { over <- h.Watch(t.Context(), "w/", func() { hints++ }) }()
		after := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			if hints != want {
				t.Errorf("%d hints after %s, want %d", hints, what, want)
			}
			hints = 0
		}
		after("the beginning, and what it read then", 2)
		v = write(t, writer, "w/a", "y", v)
		after("a change", 1)
		write(t, writer, "other", "x", "")
		after("another change", 0)
		v = must.Get(writer.Swap(t.Context(),
			driver.Op{Key: "w/a", Name: "b", If: v, Value: []byte("z"), Beat: true}))(t)
		after("a heartbeat", 0)
		must.Succeed(t, must.Err(writer.Swap(t.Context(), driver.Op{Key: "w/a", Name: "c", If: v, Delete: true})))
		after("a delete", 1)
		away = store.ErrUnavailable
		write(t, writer, "w/b", "x", "")
		if err := <-over; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the watch ended with %v", err)
		}
		away = nil
		ctx, cancel := context.WithCancel(t.Context())
		go func() { over <- h.Watch(ctx, "w/", func() {}) }()
		synctest.Wait()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("the watch ended with %v", err)
		}
		reads = 0
		write(t, writer, "w/b2", "x", "")
		if synctest.Wait(); reads > 0 {
			t.Error("the journal is read, and nobody watches")
		}
		go func() { over <- h.Watch(t.Context(), "w/", func() { hints++ }) }()
		synctest.Wait()
		write(t, writer, "w/c", "x", "")
		synctest.Wait()
		if hints < 2 {
			t.Errorf("%d hints of a watch that began again", hints)
		}
		h.life.End()
		if err := <-over; !errors.Is(err, store.ErrClosed) {
			t.Errorf("the watch ended with %v", err)
		}
	})
}

// TestLostAnswers: the engine finds out what became of a write whose answer was lost.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	h, l := newShop().through(t, options())
	d := engine.NewDocs(engine.NewRows(h, "a"))
	var v store.Version
	for i, fault := range []drivertest.Fault{drivertest.LostReply, drivertest.LostReply, drivertest.LostRequest} {
		l.Next(fault, func() {})
		next := must.Get(d.Put(t.Context(), store.Doc{Key: "k", Value: fmt.Append(nil, i), Version: v}))(t)
		v = next
	}
	if got, err := d.Get(t.Context(), "k"); err != nil || string(got.Value) != "2" || got.Version != v {
		t.Errorf("%+v, %v", got, err)
	}
}
