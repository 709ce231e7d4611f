package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

// stored is a call as it is in the store.
type stored struct {
	key     string
	version store.Version
	Record
}

func read(ctx context.Context, docs store.Docs, key string) (stored, error) {
	d, err := docs.Get(ctx, key)
	if err != nil {
		return stored{}, err
	}
	r, err := decode(d.Value)
	if err != nil {
		return stored{}, fmt.Errorf("%s: %w", key, err)
	}
	return stored{d.Key, d.Version, r}, nil
}

// act does what concerns the document of one call.
func act(ctx context.Context, docs store.Docs, key string, fx effect) answer {
	switch fx := fx.(type) {
	case putCall:
		body, err := fx.record.encode()
		if err != nil {
			return putEnded{err: err}
		}
		v, err := docs.Put(ctx, store.Doc{Key: key, Value: body, Version: fx.version})
		return putEnded{v, err}
	case pause:
		return paused{rest(ctx, fx.try)}
	}
	now, err := read(ctx, docs, key)
	return got{now, err}
}

// rest waits a little longer each time.
func rest(ctx context.Context, try int) error {
	t := time.NewTimer(min(time.Duration(try)*10*time.Millisecond, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// remove deletes a document at a version; one that is gone or was changed is no error.
func remove(ctx context.Context, docs store.Docs, key string, v store.Version) (removed bool, err error) {
	err = docs.Delete(ctx, key, v)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
