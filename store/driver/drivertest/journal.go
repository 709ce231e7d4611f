package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// Orderer is a driver with journals.
type Orderer interface {
	driver.Driver
	driver.Journals
}

// JournalSetup makes stores for the suite of journals.
type JournalSetup struct {
	// Open makes an empty store. Each call of what it returns opens another handle, as another process would.
	Open func(t *testing.T) func() Orderer
	// Through makes an empty store with two handles: a witness, and one whose changes pass a link. The outcomes are not
	// tested if it is nil.
	Through func(t *testing.T) (witness, through Orderer, link Link)
	// Deposed makes a handle, and a switch: while it is on, reads are answered as of the moment when it was switched
	// on. It is nil where no server can do so.
	Deposed func(t *testing.T) (d Orderer, deposed func(on bool))
}

// Journals tests a driver with journals.
func Journals(t *testing.T, s JournalSetup) {
	t.Helper()
	run(t, func(ctx context.Context) *journals { return &journals{ctx: ctx, setup: s} },
		map[string]func(*testing.T, *journals){
			"indexes grow":                 indexesGrow,
			"a batch is all":               batchIsAll,
			"a read leaves nothing out":    readsFollow,
			"indexes never come back":      indexesNeverComeBack,
			"it begins where it was begun": begins,
			"bytes are the caller's":       recordsAreTheCallers,
			"a watch hints":                journalHints,
			"a dropped log is not found":   dropped,
			"what has ended is refused":    journalEnded,
			"the outcome is told":          journalOutcomes,
			"a shorter log is refused":     shorterLog,
		})
}

// journals are what one test works with.
type journals struct {
	ctx   context.Context
	setup JournalSetup
}

func of(d Orderer) driver.Journal { return d.Journal() }

// texts are records as their data.
func texts(records []store.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, string(r.Data))
	}
	return strings.Join(all, " ")
}

// appends appends, and ends the test if that fails.
func (b *journals) appends(t *testing.T, j driver.Journal, data ...string) []uint64 {
	t.Helper()
	var records [][]byte
	for _, d := range data {
		records = append(records, []byte(d))
	}
	indexes, err := j.Append(b.ctx, records)
	if err != nil || len(indexes) != len(data) || !slices.IsSorted(indexes) || indexes[0] == 0 {
		t.Fatalf("append %q: %d, %v", data, indexes, err)
	}
	return indexes
}

// read reads, and ends the test if that fails.
func (b *journals) read(t *testing.T, j driver.Journal, after uint64, n int) ([]store.Record, uint64) {
	t.Helper()
	records, _, head, err := j.Read(b.ctx, after, n)
	if err != nil || len(records) > n || n > 0 && len(records) == 0 && after < head {
		t.Fatalf("read %d after %d: %d records, head %d, %v", n, after, len(records), head, err)
	}
	last := after
	for _, r := range records {
		if r.Index <= last || r.Index > head {
			t.Errorf("read after %d: index %d behind %d, head %d", after, r.Index, last, head)
		}
		last = r.Index
	}
	return records, head
}

// all wants the records behind an index, read a few at a time.
func (b *journals) all(t *testing.T, j driver.Journal, after uint64, n int, want ...string) {
	t.Helper()
	var got []store.Record
	for {
		records, head := b.read(t, j, after, n)
		got = append(got, records...)
		if len(records) == 0 || records[len(records)-1].Index == head {
			break
		}
		after = records[len(records)-1].Index
	}
	if texts(got) != strings.Join(want, " ") {
		t.Errorf("%d at a time: %q, want %q", n, texts(got), want)
	}
}

// numbers are the texts from..to-1.
func numbers(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func indexesGrow(t *testing.T, b *journals) {
	open := b.setup.Open(t)
	handles := []driver.Journal{of(open()), of(open()), of(open())}
	last := uint64(0)
	for i := range 12 {
		index := b.appends(t, handles[i%3], fmt.Sprint(i))[0]
		if index <= last {
			t.Fatalf("index %d behind %d", index, last)
		}
		if _, head := b.read(t, handles[(i+1)%3], 0, 0); head != index {
			t.Errorf("another handle finds the head at %d, and %d was acknowledged", head, index)
		}
		last = index
	}
	b.all(t, handles[0], 0, 100, numbers(0, 12)...)
}

func batchIsAll(t *testing.T, b *journals) {
	d := b.setup.Open(t)()
	most := max(1, d.Limits().Batch)
	first := b.appends(t, of(d), numbers(0, most)...)
	b.appends(t, of(d), numbers(most, 2*most)...)
	b.all(t, of(d), 0, 3*most, numbers(0, 2*most)...)
	b.all(t, of(d), first[most-1], 3*most, numbers(most, 2*most)...)
	for _, over := range [][][]byte{make([][]byte, most+1), {make([]byte, d.Limits().Value+1)}} {
		if _, err := of(d).Append(b.ctx, over); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("append over the limits: %v", err)
		}
	}
	b.all(t, of(d), first[0], 3*most, numbers(1, 2*most)...)
}

func readsFollow(t *testing.T, b *journals) {
	open := b.setup.Open(t)
	writer, reader := of(open()), of(open())
	var at []uint64
	for _, text := range numbers(0, 40) {
		at = append(at, b.appends(t, writer, text)...)
	}
	for _, n := range []int{1, 7, 39, 40, 100} {
		b.all(t, reader, 0, n, numbers(0, 40)...)
	}
	b.all(t, reader, at[20], 100, numbers(21, 40)...)
	if records, head := b.read(t, reader, at[39]+1000, 10); len(records) > 0 || head != at[39] {
		t.Errorf("beyond the end: %d records, head %d; want none and %d", len(records), head, at[39])
	}
}

// indexesNeverComeBack frees some, then all; what is freed is told, and indexes go on.
func indexesNeverComeBack(t *testing.T, b *journals) {
	open := b.setup.Open(t)
	d, other := of(open()), of(open())
	var at []uint64
	for _, text := range numbers(0, 20) {
		at = append(at, b.appends(t, d, text)...)
	}
	for _, upTo := range []int{9, 9, 4, 19} {
		if err := d.Free(b.ctx, at[upTo]); err != nil {
			t.Fatal(err)
		}
		freed := max(upTo, 9)
		b.all(t, other, at[freed], 100, numbers(freed+1, 20)...)
		if records, first, _, err := other.Read(b.ctx, at[0], 100); err != nil || first != at[freed]+1 {
			t.Errorf("freed up to %d: a read of what is gone has %d records, first %d, %v", at[freed], len(records),
				first, err)
		}
	}
	if _, head := b.read(t, other, at[19], 10); head != at[19] {
		t.Errorf("the head is at %d when all is freed, and was at %d", head, at[19])
	}
	if next := b.appends(t, other, "next")[0]; next <= at[19] {
		t.Errorf("the index %d came back", next)
	}
	b.all(t, d, at[19], 100, "next")
}

func begins(t *testing.T, b *journals) {
	open := b.setup.Open(t)
	d, other := of(open()), of(open())
	const index = 1000
	if _, head := b.read(t, d, 0, 10); head != 0 {
		t.Errorf("an unused journal has head %d", head)
	}
	for range 2 {
		if err := d.Start(b.ctx, index); err != nil {
			t.Fatal(err)
		}
	}
	if records, first, head, err := other.Read(b.ctx, 0, 10); err != nil || len(records) > 0 || first != index+1 ||
		head != index {
		t.Errorf("begun at %d: %d records, first %d, head %d, %v", index, len(records), first, head, err)
	}
	conflict := func(index uint64) {
		if err := other.Start(b.ctx, index); !errors.Is(err, store.ErrConflict) {
			t.Errorf("start at %d: %v, want a conflict", index, err)
		}
	}
	conflict(index + 1)
	conflict(index - 1)
	next := b.appends(t, d, "next")[0]
	if next <= index {
		t.Errorf("the first index is %d", next)
	}
	conflict(index)
	conflict(next)
	b.all(t, other, index, 10, "next")
}

func recordsAreTheCallers(t *testing.T, b *journals) {
	d := of(b.setup.Open(t)())
	given := []byte("mine")
	if _, err := d.Append(b.ctx, [][]byte{given}); err != nil {
		t.Fatal(err)
	}
	copy(given, "xxxx")
	records, _ := b.read(t, d, 0, 1)
	copy(records[0].Data, "yyyy")
	b.all(t, d, 0, 1, "mine")
}

func journalHints(t *testing.T, b *journals) {
	open := b.setup.Open(t)
	d, n := open(), 0
	hintsOf(b.ctx, t, of(d).Watch, func() {
		n++
		b.appends(t, of(open()), fmt.Sprint(n))
	})
}

// dropped: another handle drops a named log, and those who hold it are told.
func dropped(t *testing.T, b *journals) {
	open := b.setup.Open(t)
	d := open()
	mine, named := any(d).(driver.NamedJournals)
	if !named {
		return
	}
	if _, err := mine.OpenJournal(b.ctx, "named", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open a log that is not there: %v", err)
	}
	j, err := mine.OpenJournal(b.ctx, "named", true)
	if err != nil {
		t.Fatal(err)
	}
	b.appends(t, j, "x")
	for range 2 { // it may be repeated
		if err := any(open()).(driver.NamedJournals).DropJournal(b.ctx, "named"); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range map[string]func() error{ // order-free: each is judged alone
		"read":   func() error { _, _, _, err := j.Read(b.ctx, 0, 1); return err },
		"append": func() error { _, err := j.Append(b.ctx, [][]byte{nil}); return err },
	} {
		err := call()
		for d.Limits().Lingers && !errors.Is(err, store.ErrNotFound) && b.ctx.Err() == nil {
			err = call()
		}
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of a log that was dropped: %v", name, err)
		}
	}
}

func journalEnded(t *testing.T, b *journals) {
	d := b.setup.Open(t)()
	endedCalls(b.ctx, t, d, func(ctx context.Context) map[string]error {
		_, appends := of(d).Append(ctx, [][]byte{[]byte("x")})
		_, _, _, read := of(d).Read(ctx, 0, 1)
		free, start, watch := of(d).Free(ctx, 1), of(d).Start(ctx, 5), of(d).Watch(ctx, func() {})
		return map[string]error{"read": read, "append": appends, "free": free, "start": start, "watch": watch}
	})
}

// journalOutcomes loses requests and answers on their way. What is appended together stands at most once, all or none,
// and an error of another kind than unknown proves that it never does.
func journalOutcomes(t *testing.T, b *journals) {
	if b.setup.Through == nil {
		return
	}
	for fault, name := range []string{"lost request", "lost reply", "late request"} {
		t.Run(name, func(t *testing.T) {
			witness, through, link := b.setup.Through(t)
			b.appends(t, of(witness), "before")
			link.Next(Fault(fault), func() {})
			all := min(3, max(1, through.Limits().Batch))
			_, err := of(through).Append(b.ctx, slices.Repeat([][]byte{[]byte("ours")}, all))
			judge := func(when string) {
				records, _ := b.read(t, of(witness), 0, 10)
				switch n := strings.Count(texts(records), "ours"); {
				case n != 0 && n != all:
					t.Errorf("%d of its %d records stand %s", n, all, when)
				case err == nil && n == 0:
					t.Errorf("it was said to be done, and %s it is not", when)
				case err != nil && !errors.Is(err, store.ErrUnknown) && n > 0:
					t.Errorf("it was said not to be done (%v), and %s it is", err, when)
				}
			}
			judge("at once")
			link.Arrive()
			judge("in the end")
		})
	}
}

// shorterLog: a handle that has seen a head refuses one behind it, also where it has seen it in an append.
func shorterLog(t *testing.T, b *journals) {
	if b.setup.Deposed == nil {
		return
	}
	for _, how := range []string{"append", "read", "freed"} {
		t.Run(how, func(t *testing.T) {
			d, deposed := b.setup.Deposed(t)
			one := b.appends(t, of(d), "one")
			if how == "freed" {
				if err := of(d).Free(b.ctx, one[0]); err != nil {
					t.Fatal(err)
				}
			}
			b.read(t, of(d), one[0], 10)
			deposed(true)
			b.appends(t, of(d), "two")
			if how == "read" {
				deposed(false)
				b.read(t, of(d), one[0], 10)
				deposed(true)
				b.appends(t, of(d), "three")
			}
			if _, _, head, err := of(d).Read(b.ctx, one[0], 10); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("of a log of which more was seen: head %d, %v", head, err)
			}
			deposed(false)
			b.read(t, of(d), one[0], 10)
		})
	}
}
