package postgres_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

func openSession(t *testing.T, s *postgres.Store) store.Session {
	t.Helper()
	n := must.Get(s.OpenSession(rig.Deadline(t), time.Minute))(t)
	return n
}

// count asks the shared server for a number.
func count(t *testing.T, s *server.Server, format string, args ...any) int {
	t.Helper()
	column, err := s.SQL(rig.Deadline(t), fmt.Sprintf(format, args...))
	if err != nil || len(column) != 1 {
		t.Fatalf("%v, %v", column, err)
	}
	n := must.Get(strconv.Atoi(column[0]))(t)
	return n
}

func ties(t *testing.T, s *server.Server, o postgres.Options) int {
	t.Helper()
	return count(t, s, `SELECT count(*) FROM %q.ties t JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted
AND l.classid::bigint << 32 | l.objid::bigint = t.owner AND l.mode = 'ExclusiveLock'`, o.Schema)
}

func sessions(t *testing.T, o postgres.Options) int {
	t.Helper()
	return count(t, standing(t), "SELECT count(*) FROM %q.sessions", o.Schema)
}

// terminate ends the server's processes that hold locks of the store's sessions, as an administrator does.
const terminate = `SELECT count(pg_terminate_backend(l.pid)) FROM %q.ties t JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted
AND l.classid::bigint << 32 | l.objid::bigint = t.owner AND l.mode = 'ExclusiveLock'`

// TestSessionIsTied: a process that reaches the server directly proves by a lock that it lives; behind a proxy it does
// not.
func TestSessionIsTied(t *testing.T) {
	t.Parallel()
	o := options(t)
	openSession(t, openWith(t, o))
	if n := ties(t, standing(t), o); n != 1 {
		t.Errorf("%d ties of a session on a direct connection, want 1", n)
	}
	behind := openWith(t, through(o, rig.Link(t, o.Hosts[0]).Addr()))
	n := openSession(t, behind)
	if n := ties(t, standing(t), o); n != 1 {
		t.Errorf("%d ties after a session behind a proxy, want 1", n)
	}
	if _, err := n.Put(rig.Deadline(t), store.Doc{Key: "s"}); err != nil {
		t.Error(err)
	}
}

// TestSessionOutlivesItsConnection: the server ends the connection of a process that lives. The session and its
// document stay, and it is tied again.
func TestSessionOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	o := options(t)
	witness, s := openWith(t, o), openWith(t, o)
	openSession(t, witness)
	n := openSession(t, s)
	v, err := n.Put(rig.Deadline(t), store.Doc{Key: "s"})
	must.Succeed(t, err)
	for range 5 {
		rig.Eventually(t, "both are tied", func() bool { return ties(t, standing(t), o) == 2 })
		if got := count(t, standing(t), terminate, o.Schema); got != 2 {
			t.Fatalf("%d processes were ended, want 2", got)
		}
		rig.Eventually(t, "both are tied again", func() bool { return ties(t, standing(t), o) == 2 })
		if v, err = n.Put(rig.Deadline(t), store.Doc{Key: "s", Version: v}); err != nil {
			t.Fatalf("put after the connection was ended: %v", err)
		}
	}
	if sessions(t, o) != 2 {
		t.Errorf("%d sessions, want 2", sessions(t, o))
	}
}

// TestSessionOutlivesTheServer: all connections end with the server, and no process is dead.
func TestSessionOutlivesTheServer(t *testing.T) {
	t.Parallel()
	srv := own(t, server.Options{})
	o := on(srv)
	witness, s := openWith(t, o), openWith(t, o)
	openSession(t, witness)
	n := openSession(t, s)
	v := must.Get(n.Put(rig.Deadline(t), store.Doc{Key: "s"}))(t)
	must.Succeed(t, srv.Kill())
	must.Succeed(t, srv.Restart(rig.Deadline(t)))
	rig.Eventually(t, "both are tied again", func() bool { return ties(t, srv, o) == 2 })
	rig.Eventually(t, "a put after the restart", func() bool {
		d, err := s.Get(rig.Deadline(t), "s")
		if err != nil || d.Version != v {
			t.Fatalf("the document after the restart: %+v, %v", d, err)
		}
		w, err := n.Put(rig.Deadline(t), store.Doc{Key: "s", Version: v})
		if err == nil {
			v = w
		}
		return err == nil
	})
}
