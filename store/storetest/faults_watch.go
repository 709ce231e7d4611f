package storetest

import (
	"context"
	"testing"

	"github.com/rota-run/rota/store"
)

// watchedStore is what WatchFaults needs.
type watchedStore interface {
	store.Docs
	store.Watcher
	store.Log
	store.LogWatcher
}

// WatchFaults is the suite of store.Watcher and store.LogWatcher when the path to the server breaks: a watch survives it, and sends a hint for the changes
// meanwhile after the link has healed.
func WatchFaults[S watchedStore](t *testing.T, open OpenThrough[S]) {
	var rules []faultRule[S]
	for _, o := range outages() {
		rules = append(rules, faultRule[S]{"hint after the link was " + o.name, watchOutage[S](o)})
	}
	runFaultRules(t, open, append(rules, faultRule[S]{"hint after a reset", watchCut[S]}))
}

// watches are both kinds.
type watches struct {
	docs, log <-chan struct{}
	v         store.Version
}

func (b *bench[S]) watch(t *testing.T, s watchedStore) *watches {
	t.Helper()
	docs, err := s.Watch(b.ctx, "f/")
	succeed(t, "watch", err)
	log, err := s.WatchLog(b.ctx)
	succeed(t, "watch log", err)
	return &watches{docs: docs, log: log}
}

// write changes what is watched.
func (w *watches) write(t *testing.T, ctx context.Context, witness watchedStore) {
	t.Helper()
	w.v = put(t, ctx, witness, "f/a", "x", w.v)
	appendTo(t, ctx, witness, "x")
}

func (w *watches) drain() {
	drain(w.docs)
	drain(w.log)
}

func (w *watches) wantHints(t *testing.T, after string) {
	t.Helper()
	hint(t, w.docs, after+" (documents)")
	hint(t, w.log, after+" (log)")
}

func watchOutage[S watchedStore](o outage) func(*testing.T, *bench[S]) {
	return func(t *testing.T, b *bench[S]) {
		w := b.watch(t, b.through)
		w.wantHints(t, "the start")
		w.write(t, b.ctx, b.witness)
		w.wantHints(t, "a change")
		o.make(b.link)
		w.write(t, b.ctx, b.witness)
		w.drain()
		b.heal(t)
		w.wantHints(t, "the link was healed")
		b.stillWatches(t, w)
	}
}

// stillWatches wants hints of changes, one after the other, that nothing else gives a cause for. Since late hints of before are allowed, it
// shows only in the sum.
func (b *bench[S]) stillWatches(t *testing.T, w *watches) {
	t.Helper()
	witness := any(b.witness).(watchedStore)
	for range 5 {
		w.drain()
		w.write(t, b.ctx, witness)
		w.wantHints(t, "a change when the link was whole again")
	}
}

func watchCut[S watchedStore](t *testing.T, b *bench[S]) {
	w := b.watch(t, b.through)
	for range 3 {
		w.drain()
		b.link.Reset()
		w.write(t, b.ctx, b.witness)
		w.wantHints(t, "a change right after a reset")
	}
	b.stillWatches(t, w)
}
