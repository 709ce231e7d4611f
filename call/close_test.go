package call

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// lister tells of each list of calls before its caller gets it.
type lister struct {
	store.Docs
	listed func()
}

func (l lister) List(ctx context.Context, dir string) ([]store.Doc, error) {
	docs, err := l.Docs.List(ctx, dir)
	l.listed()
	return docs, err
}

// A call that is collected while its client is closed is removed all the same.
func TestCloseWaitsForTheRemovalOfWhatWasCollected(t *testing.T) {
	t.Parallel()
	docs := memory.New().Open()
	var c *Client
	hold := sync.OnceFunc(func() { c.mu.Lock() }) // until the waiter has its outcome
	c, err := NewClient(lister{docs, func() { hold() }}, ClientOptions{Queue: "q"})
	must.Succeed(t, err)
	h, err := c.Submit(t.Context(), "f", []byte("1"), Options{})
	must.Succeed(t, err)
	must.Succeed(t, h.Cancel(t.Context()))
	if _, err := h.Wait(t.Context()); !errors.Is(err, ErrCancelled) {
		t.Fatalf("got %v", err)
	}
	c.closed = true
	c.mu.Unlock()
	c.Close()
	if got := keys(t, docs); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}
