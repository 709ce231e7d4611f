package logdocs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/logdocs"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onMemory is documents in the log of a store in memory.
type onMemory struct {
	*logdocs.Store
	under *memory.Store
}

func (h onMemory) Close() error { return errors.Join(h.Store.Close(), h.under.Close()) }

func openMemory(o logdocs.Options) storetest.Open[onMemory] {
	return func(t *testing.T) func(*testing.T) onMemory {
		server := memory.New()
		return func(t *testing.T) onMemory {
			under := server.Open()
			h := onMemory{opened(t, under, o), under}
			t.Cleanup(func() { h.Close() })
			return h
		}
	}
}

// opened is documents in a log, until the test ends.
func opened(t *testing.T, l logdocs.Log, o logdocs.Options) *logdocs.Store {
	t.Helper()
	s, err := logdocs.New(l, o)
	must.Succeed(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// kinds are the options under which the suites run. With fewer records between two snapshots, a handle that the machine stops for some milliseconds could not
// see what became of its change, and the suites want to know; TestModel has as few as one.
func kinds() map[string]logdocs.Options {
	return map[string]logdocs.Options{"plain": {}, "confirmed": {Confirm: true}, "short": {SnapshotEvery: 120}}
}

func TestDocs(t *testing.T) {
	t.Parallel()
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) { t.Parallel(); storetest.Docs(t, openMemory(o)) })
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) { t.Parallel(); storetest.Watch(t, openMemory(o)) })
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if _, err := logdocs.New(memory.New().Open(), logdocs.Options{SnapshotEvery: -1, Timeout: -1}); err == nil {
		t.Error("options below 0: no error")
	}
}

// TestReadOnly reads what another handle wrote, and changes nothing: not even with a mark.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	server, ctx := memory.New(), context.Background()
	writer := opened(t, server.Open(), logdocs.Options{})
	under := server.Open()
	reader := opened(t, under, logdocs.Options{ReadOnly: true})
	v, err := writer.Put(ctx, store.Doc{Key: "a"})
	must.Succeed(t, err)
	if d, err := reader.Get(ctx, "a"); err != nil || d.Version != v {
		t.Errorf("get: %+v, %v", d, err)
	}
	if _, err := reader.Put(ctx, store.Doc{Key: "b"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("put: %v, want ErrReadOnly", err)
	}
	if err := reader.Delete(ctx, "a", v); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("delete: %v, want ErrReadOnly", err)
	}
	if page, err := under.Read(ctx, 0, 10); err != nil || page.Head != 1 {
		t.Errorf("the log ends at %d, %v; want 1", page.Head, err)
	}
}

// TestForeignRecords finds records that are no operations: they are counted, and change nothing.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	server, ctx := memory.New(), context.Background()
	under := server.Open()
	for _, text := range []string{"", "x", "p", "hello world", "p\x01a\x02/b\x00", "p\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		must.Succeed(t, must.Err(under.Append(ctx, []byte(text))))
	}
	s := opened(t, under, logdocs.Options{})
	must.Succeed(t, must.Err(s.Put(ctx, store.Doc{Key: "a"})))
	if docs, err := s.List(ctx, ""); err != nil || len(docs) != 1 || s.Skipped() != 6 {
		t.Errorf("%d documents, %d records skipped, %v; want 1 and 6", len(docs), s.Skipped(), err)
	}
}

// TestLateHandle begins with a snapshot, since the beginning of the log is trimmed.
func TestLateHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, lateHandle)
}

func lateHandle(t *testing.T) {
	server, ctx := memory.New(), context.Background()
	early := server.Open()
	first := opened(t, early, logdocs.Options{SnapshotEvery: 10})
	versions := map[string]store.Version{}
	for i := range 200 {
		key := fmt.Sprint("k", i%7)
		v, err := first.Put(ctx, store.Doc{Key: key, Value: fmt.Append(nil, i), Version: versions[key]})
		must.Succeed(t, err)
		versions[key] = v
	}
	synctest.Wait() // for the snapshot that is being saved
	if _, err := early.Read(ctx, 0, 1); !errors.Is(err, store.ErrTruncated) {
		t.Fatalf("after 200 changes with a snapshot every 10, read from the start: %v, want ErrTruncated", err)
	}
	late := opened(t, server.Open(), logdocs.Options{})
	for key, v := range versions {
		if d, err := late.Get(ctx, key); err != nil || d.Version != v {
			t.Errorf("get %s: %+v, %v; want version %s", key, d, err, v)
		}
	}
}

// failing is a log that fails as it is told.
type failing struct {
	*memory.Store
	append, save, read error
	snapshot           store.Record // instead of the newest, where it has an index
	trims              int
}

func (l *failing) Append(ctx context.Context, data []byte) (uint64, error) {
	if l.append != nil {
		return 0, l.append
	}
	return l.Store.Append(ctx, data)
}

func (l *failing) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	if err := l.read; err != nil {
		l.read = nil // once
		return store.Page{}, err
	}
	return l.Store.Read(ctx, after, limit)
}

func (l *failing) Snapshot(ctx context.Context) (store.Record, error) {
	if l.snapshot.Index != 0 {
		return l.snapshot, nil
	}
	return l.Store.Snapshot(ctx)
}

func (l *failing) SaveSnapshot(ctx context.Context, r store.Record) error {
	if l.save != nil {
		return l.save
	}
	return l.Store.SaveSnapshot(ctx, r)
}

func (l *failing) Trim(ctx context.Context, upTo uint64) error {
	l.trims++
	return l.Store.Trim(ctx, upTo)
}

// TestAMarkOfUnknownOutcome: what is read without the mark may be old, so it is no answer; but nothing is unknown for the reader.
func TestAMarkOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	l := &failing{Store: memory.New().Open()}
	s := opened(t, l, logdocs.Options{Confirm: true})
	must.Succeed(t, must.Err(s.Put(t.Context(), store.Doc{Key: "a"})))
	l.append = store.ErrUnknown
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("get: %v, want unavailable", err)
	}
	l.append = nil
	must.Succeed(t, must.Err(s.Get(t.Context(), "a")))
}

// TestSnapshots: a log is not trimmed unless its snapshot was saved, and a snapshot that is older than what was read does not take anything back.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &failing{Store: memory.New().Open(), save: store.ErrUnavailable}
		s := opened(t, l, logdocs.Options{SnapshotEvery: 10, Logger: slog.New(slog.DiscardHandler)})
		var v store.Version
		var err error
		puts := func(n int) {
			for i := range n {
				v, err = s.Put(t.Context(), store.Doc{Key: "a", Value: fmt.Append(nil, i), Version: v})
				must.Succeed(t, err)
				synctest.Wait() // for the snapshot that is being saved
			}
		}
		puts(50)
		if l.trims != 0 {
			t.Errorf("the log was trimmed %d times, and no snapshot is saved", l.trims)
		}
		l.save = nil
		puts(20)
		old, err := l.Store.Snapshot(t.Context())
		must.Succeed(t, err)
		puts(50)
		l.read, l.snapshot = store.ErrTruncated, old
		if _, err := s.Get(t.Context(), "a"); !errors.Is(err, logdocs.ErrDamaged) {
			t.Errorf("get behind what is trimmed: %v, want damaged", err)
		}
		if d, err := s.Get(t.Context(), "a"); err != nil || d.Version != v {
			t.Errorf("get after it: %+v, %v", d, err)
		}
	})
}
