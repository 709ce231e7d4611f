package store

import (
	"context"
	"errors"
)

// GetAll is [GetMany] on any documents: with Gets if they implement it, else with one Get after the other.
func GetAll(ctx context.Context, docs Docs, keys []string) ([]Doc, error) {
	if many, ok := docs.(GetMany); ok {
		return many.Gets(ctx, keys)
	}
	out := make([]Doc, len(keys))
	for i, key := range keys {
		d, err := docs.Get(ctx, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		d.Key = key
		out[i] = d
	}
	return out, nil
}
