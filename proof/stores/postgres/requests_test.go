package postgres_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
)

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
	n := openSession(t, s)
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
