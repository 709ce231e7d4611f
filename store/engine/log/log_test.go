package log

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handle is documents and a log on a map.
type handle struct {
	*engine.Docs
	*Log
}

// lone is a driver that writes one row at a time.
type lone struct{ engine.Driver }

func (l lone) Limits() driver.Limits {
	most := l.Driver.Limits()
	most.With = 0
	return most
}

// on opens handles on a map, by a driver of one kind. Its indexes have gaps where the store orders the log.
func on(gaps bool, driver func(*drivermap.Map) engine.Driver) func(*testing.T) func(*testing.T) handle {
	return func(*testing.T) func(*testing.T) handle {
		m := drivermap.New()
		m.Gaps = gaps
		return func(*testing.T) handle {
			r := engine.NewRows(driver(m), rand.Text()[:16])
			return handle{engine.NewDocs(r), Open(r, Main)}
		}
	}
}

var (
	onMap  = on(false, func(m *drivermap.Map) engine.Driver { return m.Open() })
	onLone = on(false, func(m *drivermap.Map) engine.Driver { return lone{m.Open()} })
	// onOrdered is a store that orders the log, in which indexes have gaps.
	onOrdered = on(true, func(m *drivermap.Map) engine.Driver { return m.OpenOrdered() })
)

func TestLog(t *testing.T)      { t.Parallel(); storetest.Log(t, onMap) }
func TestLogTail(t *testing.T)  { t.Parallel(); storetest.Log(t, onLone) }
func TestSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, onMap) }
func TestSeedTail(t *testing.T) { t.Parallel(); storetest.Seed(t, onLone) }
func TestDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, onMap) }
func TestGetMany(t *testing.T)  { t.Parallel(); storetest.GetMany(t, onMap) }

// counted is a driver that counts its requests, and the bytes of its writes.
type counted struct {
	engine.Driver
	reads, rows, writes, bytes atomic.Int64
}

func (c *counted) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	c.reads.Add(1)
	c.rows.Add(int64(len(q.Keys)))
	return c.Driver.Read(ctx, q)
}

func (c *counted) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	c.writes.Add(1)
	for _, o := range append(with, op) {
		c.bytes.Add(int64(len(o.Value)))
	}
	return c.Driver.Swap(ctx, op, with...)
}

// TestCost: an append is one request and one in eight, and writes less than six records; a look without news reads
// one row, and a reader who is behind reads a page at a time. Where records are written with the head, an append is one
// request and one record, and a reader who is behind reads by ranges.
func TestCost(t *testing.T) {
	t.Parallel()
	const records, size = 1600, 1000
	for name, c := range map[string]struct { // order-free: each is judged alone
		open          func(m *drivermap.Map) engine.Driver
		sent          int64 // requests of all appends, at most
		written       float64
		limit, behind int64 // reads of who is behind, at most
	}{
		"alone": {
			func(m *drivermap.Map) engine.Driver { return lone{m.Open()} },
			records + records/tailPage + 3, 6, 160, records/160 + 2,
		},
		"with": {func(m *drivermap.Map) engine.Driver { return m.Open() }, records + 3, 1.1, 400, records / 400},
	} {
		ctx, m := t.Context(), drivermap.New()
		w := &counted{Driver: c.open(m)}
		l := Open(engine.NewRows(w, "a"), Main)
		for range records {
			must.Succeed(t, must.Err(l.Append(ctx, make([]byte, size))))
		}
		sent, written := w.reads.Load()+w.writes.Load(), float64(w.bytes.Load())/records/size
		t.Logf("%s: %d requests, and %.2f records of bytes an append", name, sent, written)
		if sent > c.sent || written > c.written {
			t.Errorf("%s: %d appends took %d requests, and wrote %.2f records each", name, records, sent, written)
		}
		r := &counted{Driver: c.open(m)}
		reader := Open(engine.NewRows(r, "b"), Main)
		for after := uint64(0); after < records; {
			page := must.Get(reader.Read(ctx, after, int(c.limit)))(t)
			after += uint64(len(page.Records))
		}
		if n := r.reads.Load(); n > c.behind {
			t.Errorf("%s: %d records were read in %d requests", name, records, n)
		}
		before := r.rows.Load()
		if _, err := reader.Read(ctx, records, 100); err != nil || r.rows.Load() != before+1 {
			t.Errorf("%s: a look without news read %d rows, %v", name, r.rows.Load()-before, err)
		}
	}
}

// TestReadWith: documents come with the log, also where that is trimmed; one that is missing has no version. A look
// without news is one request where the log is of rows.
func TestReadWith(t *testing.T) {
	t.Parallel()
	c := new(counted) // of a journal it counts nothing
	counting := on(false, func(m *drivermap.Map) engine.Driver { c = &counted{Driver: m.Open()}; return c })
	for name, open := range map[string]func(*testing.T) func(*testing.T) handle{"rows": counting,
		"journal": onOrdered} { // order-free
		ctx, h := t.Context(), open(t)(t)
		v := must.Get(h.Put(ctx, store.Doc{Key: "a", Value: []byte("x")}))(t)
		must.Succeed(t, must.Err(h.Append(ctx, []byte("q"))))
		at := must.Get(h.Append(ctx, []byte("r")))(t)
		look := func(after uint64, records int, want error) {
			t.Helper()
			page, docs, err := h.ReadWith(ctx, after, 10, []string{"a", "none"})
			if !errors.Is(err, want) || len(page.Records) != records || err == nil && page.Head != at {
				t.Errorf("%s: page %+v, %v; want %d records up to %d, %v", name, page, err, records, at, want)
			}
			if len(docs) != 2 || docs[0].Version != v || string(docs[0].Value) != "x" || docs[1].Key != "none" ||
				docs[1].Version != "" {
				t.Errorf("%s: documents %+v", name, docs)
			}
		}
		look(0, 2, nil)
		before := c.reads.Load()
		look(at, 0, nil)
		if sent := c.reads.Load() - before; name == "rows" && sent != 1 {
			t.Errorf("%d requests", sent)
		}
		must.Succeed(t, h.SaveSnapshot(ctx, store.Record{Index: at}))
		must.Succeed(t, h.Trim(ctx, at))
		look(0, 0, store.ErrTruncated)
	}
}

// gaps is a driver whose ranges leave out every third row, as they may if it was written while they were read.
type gaps struct{ engine.Driver }

func (g gaps) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	rows, err := g.Driver.Read(ctx, q)
	n := 0
	rows.Range = slices.DeleteFunc(rows.Range, func(driver.Row) bool { n++; return n%3 == 0 })
	return rows, err
}

// TestRangeWithAGap: a record that a range leaves out is read by its key.
func TestRangeWithAGap(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := Open(engine.NewRows(gaps{drivermap.New().Open()}, "a"), Main)
	for range 20 {
		must.Succeed(t, must.Err(l.Append(ctx, []byte("x"))))
	}
	for after := uint64(0); after < 20; {
		page, err := l.Read(ctx, after, 100)
		if err != nil || len(page.Records) == 0 {
			t.Fatalf("a read after %d: %d records, %v", after, len(page.Records), err)
		}
		after += uint64(len(page.Records))
	}
}

// refusing is a driver on which another one is always faster.
type refusing struct{ engine.Driver }

func (d refusing) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if op.If == "" {
		return d.Driver.Swap(ctx, op, with...)
	}
	return "", &driver.Conflict{}
}

// TestWhoGivesUp: an append that lost, and waits for its next try, was not done: that is known where its caller leaves.
func TestWhoGivesUp(t *testing.T) {
	t.Parallel()
	l := Open(engine.NewRows(refusing{lone{drivermap.New().Open()}}, "a"), Main)
	gone := errors.New("gone")
	l.pause = func(context.Context, time.Duration) error { return gone }
	if _, err := l.Append(t.Context(), []byte("x")); !errors.Is(err, gone) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("append: %v", err)
	}
}

// distant is a driver whose requests take 1 to 1.25 milliseconds, half of it on the way there.
type distant struct {
	*counted
	rand *mrand.Rand
}

func from(c *counted, place int) distant {
	return distant{c, mrand.New(mrand.NewPCG(uint64(place), 1))}
}

func (d distant) travel() {
	time.Sleep(500*time.Microsecond + time.Duration(d.rand.IntN(125))*time.Microsecond) // waits: in virtual time
}

func (d distant) Read(ctx context.Context, q driver.Query) (driver.Rows, error) {
	d.travel()
	defer d.travel()
	return d.counted.Read(ctx, q)
}

func (d distant) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	d.travel()
	defer d.travel()
	return d.counted.Swap(ctx, op, with...)
}

// TestManyHandles: handles that append at once all come through, and nothing is there twice. Losers wait, so that few
// of them send the head in vain, and yet somebody appends at nearly each moment.
func TestManyHandles(t *testing.T) {
	t.Parallel()
	for _, handles := range []int{1, 2, 8} {
		t.Run(fmt.Sprint(handles), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { compete(t, handles, 400/handles) })
		})
	}
}

func compete(t *testing.T, handles, each int) {
	t.Helper()
	ctx, m := t.Context(), drivermap.New()
	c, began := &counted{Driver: lone{m.Open()}}, time.Now()
	all := handles * each
	longest := make([]time.Duration, handles)
	var wg sync.WaitGroup
	for w := range handles {
		l := Open(engine.NewRows(from(c, w), fmt.Sprint("w", w)), Main)
		wg.Go(func() {
			last := uint64(0)
			for n := range each {
				sent := time.Now()
				index, err := l.Append(ctx, fmt.Appendf(nil, "%d.%d %0990d", w, n, 0))
				if err != nil || index <= last {
					t.Errorf("append %d of %d: index %d after %d, %v", n, w, index, last, err)
				}
				last, longest[w] = index, max(longest[w], time.Since(sent))
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	rate, most := float64(all)/took.Seconds(), slices.Max(longest)
	requests, written := float64(c.reads.Load()+c.writes.Load())/float64(all), float64(c.bytes.Load())/1000/float64(all)
	t.Logf("%.2f requests and %.1f records of bytes an append, %.0f a second, the slowest %v", requests, written, rate,
		most)
	if requests > 2.5 || written > 9 || rate < 650 {
		t.Errorf("an append took %.2f requests and wrote %.1f records of bytes, %.0f a second", requests, written, rate)
	}
	seen, reader := map[string]bool{}, Open(engine.NewRows(lone{m.Open()}, "reader"), Main)
	for after := uint64(0); after < uint64(all); {
		page := must.Get(reader.Read(ctx, after, 33))(t)
		for _, r := range page.Records {
			if after++; r.Index != after || seen[string(r.Data)] {
				t.Errorf("record %d stands at %d, seen before: %v", after, r.Index, seen[string(r.Data)])
			}
			seen[string(r.Data)] = true
		}
	}
}

// TestPause: a loser waits about as long as a few requests, longer with each loss, up to a bound; no two wait equally
// long. Who gives up waits no more.
func TestPause(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for took, least := range map[time.Duration]time.Duration{0: ms, 5 * ms: 5 * ms, time.Minute: time.Second} { // order-free: each is judged alone
		var a, b contest
		for lost := 1; lost < 100; lost++ {
			about := min(least<<min(lost, 4), time.Second)
			one, other := a.lose(took, sumOf([]byte{'a', byte(lost)})), b.lose(took, sumOf([]byte{'b', byte(lost)}))
			if one < about/2 || one > about*3/2 || one == other {
				t.Errorf("loss %d of requests of %v: pauses of %v and %v, want about %v", lost, took, one, other, about)
			}
		}
	}
	cause := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := wait(ctx, time.Hour); !errors.Is(err, cause) {
		t.Errorf("a pause ended with %v", err)
	}
}

// TestCallersShareASwap: callers of one handle do not compete. Whose ctx ends leaves the others alone.
func TestCallersShareASwap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers, each = 64, 20
		c := &counted{Driver: lone{drivermap.New().Open()}}
		l := Open(engine.NewRows(from(c, 1), "a"), Main)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				last := uint64(0)
				for range each {
					index, err := l.Append(t.Context(), make([]byte, 1000))
					if err != nil || index <= last {
						t.Errorf("index %d after %d, %v", index, last, err)
					}
					last = index
				}
			})
		}
		cause, outcomes := errors.New("no time"), make(chan error, each)
		for n := range each {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(n)*time.Millisecond/4, cause)
			defer cancel()
			wg.Go(func() {
				_, err := l.Append(ctx, []byte("x"))
				outcomes <- err
			})
		}
		wg.Wait()
		close(outcomes)
		least, most := callers*each, callers*each // records in the log
		for err := range outcomes {
			switch {
			case err == nil:
				least, most = least+1, most+1
			case !errors.Is(err, cause):
				t.Errorf("an append whose ctx ended: %v", err)
			case errors.Is(err, store.ErrUnknown):
				most++
			}
		}
		page, err := l.Read(t.Context(), 0, 1)
		if n := int(page.Head); err != nil || n < least || n > most { //nolint:gosec // small
			t.Errorf("the log has %d records, %v; want %d to %d", n, err, least, most)
		}
		requests, written := float64(c.reads.Load()+c.writes.Load())/(callers*each),
			float64(c.bytes.Load())/1000/(callers*each)
		t.Logf("%.2f requests and %.1f records of bytes an append", requests, written)
		if requests > 0.2 || written > 3.5 {
			t.Errorf("an append took %.2f requests and wrote %.1f records", requests, written)
		}
	})
}

// tight is a driver that takes small requests alone, as ZooKeeper does.
type tight struct{ engine.Driver }

func (d tight) Limits() driver.Limits {
	most := d.Driver.Limits()
	most.Value, most.Swap, most.Each = 16<<10, 64<<10, 512
	return most
}

func (d tight) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	size := 0
	for _, o := range append([]driver.Op{op}, with...) {
		size += len(o.Key) + len(o.Value) + d.Limits().Each
	}
	if size > d.Limits().Swap {
		return "", store.ErrTooLarge
	}
	return d.Driver.Swap(ctx, op, with...)
}

// TestTogetherTooLarge: records that fit one by one, and would be too large a request together, are all appended.
func TestTogetherTooLarge(t *testing.T) {
	t.Parallel()
	l := Open(engine.NewRows(tight{drivermap.New().Open()}, rand.Text()[:16]), Main)
	const many, size = 16, 15_000
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if _, err := l.Append(t.Context(), make([]byte, size)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for after := uint64(0); after < many && !t.Failed(); {
		page := must.Get(l.Read(t.Context(), after, many))(t)
		for _, r := range page.Records {
			if after = r.Index; len(r.Data) != size {
				t.Errorf("record %d has %d bytes", r.Index, len(r.Data))
			}
		}
	}
}

// TestTrimmedAway: after a snapshot and a trim of all, a log of many pages is a head, a pointer, and the parts of a
// snapshot.
func TestTrimmedAway(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), drivermap.New()
	h := m.Open()
	l := Open(engine.NewRows(lone{h}, "a"), Main)
	for range 50 {
		must.Succeed(t, must.Err(l.Append(ctx, []byte("x"))))
	}
	for _, at := range []uint64{20, 50} {
		must.Succeed(t, l.SaveSnapshot(ctx, store.Record{Index: at, Data: []byte(strings.Repeat("s", 1<<20+1))}))
		must.Succeed(t, l.Trim(ctx, at))
	}
	rows := must.Get(h.Read(ctx, driver.Query{From: "l/", To: "l0", Limit: 100}))(t)
	if len(rows.Range) != 4 {
		for _, r := range rows.Range {
			t.Errorf("%s is left", r.Key)
		}
	}
}
