package handle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/memory"
	"github.com/rota-run/rota/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openHandle(*testing.T) func(t *testing.T) *Handle {
	server := memory.New()
	return func(t *testing.T) *Handle {
		h := New(server.Open())
		t.Cleanup(func() { h.Close() })
		return h
	}
}

// While nothing is taken from its member, a handle is one like any other.
func TestHandleDocs(t *testing.T)     { t.Parallel(); storetest.Docs(t, openHandle) }
func TestHandleLog(t *testing.T)      { t.Parallel(); storetest.Log(t, openHandle) }
func TestHandleSeed(t *testing.T)     { t.Parallel(); storetest.Seed(t, openHandle) }
func TestHandleWatch(t *testing.T)    { t.Parallel(); storetest.Watch(t, openHandle) }
func TestHandleLogWatch(t *testing.T) { t.Parallel(); storetest.LogWatch(t, openHandle) }
func TestHandleQueue(t *testing.T)    { t.Parallel(); storetest.Queue(t, openHandle) }
func TestHandleSessions(t *testing.T) { t.Parallel(); storetest.Sessions(t, openHandle) }

// bench is a handle with something on it, and a witness on the same store.
type bench struct {
	*Handle
	witness *memory.Store
	session store.Session
	kept    store.Version // of the document d
}

func newBench(t *testing.T) *bench {
	t.Helper()
	server := memory.New()
	b := &bench{Handle: New(server.Open()), witness: server.Open()}
	t.Cleanup(func() {
		b.Handle.Close()
		b.witness.Close()
	})
	var err error
	if b.session, err = b.OpenSession(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, must.Err(b.session.Put(t.Context(), store.Doc{Key: "pulse"})))
	must.Succeed(t, b.MakeFlow(t.Context(), "flow", shards))
	if b.kept, err = b.Put(t.Context(), store.Doc{Key: "d"}); err != nil {
		t.Fatal(err)
	}
	return b
}

var shards = []store.Shard{{Edge: "edge"}}

// seen is all that others see of the store.
func (b *bench) seen(t *testing.T) string {
	t.Helper()
	docs := must.Get(b.witness.List(t.Context(), ""))(t)
	page := must.Get(b.witness.Read(t.Context(), 0, 100))(t)
	snapshot, err := b.witness.Snapshot(t.Context())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	_, fresh := b.witness.Depth(t.Context(), "new")
	depth, err := b.witness.Depth(t.Context(), "flow")
	return fmt.Sprint(docs, page, snapshot, fresh, depth, err)
}

// calls are all that can be asked of a handle. Each answers well on a bench of its own.
func calls() map[string]func(ctx context.Context, b *bench) error {
	return map[string]func(ctx context.Context, b *bench) error{
		"get":    func(ctx context.Context, b *bench) error { _, err := b.Get(ctx, "d"); return err },
		"put":    func(ctx context.Context, b *bench) error { _, err := b.Put(ctx, store.Doc{Key: "new"}); return err },
		"delete": func(ctx context.Context, b *bench) error { return b.Delete(ctx, "d", b.kept) },
		"list":   func(ctx context.Context, b *bench) error { _, err := b.List(ctx, ""); return err },
		"append": func(ctx context.Context, b *bench) error { _, err := b.Append(ctx, []byte("x")); return err },
		"read":   func(ctx context.Context, b *bench) error { _, err := b.Read(ctx, 0, 1); return err },
		"snapshot": func(ctx context.Context, b *bench) error {
			if _, err := b.Snapshot(ctx); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		},
		"save":      func(ctx context.Context, b *bench) error { return b.saveAny(ctx) },
		"trim":      func(ctx context.Context, b *bench) error { return b.Trim(ctx, 1) },
		"seed":      func(ctx context.Context, b *bench) error { return b.SeedLog(ctx, 7) },
		"watch":     func(ctx context.Context, b *bench) error { _, err := b.Watch(ctx, ""); return err },
		"watch log": func(ctx context.Context, b *bench) error { _, err := b.WatchLog(ctx); return err },
		"session": func(ctx context.Context, b *bench) error {
			_, err := b.OpenSession(ctx, time.Minute)
			return err
		},
		"session put": func(ctx context.Context, b *bench) error {
			_, err := b.session.Put(ctx, store.Doc{Key: "tied"})
			return err
		},
		"make flow": func(ctx context.Context, b *bench) error { return b.MakeFlow(ctx, "new", shards) },
		"drop flow": func(ctx context.Context, b *bench) error { return b.DropFlow(ctx, "flow") },
		"receive": func(ctx context.Context, b *bench) error {
			_, err := b.Receive(ctx, "flow", store.Receive{Shard: shards[0], Limit: 1, Lease: time.Minute})
			return err
		},
		"commit": func(ctx context.Context, b *bench) error {
			_, err := b.Commit(ctx, "flow", store.Unit{Name: "end", Outputs: []store.Put{{Shard: shards[0], Seal: true}}})
			return err
		},
		"depth":        func(ctx context.Context, b *bench) error { _, err := b.Depth(ctx, "flow"); return err },
		"end session":  func(ctx context.Context, b *bench) error { return b.session.Close(ctx) },
		"many appends": func(ctx context.Context, b *bench) error { return b.appendMany(ctx, 3) },
	}
}

// saveAny saves a snapshot of what the witness has appended.
func (b *bench) saveAny(ctx context.Context) error {
	index, err := b.witness.Append(ctx, []byte("x"))
	if err != nil {
		return err
	}
	return b.SaveSnapshot(ctx, store.Record{Index: index})
}

func (b *bench) appendMany(ctx context.Context, n int) error {
	for range n {
		if _, err := b.Append(ctx, []byte("x")); err != nil {
			return err
		}
	}
	return nil
}

// asked begins a call and returns where its answer comes.
func asked(ctx context.Context, b *bench, call func(context.Context, *bench) error) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- call(ctx, b) }()
	return answer
}

// eachCall runs a story of each call, in virtual time.
func eachCall(t *testing.T, story func(t *testing.T, b *bench, name string, ask func(context.Context) <-chan error)) {
	t.Helper()
	for name, call := range calls() { // order-free: each has a bench of its own
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				story(t, b, name, func(ctx context.Context) <-chan error { return asked(ctx, b, call) })
			})
		})
	}
}

func TestAFrozenHandleLetsEveryCallWait(t *testing.T) {
	t.Parallel()
	eachCall(t, func(t *testing.T, b *bench, _ string, ask func(context.Context) <-chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // of watches
		b.Freeze()
		answer := ask(ctx)
		synctest.Wait()
		b.Freeze() // again does nothing
		select {
		case err := <-answer:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		b.Thaw()
		synctest.Wait()
		select {
		case err := <-answer:
			if err != nil {
				t.Errorf("when it was let go on: %v", err)
			}
		default:
			t.Error("it does not go on")
		}
	})
}

// A call that was cut while it waited is not done, now and later, and does not say that it might be.
func TestAFrozenCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	eachCall(t, func(t *testing.T, b *bench, _ string, ask func(context.Context) <-chan error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b.Freeze()
		answer := ask(ctx)
		synctest.Wait()
		before := b.seen(t)
		cancel(cause)
		if err := <-answer; !errors.Is(err, cause) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("got %v, want the cause of its end, and a known outcome", err)
		}
		b.Thaw()
		synctest.Wait()
		if after := b.seen(t); after != before {
			t.Errorf("it was done:\n%s\n%s", before, after)
		}
	})
}

// To its member a lost handle is closed, at once, and also where it was frozen. To others nothing happened before it is
// closed. A close lets those go on that wait.
func TestALostHandle(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"lost", "frozen", "closed"} {
		eachCall(t, func(t *testing.T, b *bench, name string, ask func(context.Context) <-chan error) {
			var answer <-chan error
			if how != "lost" {
				b.Freeze()
				answer = ask(t.Context())
				synctest.Wait()
			}
			before := b.seen(t)
			if how == "closed" {
				b.Handle.Close()
				<-answer // the handle or the store behind it has ended the call
				return
			}
			b.Lose()
			if how == "lost" {
				answer = ask(t.Context())
			}
			if err := <-answer; !errors.Is(err, store.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
			if after := b.seen(t); after != before && (name != "save" || how == "frozen") { // save appends by the witness
				t.Errorf("%s: others see a change:\n%s\n%s", how, before, after)
			}
			b.Handle.Close()
			if _, err := b.witness.Get(t.Context(), "pulse"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the document of its session: %v, want that it went with the handle", err)
			}
		})
	}
}

func TestHintsOfAHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		brief := must.Get(b.Watch(ctx, ""))(t)
		hints := must.Get(b.WatchLog(t.Context()))(t)
		synctest.Wait()
		for len(hints) > 0 {
			<-hints
		}
		b.Freeze()
		must.Succeed(t, must.Err(b.witness.Append(t.Context(), []byte("x"))))
		cancel()
		synctest.Wait()
		if len(hints) != 0 {
			t.Error("a hint came through a frozen handle")
		}
		for range brief { // it ends, as its ctx has, though frozen
		}
		b.Thaw()
		synctest.Wait()
		if len(hints) != 1 {
			t.Fatal("the hint is lost")
		}
		<-hints
		b.Lose()
		synctest.Wait()
		if _, open := <-hints; !open {
			t.Error("the watch of a lost handle ended without a hint: its member does not find out")
		}
		if _, open := <-hints; open {
			t.Error("the watch of a lost handle goes on")
		}
	})
}

// When freeze has returned nothing gets through any more, not even a call that had begun.
func TestFreezeWaitsForCalls(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			ctx, cancel := context.WithCancel(t.Context())
			var answers []<-chan error
			for range 3 {
				answers = append(answers, asked(ctx, b, func(ctx context.Context, b *bench) error {
					for {
						if err := b.appendMany(ctx, 1); err != nil {
							return err
						}
					}
				}))
			}
			head := func() uint64 {
				page := must.Get(b.witness.Read(t.Context(), 0, 1))(t)
				return page.Head
			}
			for head() < 20 { // they are at it
			}
			b.Freeze()
			before := head()
			synctest.Wait()
			if after := head(); after != before {
				t.Errorf("%d appends came through", after-before)
			}
			cancel()
			for _, a := range answers {
				if err := <-a; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
}
