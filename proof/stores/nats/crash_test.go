package nats_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/nats"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// spawn starts nodes that can be killed.
func spawn(t testing.TB, nodes int) *server.Processes {
	t.Helper()
	p, err := server.Spawn(rig.LongDeadline(t), server.Options{Dir: t.TempDir(), Nodes: nodes})
	must.Succeed(t, err)
	t.Cleanup(p.Stop)
	return p
}

// writer appends numbered records until it is told to stop, and keeps what was acknowledged.
type writer struct {
	name  string
	acked map[string]uint64
	count atomic.Int64
}

func (w *writer) run(s *nats.Store, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		data := fmt.Sprintf("%s/%d", w.name, i)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		index, err := s.Append(ctx, []byte(data))
		cancel()
		if err == nil {
			w.acked[data] = index
			w.count.Add(1)
		}
	}
}

// crowd are writers, each with a handle of its own.
func crowd(t *testing.T, o nats.Options, n int) (writers []*writer, stop func()) {
	t.Helper()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		w := &writer{name: fmt.Sprint("w", i), acked: map[string]uint64{}}
		writers = append(writers, w)
		s := openWith(t, o)
		wg.Go(func() { w.run(s, quit) })
	}
	return writers, sync.OnceFunc(func() {
		close(quit)
		wg.Wait()
	})
}

// more waits until each writer has had n more acknowledgements.
func more(t *testing.T, writers []*writer, n int64) {
	t.Helper()
	for _, w := range writers {
		want := w.count.Load() + n
		rig.Eventually(t, "a writer goes on", func() bool { return w.count.Load() >= want })
	}
}

// wantKept checks that each acknowledged record has the index that was acknowledged, that no record is there twice, and each writer's order.
func wantKept(t *testing.T, s *nats.Store, writers []*writer) {
	t.Helper()
	at, last := map[string]uint64{}, map[string]int{}
	for after := uint64(0); ; {
		page, err := s.Read(rig.Deadline(t), after, 1000)
		must.Succeed(t, err)
		for _, r := range page.Records {
			after = r.Index
			var name string
			var n int
			if _, err := fmt.Sscanf(string(r.Data), "w%1s/%d", &name, &n); err != nil {
				t.Fatalf("record %d is %q", r.Index, r.Data)
			}
			if before, ok := at[string(r.Data)]; ok {
				t.Fatalf("%q is at %d and at %d", r.Data, before, r.Index)
			}
			if n < last[name] {
				t.Fatalf("%q at %d comes after a later one of its writer", r.Data, r.Index)
			}
			at[string(r.Data)], last[name] = r.Index, n
		}
		if after == page.Head {
			break
		}
	}
	acked := 0
	for _, w := range writers {
		for data, index := range w.acked {
			if acked++; at[data] != index {
				t.Errorf("%q was acknowledged at %d and is at %d (0: nowhere)", data, index, at[data])
			}
		}
	}
	t.Logf("%d records, %d of them acknowledged", len(at), acked)
}

func TestKilledServerKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	p := spawn(t, 1)
	o := nats.Options{URLs: p.URLs(), Bucket: "b"}
	s := openWith(t, o)
	o.Timeout = 2 * time.Second // of writers, who meet the server's death
	writers, stop := crowd(t, o, 3)
	defer stop()
	v := mustPut(t, s, "a", "x", "")
	for range 3 {
		more(t, writers, 20)
		p.Kill(0)
		must.Succeed(t, p.Restart(0))
		must.Succeed(t, p.Await(rig.Deadline(t)))
		more(t, writers, 1) // the handles find the server again
	}
	stop()
	usable(t, s)
	wantKept(t, s, writers)
	wantValue(t, s, "a", "x", v)
}

// TestIndexesAndVersionsNeverComeBack empties a store and kills its server, again and again.
func TestIndexesAndVersionsNeverComeBack(t *testing.T) {
	t.Parallel()
	p := spawn(t, 1)
	s := openWith(t, nats.Options{URLs: p.URLs(), Bucket: "b"})
	restart := func() {
		p.Kill(0)
		must.Succeed(t, p.Restart(0))
		must.Succeed(t, p.Await(rig.Deadline(t)))
		usable(t, s)
	}
	last := uint64(0)
	seen := map[store.Version]bool{}
	for range 3 {
		for range 3 {
			index, err := s.Append(rig.Deadline(t), []byte("x"))
			if err != nil || index <= last {
				t.Fatalf("index %d after %d, %v", index, last, err)
			}
			last = index
		}
		v := mustPut(t, s, "a", "x", "")
		if seen[v] {
			t.Fatalf("version %q came back", v)
		}
		seen[v] = true
		must.Succeed(t, s.Delete(rig.Deadline(t), "a", v))
		must.Succeed(t, s.SaveSnapshot(rig.Deadline(t), store.Record{Index: last, Data: []byte("all")}))
		must.Succeed(t, s.Trim(rig.Deadline(t), last))
		restart()
		if page, err := s.Read(rig.Deadline(t), last, 1); err != nil || page.Head != last {
			t.Fatalf("head %d after all was trimmed and the server killed, %v; want %d", page.Head, err, last)
		}
		if _, err := s.Read(rig.Deadline(t), last-1, 1); !errors.Is(err, store.ErrTruncated) {
			t.Fatalf("read of trimmed records: %v, want ErrTruncated", err)
		}
		if r, err := s.Snapshot(rig.Deadline(t)); err != nil || r.Index != last || string(r.Data) != "all" {
			t.Fatalf("snapshot %d %q, %v", r.Index, r.Data, err)
		}
	}
}

// TestSessionOutlivesTheServersDeath restarts the server faster than the ttl; a session that nobody renews vanishes all the same.
func TestSessionOutlivesTheServersDeath(t *testing.T) {
	t.Parallel()
	p := spawn(t, 1)
	o := nats.Options{URLs: p.URLs(), Bucket: "b"}
	live, watcher := openWith(t, o), openWith(t, o)
	door := backdoorTo(t, "b", p.URL())
	link := proxyTo(t, p.URL())
	o.URLs = []string{"nats://" + link.Addr()}
	silent := openWith(t, o)
	owner := newSession(t, live, 30*time.Second) // longer than a restart on a busy machine
	v := mustPut(t, owner, "s/live", "x", "")
	const ttl = 4 * time.Second
	start := time.Now()
	mustPut(t, newSession(t, silent, ttl), "s/silent", "x", "")
	link.Cut()
	p.Kill(0)
	must.Succeed(t, p.Restart(0))
	must.Succeed(t, p.Await(rig.Deadline(t)))
	usable(t, watcher)
	before := door.newest(t, door.doc("s/live")).Sequence
	rig.Eventually(t, "the silent session's document vanishes", gone(watcher, "s/silent"))
	if held := time.Since(start); held < ttl {
		t.Fatalf("it vanished after %v, before its ttl of %v", held, ttl)
	}
	rig.Eventually(t, "the live session renews its document", func() bool {
		return door.newest(t, door.doc("s/live")).Sequence > before
	})
	wantValue(t, watcher, "s/live", "x", v)
	select {
	case <-owner.Done():
		t.Fatal("the session has ended, though its document is there")
	default:
	}
}
