package journal

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// small is a store that takes short documents alone, and in which others remove what is to be removed.
type small struct {
	store.Docs
	most int
}

func (s small) Put(ctx context.Context, d store.Doc) (store.Version, error) {
	if len(d.Value) > s.most {
		return "", store.ErrTooLarge
	}
	return s.Docs.Put(ctx, d)
}

func (s small) Delete(ctx context.Context, key string, v store.Version) error {
	if err := s.Docs.Delete(ctx, key, v); err != nil {
		return err
	}
	return store.ErrNotFound
}

// A document that may not grow is followed by another one.
func TestADocumentThatMayNotGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := NewDocs(small{memory.New().Open(), 200}, "m", 0)
		for range 3 {
			must.Succeed(t, j.Append(t.Context(), Record{Kind: RunError, Message: strings.Repeat("x", 100)}))
		}
		if got, err := j.Read(t.Context(), Query{}); err != nil || len(got) != 3 {
			t.Errorf("%d records, %v", len(got), err)
		}
	})
}

// A sweep goes on where another member has removed a document before it.
func TestTwoSweepers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := memory.New().Open()
		for _, member := range []string{"a", "b", "c"} {
			must.Succeed(t, NewDocs(docs, member, 0).Append(t.Context(), Record{Kind: RunError}))
		}
		time.Sleep(usualKeep + 2*time.Hour)
		must.Succeed(t, NewDocs(small{docs, 1000}, "m", 0).Append(t.Context(), Record{Kind: RunError, Message: "new"}))
		if left, err := docs.List(t.Context(), prefix); err != nil || len(left) != 1 {
			t.Errorf("%d documents are left, %v; want the new one", len(left), err)
		}
	})
}

// hanging does not answer its first call.
type hanging struct {
	*Memory
	calls int
}

func (h *hanging) Append(ctx context.Context, records ...Record) error {
	if h.calls++; h.calls == 1 {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Memory.Append(ctx, records...)
}

// A store that does not answer is asked again, and a record without a time has that of its Add.
func TestBufferedAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &hanging{Memory: NewMemory(10)}
		b := NewBuffered(to, nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { b.Run(ctx); close(ended) }()
		began := time.Now().UnixMilli()
		b.Add(Record{Kind: RunError})
		time.Sleep(tryFor + retryFirst)
		synctest.Wait()
		if got, err := to.Read(t.Context(), Query{}); err != nil || len(got) != 1 || got[0].AtMS != began {
			t.Errorf("after %v: %v, %v", tryFor+retryFirst, got, err)
		}
		stop()
		<-ended
	})
}

// Records come in any order: a sum is from the first to the last, and of what one person asked.
func TestSumsSpanAll(t *testing.T) {
	t.Parallel()
	s := sums{}
	for _, at := range []int64{3000, 1000, 2000} {
		s.add(Record{AtMS: at, Kind: RunError})
	}
	s.add(Record{AtMS: 9000, Kind: RunError, By: "ann"})
	got := s.records()
	if len(got) != 2 || got[1].By != "ann" || got[0].AtMS != 3000 ||
		!strings.HasPrefix(got[0].Message, "3 more like this within 2s,") {
		t.Errorf("%v", got)
	}
}
