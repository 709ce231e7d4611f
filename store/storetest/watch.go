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
	rules := watchRules(func(ctx context.Context, s DocsWatcher) (<-chan struct{}, error) { return s.Watch(ctx, "w/") })
	runRules(t, open, append(rules, rule[DocsWatcher]{"hint after a change", func(t *test, open func() DocsWatcher) {
		own, other := open(), open()
		hints, err := own.Watch(t.ctx, "w/")
		t.succeed("watch", err)
		for _, writer := range []DocsWatcher{own, other} {
			drain(hints)
			v := t.put(writer, "w/a", "one", "")
			t.hint(hints, "a creation")
			drain(hints)
			v = t.put(writer, "w/a", "two", v)
			t.hint(hints, "an update")
			drain(hints)
			t.succeed("delete", writer.Delete(t.ctx, "w/a", v))
			t.hint(hints, "a deletion")
		}
	}},
		rule[DocsWatcher]{"everything", func(t *test, open func() DocsWatcher) {
			s := open()
			if errOf(s.Watch(t.ctx, "w")) == nil {
				t.Fatalf("watch of a prefix without / at its end: no error")
			}
			ctx, cancel := context.WithCancel(t.ctx)
			ended, err := s.Watch(ctx, "") // it is closed: a hint would be a crash
			t.succeed("watch", err)
			cancel()
			t.ended(ended)
			hints, err := s.Watch(t.ctx, "")
			t.succeed("watch", err)
			for _, key := range []string{"a", "b/c", "d/e/f"} {
				drain(hints)
				t.put(s, key, "", "")
				t.hint(hints, "a change of "+key)
			}
		}})...)
}

// LogWatch is the suite of store.LogWatcher.
func LogWatch[S LogAndWatcher](t *testing.T, open Open[S]) {
	rules := watchRules(func(ctx context.Context, s LogAndWatcher) (<-chan struct{}, error) { return s.WatchLog(ctx) })
	runRules(t, open, append(rules,
		rule[LogAndWatcher]{"hint after an append", func(t *test, open func() LogAndWatcher) {
			own, other := open(), open()
			hints, err := own.WatchLog(t.ctx)
			t.succeed("watch", err)
			for _, writer := range []LogAndWatcher{own, other, other, own} {
				drain(hints)
				t.append(writer, "x")
				t.hint(hints, "an append")
			}
		}})...)
}

// watchRules are the rules that any watch keeps.
func watchRules[C any](watch func(context.Context, C) (<-chan struct{}, error)) []rule[C] {
	return []rule[C]{
		{"one hint from the start", func(t *test, open func() C) {
			hints, err := watch(t.ctx, open())
			t.succeed("watch", err)
			if cap(hints) != 1 || len(hints) != 1 {
				t.Fatalf("a new watch holds %d hints and has room for %d, want 1 and 1", len(hints), cap(hints))
			}
		}},
		{"ends with its ctx", func(t *test, open func() C) {
			ctx, cancel := context.WithCancel(t.ctx)
			hints, err := watch(ctx, open())
			t.succeed("watch", err)
			cancel()
			t.ended(hints)
		}},
		{"ends with its store", func(t *test, open func() C) {
			s := open()
			hints, err := watch(t.ctx, s)
			t.succeed("watch", err)
			t.close(s)
			t.ended(hints)
			t.fails("watch a closed store", errOf(watch(t.ctx, s)), store.ErrClosed)
		}},
		{"cancelled before the call", func(t *test, open func() C) {
			t.fails("watch", errOf(watch(cancelled(), open())), stoppedError{})
		}},
	}
}

// hint waits for a hint.
func (t *test) hint(hints <-chan struct{}, after string) {
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

// ended waits until a channel is closed.
func (t *test) ended(done <-chan struct{}) {
	t.Helper()
	for end := time.After(patience); ; {
		select {
		case _, open := <-done:
			if !open {
				return
			}
		case <-end:
			t.Fatalf("not closed within %v", patience)
		}
	}
}
