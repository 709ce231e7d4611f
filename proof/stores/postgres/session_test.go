package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

// count asks the shared server for a number.
func count(t *testing.T, s *server.Server, format string, args ...any) int {
	t.Helper()
	column, err := s.SQL(rig.Deadline(t), fmt.Sprintf(format, args...))
	if err != nil || len(column) != 1 {
		t.Fatalf("%v, %v", column, err)
	}
	return must.Get(strconv.Atoi(column[0]))(t)
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
	rig.Session(t, openWith(t, o), time.Minute)
	if n := ties(t, standing(t), o); n != 1 {
		t.Errorf("%d ties of a session on a direct connection, want 1", n)
	}
	observer := o
	observer.ReadOnly = true // and holds nothing: others must not see it die
	<-must.Get(openWith(t, observer).Watch(rig.Deadline(t), ""))(t)
	behind := openWith(t, through(o, rig.Link(t, o.Hosts[0]).Addr()))
	n := rig.Session(t, behind, time.Minute)
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
	rig.Session(t, witness, time.Minute)
	n := rig.Session(t, s, time.Minute)
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

// TestLockIsTakenLater: the lock of a process that lost its connection is not free at once. It is tied when it is.
func TestLockIsTakenLater(t *testing.T) {
	t.Parallel()
	srv, ctx := own(t, server.Options{}), rig.LongDeadline(t)
	o := on(srv)
	rig.Session(t, openWith(t, o), time.Minute)
	owner := must.Get(srv.SQL(ctx, fmt.Sprintf("SELECT owner FROM %q.ties", o.Schema)))(t)[0]
	other := must.Get(srv.Connect(ctx, server.User))(t)
	defer other.Close(ctx)
	taken := make(chan error, 1)
	go func() { taken <- must.Err(other.Exec(ctx, "SELECT pg_advisory_lock("+owner+")").ReadAll()) }()
	rig.Eventually(t, "another waits for the lock", func() bool {
		return count(t, srv, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid::bigint << 32 | objid::bigint = %s", owner) == 1
	})
	must.Succeed(t, must.Err(srv.SQL(ctx, fmt.Sprintf(terminate, o.Schema))))
	must.Succeed(t, <-taken)
	rig.Eventually(t, "the process has asked for its lock in vain", func() bool {
		return count(t, srv, "SELECT count(*) FROM pg_stat_activity a WHERE state = 'idle' AND query LIKE 'SELECT pg_try_advisory_lock(%%' AND NOT EXISTS (SELECT 1 FROM %q.ties)", o.Schema) == 1
	})
	must.Succeed(t, must.Err(other.Exec(ctx, "SELECT pg_advisory_unlock_all()").ReadAll()))
	rig.Eventually(t, "it is tied again", func() bool { return ties(t, srv, o) == 1 })
}

// TestSessionOutlivesTheServer: all connections end with the server, and no process is dead.
func TestSessionOutlivesTheServer(t *testing.T) {
	t.Parallel()
	srv := own(t, server.Options{})
	o := on(srv)
	witness, s := openWith(t, o), openWith(t, o)
	rig.Session(t, witness, time.Minute)
	n := rig.Session(t, s, time.Minute)
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

// holderVariable makes this program a process that holds a session, on the server and in the schema that it names.
const holderVariable = "ROTA_POSTGRES_TEST_HOLDER"

// holderTTL is much longer than it may take to notice that the holder is dead.
const holderTTL = time.Minute

// hold puts a document with a session, says so, and waits for the end of its input.
func hold(where string) error {
	addr, schema, _ := strings.Cut(where, " ")
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	s, err := postgres.Open(ctx,
		postgres.Options{Hosts: []string{addr}, Schema: schema, Password: os.Getenv(server.PasswordVariable)})
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.OpenSession(ctx, holderTTL)
	if err != nil {
		return err
	}
	if _, err := n.Put(ctx, store.Doc{Key: "s"}); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// holder starts a process that holds the document "s" with a session.
func holder(t *testing.T, o postgres.Options) *rig.Process {
	t.Helper()
	p := rig.Again(t, holderVariable, o.Hosts[0]+" "+o.Schema)
	if line, _ := p.Line(); line != "held" {
		t.Fatalf("the holder said %q", line)
	}
	return p
}

// awaitGone waits until a document is gone, by hints alone.
func awaitGone(t *testing.T, s *postgres.Store, hints <-chan struct{}, key string) {
	t.Helper()
	for {
		_, err := s.Get(rig.Deadline(t), key)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		must.Succeed(t, err)
		rig.Hinted(t, hints)
	}
}

// TestSessionOfAKilledProcess kills the owner of a session, which cannot close it: others with sessions hear of it at
// once, long before its ttl.
func TestSessionOfAKilledProcess(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	rig.Session(t, s, time.Minute)
	hints := must.Get(s.Watch(rig.LongDeadline(t), ""))(t)
	for range 3 {
		held := holder(t, o)
		held.Kill()
		killed := time.Now()
		awaitGone(t, s, hints, "s")
		t.Logf("the document of a session of %v was gone %v after kill -9", holderTTL,
			time.Since(killed).Round(time.Millisecond))
		if since := time.Since(killed); since > holderTTL/2 {
			t.Errorf("gone after %v", since)
		}
	}
}

// TestSeveralKilledAtOnce: one that was to notice the end of another dies with it.
func TestSeveralKilledAtOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	rig.Session(t, s, time.Minute)
	var dead []*rig.Process
	for range 3 {
		dead = append(dead, holder(t, o))
		d, err := s.Get(rig.Deadline(t), "s") // nobody else may have it
		must.Succeed(t, err)
		must.Succeed(t, s.Delete(rig.Deadline(t), "s", d.Version))
	}
	for _, p := range dead {
		_ = p.Cmd.Process.Kill() // all, and then each is waited for
	}
	rig.Eventually(t, "the sessions of all three are gone", func() bool { return sessions(t, o) == 1 })
}

// TestDeadWithoutWitness kills the only process with a session: a reader without one finds it dead, and has it removed.
func TestDeadWithoutWitness(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := openWith(t, o)
	holder(t, o).Kill()
	rig.Eventually(t, "the document is gone", func() bool {
		_, err := s.Get(rig.Deadline(t), "s")
		return errors.Is(err, store.ErrNotFound)
	})
}
