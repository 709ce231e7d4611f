package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/rota-run/rota/store"
)

// DocsWatcher is what Watch needs.
type DocsWatcher interface {
	store.Docs
	store.Watcher
}

// LogAndWatcher is what LogWatch needs.
type LogAndWatcher interface {
	store.Log
	store.LogWatcher
}

// Watch is the suite of store.Watcher.
func Watch[S DocsWatcher](t *testing.T, open Open[S]) {
	watch := func(ctx context.Context, s S) (<-chan struct{}, error) { return s.Watch(ctx, "w/") }
	runRules(t, open, append([]rule[S]{
		{"hint after a change", watchChange[S]},
		{"everything", watchAll[S]},
	}, watchRules(watch)...))
}

// LogWatch is the suite of store.LogWatcher.
func LogWatch[S LogAndWatcher](t *testing.T, open Open[S]) {
	watch := func(ctx context.Context, s S) (<-chan struct{}, error) { return s.WatchLog(ctx) }
	runRules(t, open, append([]rule[S]{{"hint after an append", watchAppend[S]}}, watchRules(watch)...))
}

// watchRules are the rules that any watch keeps.
func watchRules[S any](watch func(context.Context, S) (<-chan struct{}, error)) []rule[S] {
	return []rule[S]{
		{"one hint from the start", func(t *testing.T, open Open[S]) {
			s, ctx := single(t, open)
			hints, err := watch(ctx, s)
			succeed(t, "watch", err)
			if cap(hints) != 1 || len(hints) != 1 {
				t.Fatalf("a new watch holds %d hints and has room for %d, want 1 and 1", len(hints), cap(hints))
			}
		}},
		{"ends with its ctx", func(t *testing.T, open Open[S]) {
			s, ctx := single(t, open)
			ctx, cancel := context.WithCancel(ctx)
			hints, err := watch(ctx, s)
			succeed(t, "watch", err)
			cancel()
			wantEnd(t, hints)
		}},
		{"ends with its store", func(t *testing.T, open Open[S]) {
			s, ctx := single(t, open)
			hints, err := watch(ctx, s)
			succeed(t, "watch", err)
			closeHandle(t, s)
			wantEnd(t, hints)
			wantError(t, "watch a closed store", errOf(watch(ctx, s)), store.ErrClosed)
		}},
		{"cancelled before the call", func(t *testing.T, open Open[S]) {
			s, _ := single(t, open)
			wantError(t, "watch", errOf(watch(cancelled(), s)), stoppedError{})
		}},
	}
}

// hint waits for a hint.
func hint(t *testing.T, hints <-chan struct{}, after string) {
	t.Helper()
	select {
	case _, open := <-hints:
		if !open {
			t.Fatalf("the watch ended while waiting for a hint after %s", after)
		}
	case <-time.After(patience):
		t.Fatalf("no hint after %s within %v", after, patience)
	}
}

// drain takes what lies there, so that the next hint is a new one.
func drain(hints <-chan struct{}) {
	select {
	case <-hints:
	default:
	}
}

func wantEnd(t *testing.T, hints <-chan struct{}) {
	t.Helper()
	for {
		select {
		case _, open := <-hints:
			if !open {
				return
			}
		case <-time.After(patience):
			t.Fatalf("the watch has not ended within %v", patience)
		}
	}
}

func watchChange[S DocsWatcher](t *testing.T, open Open[S]) {
	own, other, ctx := pair(t, open)
	hints, err := own.Watch(ctx, "w/")
	succeed(t, "watch", err)
	for _, writer := range []S{own, other} {
		drain(hints)
		v := put(t, ctx, writer, "w/a", "one", "")
		hint(t, hints, "a creation")
		drain(hints)
		v = put(t, ctx, writer, "w/a", "two", v)
		hint(t, hints, "an update")
		drain(hints)
		succeed(t, "delete", writer.Delete(ctx, "w/a", v))
		hint(t, hints, "a deletion")
	}
}

func watchAll[S DocsWatcher](t *testing.T, open Open[S]) {
	s, ctx := single(t, open)
	if _, err := s.Watch(ctx, "w"); err == nil {
		t.Fatalf("watch of a prefix without / at its end: no error")
	}
	hints, err := s.Watch(ctx, "")
	succeed(t, "watch", err)
	for _, key := range []string{"a", "b/c", "d/e/f"} {
		drain(hints)
		put(t, ctx, s, key, "", "")
		hint(t, hints, "a change of "+key)
	}
}

func watchAppend[S LogAndWatcher](t *testing.T, open Open[S]) {
	own, other, ctx := pair(t, open)
	hints, err := own.WatchLog(ctx)
	succeed(t, "watch", err)
	for _, writer := range []S{own, other, other, own} {
		drain(hints)
		appendTo(t, ctx, writer, "x")
		hint(t, hints, "an append")
	}
}
