package file

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
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
	queued(t, s, 0) // the writer had its turn for nothing
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

// What waits when the handle is closed is written, if its turn comes soon; then nothing is taken any more.
func TestCloseWhileAWriteWaits(t *testing.T) {
	t.Parallel()
	s := openIn(t, place(t), Options{})
	release := holdTurn(t, s)
	wrote := begun(func() error { return must.Err(journal{s.disk, 0}.Append(context.Background(), make([][]byte, 1))) })
	queued(t, s, 1)
	closed := begun(s.close)
	eventually(t, "it closes", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.closed })
	release()
	must.Succeed(t, errors.Join(<-wrote, <-closed))
	if err := s.writer.do(deadline(t), newOp(0, nil)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after the end: %v", err)
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
	for _, c := range []struct{ n, bytes, want int }{{100, 1, 1}, {3, batchBytes / 2, 2}} {
		s, ctx := openIn(t, place(t), Options{}), deadline(t)
		release := holdTurn(t, s)
		before := s.writer.turns // the writer waits, so it does not change
		errs := make(chan error, c.n)
		for range c.n {
			go func() { errs <- must.Err(s.Append(ctx, make([]byte, c.bytes))) }()
		}
		queued(t, s, c.n)
		release()
		for range c.n {
			must.Succeed(t, <-errs)
		}
		s.writer.mu.Lock()
		if got := s.writer.turns - before; got != c.want {
			t.Errorf("%d appends of %d bytes took %d transactions, want %d", c.n, c.bytes, got, c.want)
		}
		s.writer.mu.Unlock()
	}
}

// TestAWriteThatWaits: what is written is what was given, though the caller has its bytes back when it waits no longer.
// A session that ends meanwhile writes nothing, and its refusal leaves the others of the transaction.
func TestAWriteThatWaits(t *testing.T) {
	t.Parallel()
	s, ctx := openIn(t, place(t), Options{}), deadline(t)
	d, c, release := &rows{s.disk}, must.Get(s.hold(ctx))(t), holdTurn(t, s)
	put, with := []byte("a"), []driver.Op{{Key: "d/with", Name: "n1", Value: []byte("a")}}
	var calls []<-chan error
	for i, call := range []func() error{
		func() error { return must.Err(journal{s.disk, 0}.AppendWith(ctx, nil, false, with)) },
		func() error { return must.Err(d.Swap(ctx, driver.Op{Key: "d/put", Name: "n2", Value: put})) },
		func() error { return must.Err(c.Swap(ctx, driver.Op{Key: "d/ended", Name: "n3"})) },
	} {
		calls = append(calls, begun(call))
		queued(t, s, i+1)
	}
	if err := must.Err(d.Swap(ctx, with[0], with[0])); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("two rows at a time: %v", err)
	}
	put[0], with[0].Value[0] = 'x', 'x'
	c.end()
	release()
	must.Succeed(t, errors.Join(<-calls[0], <-calls[1]))
	if err := <-calls[2]; !errors.Is(err, store.ErrSession) {
		t.Errorf("a write of a session that has ended: %v", err)
	}
	got := must.Get(d.Read(ctx, driver.Query{Keys: []string{"d/put", "d/with", "d/put"}}))(t).Keys
	if string(got[0].Value) != "a" || string(got[1].Value) != "a" {
		t.Errorf("it has %q and %q, want what was given", got[0].Value, got[1].Value)
	}
	if got[0].Value[0] = 'y'; string(got[2].Value) != "a" {
		t.Error("a row that was asked for twice is there once: who changes it changes both")
	}
}

// TestAFullDirectory: as many handles have sessions as may, the next one is refused with the number, and gets the seat
// of one that ends.
func TestAFullDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/store"
	o := Options{Processes: 3}
	var open []*Store
	for range o.Processes {
		s := openIn(t, dir, o)
		for range 2 { // one seat, however many sessions
			must.Succeed(t, must.Err(s.OpenSession(deadline(t), time.Minute)))
		}
		open = append(open, s)
	}
	late := openIn(t, dir, o)
	_, err := late.OpenSession(deadline(t), time.Minute)
	if !errors.Is(err, ErrFull) || !errors.Is(late.TakeSeat(), ErrFull) ||
		!strings.Contains(err.Error(), "3 processes take part here") {
		t.Fatalf("got %v, want ErrFull with the number", err)
	}
	must.Succeed(t, open[1].Close())
	if _, err := late.OpenSession(deadline(t), time.Minute); err != nil {
		t.Errorf("a seat is free, and yet: %v", err)
	}
}
