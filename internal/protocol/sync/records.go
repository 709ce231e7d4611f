package sync

import (
	"context"
	"errors"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/store"
)

// Records is the sync topic as a log of entries, for those who read it: each message is decoded. What is no record is
// no entry either.
type Records struct{ store.Log }

// Read implements store.Log.
func (r Records) Read(ctx context.Context, after uint64, limit int) (store.Page, error) {
	page, err := r.Log.Read(ctx, after, limit)
	decoded := make([]store.Record, len(page.Records))
	for i, rec := range page.Records {
		decoded[i] = store.Record{Index: rec.Index, Data: Binary(rec.Data)}
	}
	page.Records = decoded
	return page, err
}

// Binary is the entry of a message, as package cluster encodes it; for what is no record, bytes that are no entry.
func Binary(message []byte) []byte {
	e, err := DecodeRecord(message)
	if other, ok := errors.AsType[*cluster.FormatError](err); ok {
		return other.Entry()
	}
	if err != nil {
		return append([]byte{0}, message...)
	}
	return e.Encode()
}

// epochOf is the present epoch, for people.
func epochOf(v cluster.Value) string {
	e, ok := v.Epoch()
	if !ok {
		return "none"
	}
	return e.String() + "/" + string(e.Leader)
}
