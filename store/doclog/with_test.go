package doclog

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// counting counts the requests of documents that have all in one request, or not.
type counting struct {
	*memory.Store
	requests int
}

func (c *counting) Get(ctx context.Context, key string) (store.Doc, error) {
	c.requests++
	return c.Store.Get(ctx, key)
}

func (c *counting) Gets(ctx context.Context, keys []string) ([]store.Doc, error) {
	c.requests++
	return c.Store.Gets(ctx, keys)
}

// TestReadWith: the log and documents come together, each on its own account, and a look without news is one request where that can be.
func TestReadWith(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		single bool
		want   int // requests of a look
	}{{false, 1}, {true, 3}} {
		t.Run(fmt.Sprint("single ", c.single), func(t *testing.T) {
			t.Parallel()
			counted := &counting{Store: memory.New().Open()}
			var docs Docs = mute{counted, counted}
			if c.single {
				docs = struct{ Docs }{counted}
			}
			s, err := New(docs, Options{})
			must.Succeed(t, err)
			defer s.Close()
			ctx := deadline(t)
			v, err := s.Put(ctx, store.Doc{Key: "a", Value: []byte("x")})
			must.Succeed(t, err)
			for i := range 3 {
				if _, err := s.Append(ctx, fmt.Append(nil, i)); err != nil {
					t.Fatal(err)
				}
			}
			page, found, err := s.ReadWith(ctx, 0, 10, []string{"b", "a"})
			if err != nil || len(page.Records) != 3 || page.Head != 3 || len(found) != 2 || found[0].Version != "" || found[1].Version != v {
				t.Errorf("all: %+v, %+v, %v", page, found, err)
			}
			counted.requests = 0
			page, found, err = s.ReadWith(ctx, 3, 10, []string{"a"})
			if err != nil || len(page.Records) != 0 || page.Head != 3 || len(found) != 1 || string(found[0].Value) != "x" || counted.requests != c.want {
				t.Errorf("no news: %+v, %+v, %v, %d requests, want %d", page, found, err, counted.requests, c.want)
			}
			must.Succeed(t, errors.Join(s.SaveSnapshot(ctx, store.Record{Index: 3}), s.Trim(ctx, 3)))
			_, found, err = s.ReadWith(ctx, 1, 10, []string{"a"})
			if !errors.Is(err, store.ErrTruncated) || len(found) != 1 || found[0].Version != v {
				t.Errorf("trimmed: %+v, %v; want the document, and ErrTruncated", found, err)
			}
			if _, _, err := s.ReadWith(ctx, 3, 10, []string{"#log/meta"}); err == nil {
				t.Error("a document of the log is given away")
			}
		})
	}
}
