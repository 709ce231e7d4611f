package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rota-run/rota/store"
)

// stored is a call as it stands in the store.
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

// write replaces a document by what it is to be next, if it is still at its version, and finds out whether that was done: an unknown outcome is
// resolved by reading. is tells a record that says what was to be written. The error is store.ErrConflict where somebody else wrote, and matches
// store.ErrUnknown where the store went away before it could tell.
func write(ctx context.Context, docs store.Docs, old stored, next Record, is func(Record) bool) (stored, error) {
	body, err := next.encode()
	if err != nil {
		return stored{}, err
	}
	for doubt, try := false, 1; ; try++ {
		v, err := docs.Put(ctx, store.Doc{Key: old.key, Value: body, Version: old.version})
		switch {
		case err == nil:
			return stored{old.key, v, next}, nil
		case errors.Is(err, store.ErrUnknown), errors.Is(err, store.ErrConflict) && doubt:
		case doubt:
			return stored{}, errors.Join(store.ErrUnknown, err)
		default:
			return stored{}, err
		}
		doubt = true
		now, err := read(ctx, docs, old.key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return stored{}, store.ErrConflict
		case err != nil:
			return stored{}, errors.Join(store.ErrUnknown, err)
		case is(now.Record):
			return now, nil
		case now.version != old.version:
			return stored{}, store.ErrConflict
		}
		// It may still come; written again under the same version, one of the two is done.
		if err := rest(ctx, try); err != nil {
			return stored{}, errors.Join(store.ErrUnknown, err)
		}
	}
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
