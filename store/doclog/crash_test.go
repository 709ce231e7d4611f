package doclog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// mortal are the documents of a process that dies at a write: nothing that it asks for after that happens.
type mortal struct {
	Docs
	left int // writes until then
}

func (m *mortal) write() error {
	if m.left--; m.left < 0 {
		return store.ErrClosed
	}
	return nil
}

func (m *mortal) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if err := m.write(); err != nil {
		return "", err
	}
	return m.Docs.Put(ctx, d)
}

func (m *mortal) Delete(ctx context.Context, key string, v store.Version) error {
	if err := m.write(); err != nil {
		return err
	}
	return m.Docs.Delete(ctx, key, v)
}

func (m *mortal) Get(ctx context.Context, key string) (store.Doc, error) {
	if m.left < 0 {
		return store.Doc{}, store.ErrClosed
	}
	return m.Docs.Get(ctx, key)
}

func (m *mortal) List(ctx context.Context, prefix string) ([]store.Doc, error) {
	if m.left < 0 {
		return nil, store.ErrClosed
	}
	return m.Docs.List(ctx, prefix)
}

// life appends, saves and trims until it dies, and returns what was acknowledged.
func life(ctx context.Context, s store.Log, name string) (acknowledged []string) {
	for round := range 2 {
		for i := range 3 {
			data := fmt.Sprintf("%s.%d.%d", name, round, i)
			if _, err := s.Append(ctx, []byte(data)); err != nil {
				return acknowledged
			}
			acknowledged = append(acknowledged, data)
		}
		if err := compactAll(ctx, s); err != nil {
			return acknowledged
		}
	}
	return acknowledged
}

// contents reads the snapshot and what is behind it.
func contents(ctx context.Context, s store.Log) (all []store.Record, err error) {
	snapshot, err := s.Snapshot(ctx)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	all = decodeAll(snapshot)
	for {
		after := uint64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Index
		}
		page, err := s.Read(ctx, after, 2)
		if errors.Is(err, store.ErrTruncated) { // another one has saved and trimmed since
			return contents(ctx, s)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Records...)
		if len(all) == 0 || all[len(all)-1].Index >= page.Head {
			return all, nil
		}
	}
}

func compactAll(ctx context.Context, s store.Log) error {
	all, err := contents(ctx, s)
	if err != nil || len(all) == 0 {
		return err
	}
	last := all[len(all)-1].Index
	if err := s.SaveSnapshot(ctx, store.Record{Index: last, Data: encodeAll(all)}); err != nil {
		return err
	}
	return s.Trim(ctx, last)
}

// TestDeathAtEachWrite lets a process die at each of its writes, and another one behind it at each of its own; whoever comes then finds all that was
// acknowledged, once, and leaves nothing behind.
func TestDeathAtEachWrite(t *testing.T) {
	t.Parallel()
	ctx := deadline(t)
	deaths := 0
	for first := 0; ; first++ {
		server := memory.New()
		one, died := dieAt(t, ctx, server, first, "one")
		if !died {
			break
		}
		deaths++
		want := append(one, survived(dieAt(t, ctx, server, (first*7)%40, "two"))...)
		last := over(t, server.Open(), small())
		want = append(want, life(ctx, last, "last")...)
		wantAll(t, ctx, last, want)
		wantSwept(t, ctx, server, last)
		if t.Failed() {
			t.Fatalf("the first died at its write %d", first)
		}
	}
	if deaths < 30 {
		t.Errorf("it died %d times only", deaths)
	}
}

func survived(acknowledged []string, _ bool) []string { return acknowledged }

func dieAt(t *testing.T, ctx context.Context, server *memory.Server, write int, name string) (acknowledged []string, died bool) {
	t.Helper()
	m := &mortal{Docs: server.Open(), left: write}
	s, err := newLog(m, Options{PartBytes: 5, Ahead: 1})
	must.Succeed(t, err)
	acknowledged = life(ctx, s, name)
	return acknowledged, m.left < 0
}

func wantAll(t *testing.T, ctx context.Context, s store.Log, want []string) {
	t.Helper()
	all, err := contents(ctx, s)
	must.Succeed(t, err)
	times := map[string]int{}
	for i, r := range all {
		times[string(r.Data)]++
		if r.Index != uint64(i)+1 {
			t.Errorf("record %d stands at place %d", r.Index, i)
		}
	}
	for _, data := range want {
		if times[data] == 0 {
			t.Errorf("%s was acknowledged and is lost", data)
		}
	}
	for data, n := range times {
		if n > 1 {
			t.Errorf("%s is there %d times", data, n)
		}
	}
}

// wantSwept checks that after a trim of all only the state and one snapshot are left.
func wantSwept(t *testing.T, ctx context.Context, server *memory.Server, s store.Log) {
	t.Helper()
	if _, err := s.Append(ctx, []byte("end")); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, compactAll(ctx, s))
	snapshot, err := s.Snapshot(ctx)
	must.Succeed(t, err)
	docs, err := server.Open().List(ctx, "")
	must.Succeed(t, err)
	for _, d := range docs {
		if d.Key != "#log/meta" && !strings.HasPrefix(d.Key, fmt.Sprintf("#log/s/%020d-", snapshot.Index)) {
			t.Errorf("%s is left", d.Key)
		}
	}
}
