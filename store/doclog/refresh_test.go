package doclog

import (
	"context"
	"errors"
	"testing"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
)

// stale are documents whose lists can be refreshed, which fails.
type stale struct {
	*memory.Store
	err error
}

func (s stale) Refresh(context.Context) error { return s.err }

// TestRefresh: a log hides nothing of what its documents can do for one who copies them.
func TestRefresh(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		docs Docs
		want error
	}{"stale": {stale{memory.New().Open(), failed}, failed}, "not stale": {memory.New().Open(), nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := New(c.docs, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, ok := s.(store.Refresher)
			if !ok {
				t.Fatal("it is no Refresher")
			}
			if err := r.Refresh(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
