package doclog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// losing answers calls of documents whose keys have a suffix with an error.
type losing struct {
	*memory.Store
	suffix string
	err    error
}

func (l *losing) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if l.suffix != "" && strings.HasSuffix(d.Key, l.suffix) {
		return "", l.err
	}
	return l.Store.Put(ctx, d)
}

func (l *losing) Get(ctx context.Context, key string) (store.Doc, error) {
	if l.suffix != "" && strings.HasSuffix(key, l.suffix) {
		return store.Doc{}, l.err
	}
	return l.Store.Get(ctx, key)
}

// spoiled is a log over documents that can be spoiled.
func spoiled(t *testing.T, o Options) (*log, *losing) {
	t.Helper()
	docs := &losing{Store: memory.New().Open()}
	l, err := newLog(struct{ Docs }{docs}, o)
	must.Succeed(t, err)
	t.Cleanup(func() { l.Close() })
	return l, docs
}

// remove deletes the documents whose keys end with a suffix, and requires that there are some.
func (l *losing) remove(t *testing.T, suffix string) {
	t.Helper()
	docs, err := l.Store.List(t.Context(), "")
	must.Succeed(t, err)
	n := 0
	for _, d := range docs {
		if strings.HasSuffix(d.Key, suffix) {
			n++
			must.Succeed(t, l.Store.Delete(t.Context(), d.Key, d.Version))
		}
	}
	if n != 1 {
		t.Fatalf("%d documents end with %q: the test shows nothing", n, suffix)
	}
}

// A record may be as long as the options say, and no longer.
func TestTheLongestRecord(t *testing.T) {
	t.Parallel()
	l, _ := spoiled(t, Options{MaxRecord: 100})
	if _, err := l.Append(deadline(t), make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if _, err := l.Append(deadline(t), make([]byte, 101)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("one more: %v", err)
	}
}

// A record that somebody removed is said to be missing by its number: it is neither the end of the log nor skipped.
func TestAMissingRecord(t *testing.T) {
	t.Parallel()
	l, docs := spoiled(t, Options{})
	for range 5 {
		if _, err := l.Append(deadline(t), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	docs.remove(t, "3")
	if p, err := l.Read(deadline(t), 0, 10); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "record 3 is missing") {
		t.Errorf("read %+v, %v", p, err)
	}
}

// A snapshot of which a part is missing, or cannot be read or written, is not taken for a whole one.
func TestASnapshotInPieces(t *testing.T) {
	t.Parallel()
	l, docs := spoiled(t, small())
	for range 3 {
		if _, err := l.Append(deadline(t), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	ten := []byte("0123456789")
	docs.suffix, docs.err = "/000001", store.ErrUnknown
	if err := l.SaveSnapshot(deadline(t), store.Record{Index: 2, Data: ten}); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "part 2 of 4") {
		t.Errorf("a part that was not written: %v", err)
	}
	docs.suffix = ""
	must.Succeed(t, l.SaveSnapshot(deadline(t), store.Record{Index: 3, Data: ten}))
	docs.suffix, docs.err = "/000001", store.ErrUnavailable
	if s, err := l.Snapshot(deadline(t)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a part that cannot be read: %q, %v", s.Data, err)
	}
	docs.suffix = ""
	if s, err := l.Snapshot(deadline(t)); err != nil || string(s.Data) != string(ten) {
		t.Errorf("got %q, %v", s.Data, err)
	}
	docs.remove(t, "/000003")
	if s, err := l.Snapshot(deadline(t)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the snapshot at 3 is not whole") {
		t.Errorf("a part that is missing: %q, %v", s.Data, err)
	}
}
