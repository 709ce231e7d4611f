package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// tamper changes the database behind the store's back.
func tamper(t *testing.T, s *Store, statement string) {
	t.Helper()
	err := s.change(deadline(t), 0, func(tx *tx) error {
		_, err := tx.exec(statement)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func fillLog(t *testing.T, s *Store, n, size int) {
	t.Helper()
	for range n {
		must.Succeed(t, must.Err(s.Append(deadline(t), make([]byte, size))))
	}
}

func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statement string
		want      string
		readable  uint64 // from behind this index all is well
	}{
		{`UPDATE log SET data = x'01' WHERE idx = 3`, "record 3: wrong checksum", 3},
		{`UPDATE log SET sum = sum + 1 WHERE idx = 5`, "record 5: wrong checksum", 5},
		{`DELETE FROM log WHERE idx = 2`, "record 2 is missing", 2},
		{`DELETE FROM log WHERE idx = 1`, "record 1 is missing", 1},
		{`UPDATE log SET idx = 100 WHERE idx = 6`, "record 100: wrong checksum", 100},
	} {
		t.Run(c.statement, func(t *testing.T) {
			t.Parallel()
			s, ctx := openIn(t, place(t), Options{}), deadline(t)
			fillLog(t, s, 6, 10)
			tamper(t, s, c.statement)
			page, err := s.Read(ctx, 0, 10)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) || len(page.Records) != 0 {
				t.Errorf("read: %d records, %v; want damaged, %q", len(page.Records), err, c.want)
			}
			if _, err := s.Read(ctx, c.readable, 10); err != nil {
				t.Errorf("read behind the damage: %v", err)
			}
		})
	}
}

func TestDamagedDocument(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"value = x'01'", "name = 'other'", "sess = 'other'", "key = 'd/b'"} {
		s, ctx := openIn(t, place(t), Options{}), deadline(t)
		must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: "a", Value: []byte("x")})))
		tamper(t, s, `UPDATE docs SET `+column+` WHERE key = 'd/a'`)
		key := "a"
		if strings.HasPrefix(column, "key") {
			key = "b"
		}
		if _, err := s.Get(ctx, key); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `"`+key+`"`) {
			t.Errorf("%s: get: %v, want damaged, naming the key", column, err)
		}
		if _, err := s.List(ctx, ""); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: list: %v, want damaged", column, err)
		}
	}
	if recordSum(1<<31+5, nil) != recordSum(5, nil) || docSum("a", "b", "", nil) == docSum("ab", "", "", nil) {
		t.Error("a large index has another sum than SQL computes, or two rows have one")
	}
}

// A page that is no page is damage, and not a store that is away: to try again does not help.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	dir, ctx := place(t), deadline(t)
	s := openIn(t, dir, Options{})
	for i := range 40 {
		must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: strconv.Itoa(i), Value: make([]byte, 2000)})))
	}
	must.Succeed(t, s.Close())
	overwrite(t, dir, 8<<12, 20<<12)
	s = openIn(t, dir, Options{})
	if _, err := s.List(ctx, ""); !errors.Is(err, ErrDamaged) {
		t.Errorf("list: %v", err)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := openIn(t, dir, Options{maxPages: 40})
	acknowledged, err := uint64(0), error(nil)
	for range 100_000 {
		var index uint64
		if index, err = s.Append(deadline(t), make([]byte, 3000)); err != nil {
			break
		}
		acknowledged = index
	}
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("append on a full disk: %v, want unavailable and not unknown", err)
	}
	if got := records(t, s); uint64(len(got)) != acknowledged {
		t.Fatalf("%d records on a full disk, want the %d acknowledged ones", len(got), acknowledged)
	}
	if _, err := s.Put(deadline(t), store.Doc{Key: "a", Value: make([]byte, 1<<20)}); !errors.Is(err,
		store.ErrUnavailable) {
		t.Fatalf("put on a full disk: %v, want unavailable", err)
	}
	if _, err := s.Get(deadline(t), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("get after a refused put: %v, want not found", err)
	}
	s.Close()
	s = openIn(t, dir, Options{})
	if index, err := s.Append(deadline(t), nil); err != nil || index != acknowledged+1 {
		t.Fatalf("append when there is room again: index %d, %v; want %d", index, err, acknowledged+1)
	}
}

func TestTrimFreesSpace(t *testing.T) {
	t.Parallel()
	const n = 2*trimRows + 100
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	fill := func(j journal) {
		must.Succeed(t, s.change(ctx, 0, func(tx *tx) error {
			for i := uint64(1); i <= n; i++ {
				data := make([]byte, 1000)
				if _, err := tx.exec(`INSERT INTO log (idx, sum, data) VALUES (?, ?, ?)`, j.base()+int64(i),
					recordSum(i, data), data); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	fill(journal{s.disk, 0})
	before := count(t, s, "PRAGMA page_count")
	must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: n}))
	must.Succeed(t, s.Trim(ctx, n))
	if after := count(t, s, "PRAGMA page_count"); after > before/20 {
		t.Errorf("%d pages before the trim, %d after, want nearly none", before, after)
	}
	must.Succeed(t, journal{s.disk, 0}.Free(ctx, n+100)) // what is not there yet stays
	index, err := s.Append(ctx, []byte("next"))
	if page, readErr := s.Read(ctx, n, 9); err != nil || index != n+1 || len(page.Records) != 1 {
		t.Errorf("append: index %d, %v; want %d, and that it is there: %v", index, err, n+1, readErr)
	}
	d := &rows{s.disk}
	j, _ := must.Get(d.OpenJournal(ctx, "dropped", true))(t).(journal)
	fill(j)
	if page := must.Get(s.Read(ctx, n, 9))(t); page.Head != n+1 {
		t.Errorf("beside another log this one ends at %d", page.Head)
	}
	must.Succeed(t, d.DropJournal(ctx, "dropped"))
	if after := count(t, s, "PRAGMA page_count"); after > before/20 {
		t.Errorf("%d pages after a log was dropped", after)
	}
}

func TestReadOfALotIsCutIntoPages(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	fillLog(t, s, 4, pageBytes/2)
	page, err := s.Read(ctx, 0, 10)
	if err != nil || len(page.Records) != 2 || page.Head != 4 {
		t.Fatalf("%d records, head %d, %v; want 2 and head 4", len(page.Records), page.Head, err)
	}
	if got := records(t, s); len(got) != 4 {
		t.Fatalf("%d records in all, want 4", len(got))
	}
}

func TestAnotherProgramHoldsTheDatabase(t *testing.T) {
	t.Parallel()
	s := openIn(t, place(t), Options{busy: 50 * time.Millisecond})
	db := must.Get(sql.Open("sqlite", filepath.Join(s.dir, dbName)+"?_txlock=immediate"))(t)
	defer db.Close()
	tx := must.Get(db.Begin())(t)
	if _, err := s.Append(deadline(t), nil); !errors.Is(err, store.ErrUnavailable) ||
		!strings.Contains(err.Error(), "another program") {
		t.Errorf("append: %v, want unavailable because of another program", err)
	}
	must.Succeed(t, tx.Rollback())
	if index, err := s.Append(deadline(t), nil); err != nil || index != 1 {
		t.Errorf("append afterwards: index %d, %v; want 1", index, err)
	}
}

func TestHintsWithoutFileEvents(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{noEvents: true}), deadline(t)
	wantHintAfter(t, ctx, s, func() { fillLog(t, s, 1, 1) })
}

// A process may die between its commit and the bell.
func TestHintsWithoutBell(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	other := openIn(t, s.dir, Options{})
	wantHintAfter(t, ctx, s, func() { tamper(t, other, `INSERT INTO log (idx, sum, data) VALUES (1, 0, x'')`) })
}

func wantHintAfter(t *testing.T, ctx context.Context, s *Store, change func()) {
	t.Helper()
	hints := must.Get(s.WatchLog(ctx))(t)
	<-hints
	eventually(t, "the notifier knows the version of the data", func() bool { return s.notice.looks.Load() > 2 })
	change()
	select {
	case <-hints:
	case <-ctx.Done():
		t.Fatal("no hint")
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	if err := classify(fmt.Errorf("x: %w", ErrDamaged)); errors.Is(err, store.ErrUnavailable) {
		t.Errorf("damage classified as %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(store.ErrClosed)
	if err := readError(ctx, errors.New("interrupted")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a read whose ctx has ended failed with %v, want its cause", err)
	}
	if err := classify(errors.New("any")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an unknown error of the database classified as %v", err)
	}
	for err, try := range map[error]string{
		syscall.EACCES: "try as the owner", syscall.EROFS: "can be written", syscall.ENOSPC: "free some space",
	} {
		if got := hinted(err); !errors.Is(got, err) || !strings.Contains(got.Error(), try) {
			t.Errorf("%v has the hint %v", err, got)
		}
	}
	if err := classifyCommit(errors.New("any")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("an unknown error of a commit classified as %v", err)
	}
}

// A database that does not do what it is asked is an error of each call.
func TestWithoutTables(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	d := &rows{s.disk}
	j := must.Get(d.OpenJournal(ctx, "x", true))(t)
	calls := map[string]func() error{
		"swap":   func() error { return must.Err(d.Swap(ctx, driver.Op{Key: "d/a", Name: "1"})) },
		"free":   func() error { return d.Free(ctx, []string{"d/a"}) },
		"keys":   func() error { return must.Err(d.Read(ctx, driver.Query{Keys: []string{"d/a"}})) },
		"append": func() error { return must.Err(j.Append(ctx, [][]byte{nil})) },
		"start":  func() error { return j.Start(ctx, 7) },
		"trim":   func() error { return j.Free(ctx, 7) },
		"drop":   func() error { return d.DropJournal(ctx, "x") },
	}
	tamper(t, s, `ALTER TABLE docs RENAME TO docs_gone`)
	for _, table := range []string{"log", "logs"} {
		tamper(t, s, fmt.Sprintf(`ALTER TABLE %[1]s RENAME TO %[1]s_gone`, table))
		for name, call := range calls { // order-free: each is asked alone
			if err := call(); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A commit that fails for a reason that nobody foresaw may have been made: its outcome is unknown, to all whose changes
// shared it.
func TestACommitThatFailsIsUnknown(t *testing.T) {
	t.Parallel()
	s := openIn(t, place(t), Options{})
	err := s.change(deadline(t), 0, func(tx *tx) error {
		tx.rollback() // what stands for a disk that fails: the commit finds no transaction
		return nil
	})
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("got %v, want that the outcome is unknown", err)
	}
}
