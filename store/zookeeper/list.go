package zookeeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/internal/driver"
)

// readsAtOnce is how many reads of one call are under way at a time: the library keeps them on one connection, in order.
const readsAtOnce = 64

// List implements store.Docs. It reads the names of the folders, of the documents in those that match, and then each document, from one server, without
// making it catch up: documents that are created or deleted meanwhile may be there or not.
func (s *Store) List(ctx context.Context, prefix string) (_ []store.Doc, err error) {
	defer driver.Wrap(&err, "list %q", prefix)
	if err := store.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	for {
		docs, err := s.listOnce(ctx, prefix)
		var sent *sentError
		if !errors.As(err, &sent) || ctx.Err() != nil || s.isClosed() {
			return docs, s.lost(err)
		}
	}
}

func (s *Store) listOnce(ctx context.Context, prefix string) ([]store.Doc, error) {
	folders, err := s.children(ctx, s.at(docsNode)) // an answer of the server, so that what is known is not older than the call
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, f := range folders {
		folder, ok := folderKey(f)
		if !ok || !inside(folder, prefix) {
			continue
		}
		docs, err := s.look(ctx, spot{s.at(docsNode, f), true})
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
		for _, name := range docs.names {
			keys = append(keys, join(folder, name))
		}
	}
	slices.Sort(keys)
	docs := make([]store.Doc, len(keys))
	err = parallel(ctx, len(keys), func(ctx context.Context, i int) error {
		var err error
		docs[i], err = s.fetch(ctx, keys[i], s.seen)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(docs, func(d store.Doc) bool { return d.Key == "" }), nil
}

// inside reports whether all documents of a folder have the prefix.
func inside(folder, prefix string) bool {
	return prefix == "" || strings.HasPrefix(folder+"/", prefix)
}

// children asks the server for the names of a node's children.
func (s *Store) children(ctx context.Context, path string) ([]string, error) {
	n, err := s.hub.read(ctx, spot{path, true})
	return n.names, err
}

// parallel runs fn for 0 to n-1, readsAtOnce at a time, until one returns an error; that is returned.
func parallel(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var next, failed = make(chan int), make(chan error, 1)
	for range min(n, readsAtOnce) {
		wg.Go(func() {
			for i := range next {
				if err := fn(ctx, i); err != nil {
					select {
					case failed <- err:
						cancel(err)
					default:
					}
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
