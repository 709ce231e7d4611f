package drivertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/driver/drivertest"
)

// wrapped is a driver whose journal is wrapped.
type wrapped struct {
	drivertest.Orderer
	made driver.Journal
}

func wrapping(d drivertest.Orderer, wrap func(driver.Journal) driver.Journal) drivertest.Orderer {
	return wrapped{d, wrap(d.Journal())}
}

func (w wrapped) Journal() driver.Journal { return w.made }

// faulty is a journal with other methods, where they are given.
type faulty struct {
	driver.Journal
	append func(ctx context.Context, records [][]byte) ([]uint64, error)
	read   func(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error)
	free   func(ctx context.Context, upTo uint64) error
	start  func(ctx context.Context, index uint64) error
}

func (f *faulty) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if f.append == nil {
		return f.Journal.Append(ctx, records)
	}
	return f.append(ctx, records)
}

func (f *faulty) Read(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	if f.read == nil {
		return f.Journal.Read(ctx, after, n)
	}
	return f.read(ctx, after, n)
}

func (f *faulty) Free(ctx context.Context, upTo uint64) error {
	if f.free == nil {
		return f.Journal.Free(ctx, upTo)
	}
	return f.free(ctx, upTo)
}

func (f *faulty) Start(ctx context.Context, index uint64) error {
	if f.start == nil {
		return f.Journal.Start(ctx, index)
	}
	return f.start(ctx, index)
}

// post is a link for appends.
type post struct {
	lossy
	to driver.Journal
}

func (p *post) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	if !p.planned {
		return p.to.Append(ctx, records)
	}
	p.planned = false
	send := func() { _, _ = p.to.Append(ctx, records) }
	switch p.fault {
	case drivertest.LostReply:
		send()
	case drivertest.LateRequest:
		p.late = append(p.late, send)
	}
	p.meanwhile()
	return nil, store.ErrUnknown
}

// deposable is a journal that can be answered as of an earlier moment. It refuses a head behind one that it has seen.
type deposable struct {
	driver.Journal
	seen uint64
	then *page // what it is answered with; nil: with what is there
}

func (d *deposable) depose(on bool) {
	d.then = nil
	if on {
		d.then = &page{}
		d.then.records, d.then.first, d.then.head, d.then.err = d.Journal.Read(context.Background(), 0, 1<<20)
	}
}

func (d *deposable) Append(ctx context.Context, records [][]byte) ([]uint64, error) {
	indexes, err := d.Journal.Append(ctx, records)
	if err == nil {
		d.seen = indexes[len(indexes)-1]
	}
	return indexes, err
}

func (d *deposable) Read(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
	if d.then == nil {
		records, first, head, err := d.Journal.Read(ctx, after, n)
		d.seen = max(d.seen, head)
		return records, first, head, err
	}
	if d.then.head < d.seen {
		return nil, 0, 0, fmt.Errorf("the log ends at %d and has ended at %d: %w", d.then.head, d.seen,
			store.ErrUnavailable)
	}
	behind := slices.DeleteFunc(slices.Clone(d.then.records), func(r store.Record) bool { return r.Index <= after })
	return behind[:min(n, len(behind))], d.then.first, d.then.head, d.then.err
}

// gapped is a store whose indexes have gaps.
func gapped() *drivermap.Map {
	m := drivermap.New()
	m.Gaps = true
	return m
}

// journalSetup makes stores whose handles make a mistake.
func journalSetup(mistake func(driver.Journal) driver.Journal) drivertest.JournalSetup {
	return drivertest.JournalSetup{
		Open: func(*testing.T) func() drivertest.Orderer {
			m := gapped()
			return func() drivertest.Orderer { return wrapping(m.OpenOrdered(), mistake) }
		},
		Through: func(*testing.T) (witness, through drivertest.Orderer, link drivertest.Link) {
			m, p := gapped(), &post{}
			by := func(j driver.Journal) driver.Journal {
				p.to = j
				return mistake(&faulty{Journal: j, append: p.Append})
			}
			return m.OpenOrdered(), wrapping(m.OpenOrdered(), by), p
		},
		Deposed: func(*testing.T) (drivertest.Orderer, func(bool)) {
			var d deposable
			return wrapping(gapped().OpenOrdered(), func(j driver.Journal) driver.Journal {
				d.Journal = j
				return mistake(&d)
			}), d.depose
		},
	}
}

func right(j driver.Journal) driver.Journal { return j }

func TestOrdered(t *testing.T) {
	t.Parallel()
	drivertest.Journals(t, journalSetup(right))
}

// appending and reading are mistakes of one call.
func appending(
	f func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error),
) func(driver.Journal) driver.Journal {
	return func(j driver.Journal) driver.Journal {
		return &faulty{Journal: j, append: func(ctx context.Context, records [][]byte) ([]uint64, error) {
			return f(j, ctx, records)
		}}
	}
}

// page is the answer to a read.
type page struct {
	records     []store.Record
	first, head uint64
	err         error
}

func reading(f func(j driver.Journal, p *page)) func(driver.Journal) driver.Journal {
	return func(j driver.Journal) driver.Journal {
		read := func(ctx context.Context, after uint64, n int) ([]store.Record, uint64, uint64, error) {
			var p page
			p.records, p.first, p.head, p.err = j.Read(ctx, after, n)
			f(j, &p)
			return p.records, p.first, p.head, p.err
		}
		return &faulty{Journal: j, read: read}
	}
}

// countAlone counts the indexes of each handle by itself.
func countAlone(j driver.Journal) driver.Journal {
	n := uint64(0)
	return appending(
		func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error) {
			indexes, err := j.Append(ctx, records)
			for i := range indexes {
				n++
				indexes[i] = n
			}
			return indexes, err
		})(j)
}

// wrongJournals are journals that are wrong, and the test that notices.
var wrongJournals = map[string]struct {
	found   string
	mistake func(driver.Journal) driver.Journal
}{
	"indexes are counted by each handle": {"indexes grow", countAlone},
	"a batch is stored backwards": {"a batch is all", appending(
		func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error) {
			records = slices.Clone(records)
			slices.Reverse(records)
			return j.Append(ctx, records)
		})},
	"too many are cut off": {"a batch is all", appending(
		func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error) {
			return j.Append(ctx, records[:min(len(records), 16)])
		})},
	"a page leaves its last record out": {"a read leaves nothing out", reading(func(_ driver.Journal, p *page) {
		if len(p.records) > 2 {
			p.records = slices.Delete(p.records, 1, 2)
		}
	})},
	"the head goes with the records": {"indexes never come back", reading(func(j driver.Journal, p *page) {
		if all, _, _, _ := j.Read(context.Background(), 0, 1); len(all) == 0 {
			p.head = 0
		}
	})},
	"what is freed is not told": {"indexes never come back", reading(func(_ driver.Journal, p *page) { p.first = 0 })},
	"free keeps the last one": {"indexes never come back", func(j driver.Journal) driver.Journal {
		return &faulty{Journal: j, free: func(ctx context.Context, upTo uint64) error { return j.Free(ctx, upTo-1) }}
	}},
	"a used journal is begun": {"it begins where it was begun", func(j driver.Journal) driver.Journal {
		return &faulty{Journal: j, start: func(ctx context.Context, index uint64) error {
			if err := j.Start(ctx, index); !errors.Is(err, store.ErrConflict) {
				return err
			}
			return nil
		}}
	}},
	"an append is sent again": {"the outcome is told", appending(
		func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error) {
			indexes, err := j.Append(ctx, records)
			if errors.Is(err, store.ErrUnknown) {
				return j.Append(ctx, records)
			}
			return indexes, err
		})},
	"a batch is sent in two parts": {"the outcome is told", appending(
		func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error) {
			first, err := j.Append(ctx, records[:1])
			if len(records) == 1 {
				return first, err
			}
			rest, failed := j.Append(ctx, records[1:])
			return append(first, rest...), errors.Join(err, failed)
		})},
	"a lost answer is called not done": {"the outcome is told", appending(
		func(j driver.Journal, ctx context.Context, records [][]byte) ([]uint64, error) {
			indexes, err := j.Append(ctx, records)
			if errors.Is(err, store.ErrUnknown) {
				err = store.ErrUnavailable
			}
			return indexes, err
		})},
	"an older head is believed": {"a shorter log is refused", reading(func(_ driver.Journal, p *page) {
		if errors.Is(p.err, store.ErrUnavailable) {
			*p = page{}
		}
	})},
}
