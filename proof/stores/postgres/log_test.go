package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

// TestTrimFreesSpace appends and trims again and again: the tables do not grow. The server is the test's own: what
// others read keeps a vacuum from what they may still see.
func TestTrimFreesSpace(t *testing.T) {
	t.Parallel()
	srv := own(t, server.Options{})
	o := on(srv)
	s, ctx := openWith(t, o), rig.LongDeadline(t)
	size := func() int {
		return count(t, srv, "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = '%s' AND relkind = 'r'", o.Schema)
	}
	var sizes []int
	for range 8 {
		last := appendMany(t, s, 3000)
		must.Succeed(t, s.SaveSnapshot(ctx, store.Record{Index: last, Data: bytes.Repeat([]byte("s"), 3<<20)}))
		must.Succeed(t, s.Trim(ctx, last))
		sizes = append(sizes, size())
	}
	t.Logf("sizes after each round: %d", sizes)
	if sizes[7] > 2*sizes[1] {
		t.Errorf("the tables have grown from %d to %d bytes in more rounds", sizes[1], sizes[7])
	}
}

// appendMany appends n records of 400 bytes, and returns the largest index.
func appendMany(t *testing.T, s *postgres.Store, n int) (last uint64) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 100 {
		all.Go(func() {
			for range n / 100 {
				i, err := s.Append(rig.LongDeadline(t), bytes.Repeat([]byte("x"), 400))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				last = max(last, i)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return last
}

// TestDamage: what others did to the tables is said, and not taken for an empty store.
func TestDamage(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	appendMany(t, s, 100)
	sql(t, standing(t), fmt.Sprintf("DELETE FROM %q.log WHERE index = 50", o.Schema))
	_, err := s.Read(rig.Deadline(t), 49, 10)
	wantError(t, "read where a record is missing", err, postgres.ErrDamaged)
	sql(t, standing(t), fmt.Sprintf("DROP TABLE %q.rows", o.Schema))
	_, err = s.Put(rig.Deadline(t), store.Doc{Key: "a"})
	wantError(t, "put without the table", err, postgres.ErrDamaged)
	if errors.Is(err, store.ErrUnknown) {
		t.Errorf("put without the table: %v says that it may be done", err)
	}
}

// TestHeadGoesBack: a log that ends before what a handle has seen is that of a server that was replaced, or has lost
// its end. It is not believed at once; another handle takes it as it is.
func TestHeadGoesBack(t *testing.T) {
	t.Parallel()
	o := options(t)
	s, ctx := openWith(t, o), rig.Deadline(t)
	appendMany(t, s, 100)
	sql(t, standing(t), fmt.Sprintf("DELETE FROM %[1]q.log WHERE index = 100; UPDATE %[1]q.head SET last = 99",
		o.Schema))
	_, err := s.Read(ctx, 0, 10)
	wantError(t, "read of a shorter log", err, store.ErrUnavailable)
	if page, err := openWith(t, o).Read(ctx, 98, 10); err != nil || page.Head != 99 {
		t.Errorf("another handle reads %+v, %v", page, err)
	}
	if _, err := s.Append(ctx, nil); err != nil { // as long as before
		t.Error(err)
	}
	if page, err := s.Read(ctx, 99, 10); err != nil || page.Head != 100 {
		t.Errorf("the log has its length again: %+v, %v", page, err)
	}
}

// TestCrashes kills the server and starts it again, while clients work.
func TestCrashes(t *testing.T) {
	t.Parallel()
	place.Crashes(t, func(t *testing.T) (postgres.Options, func(*testing.T)) {
		s := own(t, server.Options{})
		o := on(s)
		o.Timeout = 5 * time.Second
		return o, func(t *testing.T) {
			must.Succeed(t, s.Kill())
			must.Succeed(t, s.Restart(rig.Deadline(t)))
		}
	})
}

// TestSilentServer: a connection on which the server says nothing any more is replaced, and the watch goes on.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	o := options(t)
	link := rig.Link(t, o.Hosts[0])
	behind, direct, ctx := openWith(t, through(o, link.Addr())), openWith(t, o), rig.LongDeadline(t)
	docs := must.Get(behind.Watch(ctx, ""))(t)
	<-docs
	before := link.Stats().Accepted
	link.DropReplies()
	rig.Eventually(t, "another connection is tried", func() bool { return link.Stats().Accepted > before })
	must.Succeed(t, must.Err(direct.Put(ctx, store.Doc{Key: "a"})))
	rig.Heal(t, link)
	rig.Hinted(t, docs)
}
