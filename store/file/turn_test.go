package file

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// holdTurn plays a process that was suspended in the middle of a write. It returns what lets it go on.
func holdTurn(t *testing.T, s *Store) (release func()) {
	t.Helper()
	other := must.Get(openTurn(s.root, Options{}.withDefaults()))(t)
	must.Succeed(t, other.take(deadline(t)))
	var once sync.Once
	release = func() { once.Do(func() { other.close() }) }
	t.Cleanup(release)
	return release
}

// begun makes a call beside the test.
func begun(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

// queued waits until the writer has n changes waiting.
func queued(t *testing.T, s *Store, n int) {
	t.Helper()
	eventually(t, "changes wait", func() bool {
		s.writer.mu.Lock()
		defer s.writer.mu.Unlock()
		return len(s.writer.queue) == n
	})
}

func TestCallEndsWithItsCtxWhileAnotherProcessHasTheTurn(t *testing.T) {
	t.Parallel()
	s := openIn(t, place(t), Options{})
	release := holdTurn(t, s)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("no more time")
	done := begun(func() error { return must.Err(s.Append(ctx, []byte("withdrawn"))) })
	queued(t, s, 1)
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("append: %v, want %v and not unknown", err, cause)
	}
	release()
	if index, err := s.Append(deadline(t), []byte("next")); err != nil || index != 1 {
		t.Fatalf("next append: index %d, %v; want 1: the withdrawn one must not be written", index, err)
	}
}

func TestReadsGoOnWhileAnotherProcessHasTheTurn(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	must.Succeed(t, must.Err(s.Append(ctx, []byte("x"))))
	holdTurn(t, s)
	if page, err := s.Read(ctx, 0, 1); err != nil || len(page.Records) != 1 {
		t.Fatalf("read: %v, %v", page, err)
	}
	observer := openIn(t, s.dir, Options{ReadOnly: true})
	if page, err := observer.Read(ctx, 0, 1); err != nil || len(page.Records) != 1 {
		t.Fatalf("read by an observer: %v, %v", page, err)
	}
}

func TestCloseWhileAnotherProcessHasTheTurn(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	session := must.Get(s.OpenSession(ctx, time.Minute))(t)
	must.Succeed(t, must.Err(session.Put(ctx, store.Doc{Key: "s/1"})))
	other := openIn(t, s.dir, Options{})
	release := holdTurn(t, s)
	done := begun(func() error { return must.Err(s.Append(ctx, nil)) })
	queued(t, s, 1)
	must.Succeed(t, s.Close())
	if err := <-done; !errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknown) {
		t.Fatalf("append: %v, want closed and not unknown", err)
	}
	if _, err := other.Get(ctx, "s/1"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("document of a closed session: %v, want not found", err)
	}
	release()
	if index, err := other.Append(ctx, nil); err != nil || index != 1 {
		t.Fatalf("append: index %d, %v; want 1", index, err)
	}
}

func TestWaitingChangesShareATransaction(t *testing.T) {
	t.Parallel()
	const n = 100
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	release := holdTurn(t, s)
	before := s.writer.turns // the writer waits, so it does not change
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := s.Append(ctx, []byte("x"))
			errs <- err
		}()
	}
	queued(t, s, n)
	release()
	for range n {
		must.Succeed(t, <-errs)
	}
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	if got := s.writer.turns - before; got != 1 {
		t.Errorf("%d appends took %d transactions, want 1", n, got)
	}
}

func TestARefusalLeavesTheOthersOfItsTransaction(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	release := holdTurn(t, s)
	conflict := begun(func() error { return must.Err(s.Put(ctx, store.Doc{Key: "a", Version: "none"})) })
	queued(t, s, 1)
	done := begun(func() error { return must.Err(s.Append(ctx, []byte("x"))) })
	queued(t, s, 2)
	release()
	if err := <-conflict; !errors.Is(err, store.ErrConflict) {
		t.Errorf("put: %v, want conflict", err)
	}
	if err := <-done; err != nil {
		t.Errorf("append in the same transaction: %v", err)
	}
}
