package postgres_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
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

// TestSilentServer: a connection whose server has fallen silent is replaced, and the watch continues. A read ends after
// the driver's timeout, not the caller's.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	o := options(t)
	link := rig.Link(t, o.Hosts[0])
	over := through(o, link.Addr())
	over.Timeout = time.Second
	behind, direct, ctx := openWith(t, over), openWith(t, o), rig.LongDeadline(t)
	docs := must.Get(behind.Watch(ctx, ""))(t)
	<-docs
	before := link.Stats().Accepted
	link.DropReplies()
	rig.Eventually(t, "another connection is tried", func() bool { return link.Stats().Accepted > before })
	must.Succeed(t, must.Err(direct.Put(ctx, store.Doc{Key: "a"})))
	_, err := behind.Get(rig.Deadline(t), "a")
	wantError(t, "get from a silent server", err, store.ErrUnavailable)
	rig.Heal(t, link)
	rig.Hinted(t, docs)
}

// meter passes connections on to a server, and counts the requests of the first one: that makes the calls.
type meter struct {
	addr     string
	requests atomic.Int64
}

func metered(t *testing.T, server string) *meter {
	t.Helper()
	m := &meter{}
	var conns atomic.Int64
	m.addr = rig.Front(t, server, func(from, to net.Conn) {
		count := &m.requests
		if conns.Add(1) > 1 {
			count = new(atomic.Int64)
		}
		over := rig.Backward(from, to)
		_ = forward(to, bufio.NewReader(from), count) // until either side ends
		to.Close()
		over.Wait()
	})
	return m
}

// forward passes on what a client says: a greeting without a type, then messages with one. The server answers a Sync
// and a simple query, each once.
func forward(to io.Writer, from *bufio.Reader, count *atomic.Int64) error {
	for head := 4; ; head = 5 {
		b, err := from.Peek(head)
		if err != nil {
			return err
		}
		if head == 5 && (b[0] == 'S' || b[0] == 'Q') {
			count.Add(1)
		}
		size := int64(binary.BigEndian.Uint32(b[head-4:])) + int64(head-4)
		if _, err := io.CopyN(to, from, size); err != nil {
			return err
		}
	}
}

// TestRequests counts what calls send once their statements are prepared.
func TestRequests(t *testing.T) {
	t.Parallel()
	o := options(t)
	m := metered(t, o.Hosts[0])
	s, ctx := openWith(t, through(o, m.addr)), rig.Deadline(t)
	n := rig.Session(t, s, time.Minute)
	var v, w store.Version
	var index uint64
	for round := range 3 { // what a snapshot replaces is freed from the second one on
		for _, call := range []struct {
			name string
			do   func() error
			want int64
		}{
			{"create", func() (err error) { v, err = s.Put(ctx, store.Doc{Key: "a"}); return err }, 1},
			{"update", func() (err error) { v, err = s.Put(ctx, store.Doc{Key: "a", Version: v}); return err }, 1},
			{"a put that is refused", func() error {
				_, err := s.Put(ctx, store.Doc{Key: "a"})
				wantError(t, "second create", err, store.ErrConflict)
				return nil
			}, 1},
			{"get", func() error { _, err := s.Get(ctx, "a"); return err }, 1},
			{"get of three", func() error { _, err := s.Gets(ctx, []string{"a", "b", "a"}); return err }, 1},
			{"list", func() error { _, err := s.List(ctx, ""); return err }, 1},
			{"delete", func() error { return s.Delete(ctx, "a", v) }, 1},
			{"put of a session", func() (err error) {
				w, err = n.Put(ctx, store.Doc{Key: "s", Version: w})
				return err
			}, 1},
			{"heartbeat", func() (err error) {
				w, err = store.Renew(ctx, n, store.Doc{Key: "s", Version: w})
				return err
			}, 1},
			{"append", func() (err error) { index, err = s.Append(ctx, []byte("x")); return err }, 1},
			{"read", func() error { _, err := s.Read(ctx, index-1, 100); return err }, 1},
			{"look without news", func() error { _, err := s.Read(ctx, index, 100); return err }, 1},
			{"look with documents", func() error {
				_, _, err := s.ReadWith(ctx, index, 100, []string{"a", "s"})
				return err
			}, 2},
			{"save a snapshot", func() error {
				return s.SaveSnapshot(ctx, store.Record{Index: index, Data: []byte("x")})
			}, 6},
			{"read a snapshot", func() error { _, err := s.Snapshot(ctx); return err }, 2},
			{"trim", func() error { return s.Trim(ctx, index) }, 2},
		} {
			before := m.requests.Load()
			must.Succeed(t, call.do())
			if sent := m.requests.Load() - before; round == 2 && sent != call.want {
				t.Errorf("%s sent %d requests, want %d", call.name, sent, call.want)
			}
		}
	}
	before := m.requests.Load()
	second := must.Get(s.OpenSession(ctx, time.Minute))(t)
	must.Succeed(t, second.Close(ctx))
	if sent := m.requests.Load() - before; sent > 3 { // the end is prepared
		t.Errorf("a session sent %d requests, want one for its beginning and one for its end", sent)
	}
}
