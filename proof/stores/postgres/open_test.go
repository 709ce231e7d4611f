package postgres_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// guarded is a server that wants a password from the user al, who may do nothing yet.
func guarded(t *testing.T, settings ...string) (*server.Server, postgres.Options) {
	t.Helper()
	s := own(t, server.Options{
		Settings: settings, HBA: "host all rota 127.0.0.1/32 trust\nhost all al,cy 127.0.0.1/32 scram-sha-256\n",
	})
	sql(t, s, "CREATE USER al PASSWORD '"+rig.Secret+"'; CREATE USER bo PASSWORD 'x'; CREATE USER cy PASSWORD '"+
		rig.Secret+"'")
	o := on(s)
	o.User, o.Password = "al", rig.Secret
	return s, o
}

func sql(t *testing.T, s *server.Server, text string) {
	t.Helper()
	must.Succeed(t, must.Err(s.SQL(rig.Deadline(t), text)))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s, o := guarded(t)
	with := rig.With(o)
	for name, c := range map[string]rig.Refusal[postgres.Options]{ // order-free: each is judged alone
		"wrong password": rig.Says(with(func(o *postgres.Options) { o.Password = rig.Secret + "!" }), nil,
			"password authentication failed", "check user and password"),
		"no password": rig.Says(with(func(o *postgres.Options) { o.Password = "" }), nil, "check user and password"),
		"not let in":  rig.Says(with(func(o *postgres.Options) { o.User = "bo" }), nil, "pg_hba.conf"),
		"missing database": rig.Says(with(func(o *postgres.Options) { o.User, o.Database = "rota", "none" }), nil,
			`database "none" does not exist`, "createdb"),
		"no right": rig.Says(o, nil, "permission denied for database", "GRANT CREATE ON DATABASE"),
		"no store": rig.Says(with(func(o *postgres.Options) { o.User, o.MustExist = "rota", true }), nil,
			"there is no Rota store in the schema"),
		"nobody there": rig.Says(with(func(o *postgres.Options) { o.Hosts = []string{"127.0.0.1:1"} }), nil,
			"connection refused", "check that PostgreSQL runs there"),
	} {
		t.Run(name, func(t *testing.T) { rig.Refused(t, postgres.Open, c.Options, c.Is, c.Words...) })
	}
	// The administrator makes the schema for the user, or lets the user do that: either is enough.
	sql(t, s, fmt.Sprintf("CREATE SCHEMA %q AUTHORIZATION al", o.Schema))
	openWith(t, o)
	sql(t, s, fmt.Sprintf("GRANT USAGE ON SCHEMA %[1]q TO cy; GRANT SELECT ON ALL TABLES IN SCHEMA %[1]q TO cy", o.Schema))
	reader := with(func(o *postgres.Options) { o.User = "cy" })
	rig.Refused(t, postgres.Open, reader, nil, "may only read", "docs/stores/postgres.md")
	reader.ReadOnly = true
	openWith(t, reader)
	other := with(func(o *postgres.Options) { o.Schema += "-2" })
	sql(t, s, "GRANT CREATE ON DATABASE rota TO al")
	openWith(t, other)
}

func TestForeignSchema(t *testing.T) {
	t.Parallel()
	o := options(t)
	for name, c := range map[string]struct{ sql, want string }{
		"another's tables": {"CREATE TABLE %[1]q.orders (a int)",
			`has tables, like "orders", but not those of a Rota store`},
		"a table of the name":     {"CREATE TABLE %[1]q.format (a int)", "not those of a Rota store"},
		"a format of the future":  {"CREATE TABLE %[1]q.format (name text, number int); INSERT INTO %[1]q.format VALUES ('rota', 3)", "knows format 2: use a newer version"},
		"format before this one":  {"CREATE TABLE %[1]q.format (name text, number int); INSERT INTO %[1]q.format VALUES ('rota', 1)", "submit the jobs again"},
		"half of what is to come": {"CREATE TABLE %[1]q.format (name text, number int)", "not those of a Rota store"},
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Schema += "-" + name[:6]
			o.Schema = strings.ReplaceAll(o.Schema, " ", "_")
			sql(t, standing(t), fmt.Sprintf("CREATE SCHEMA %[1]q; "+c.sql, o.Schema))
			rig.Refused(t, postgres.Open, o, nil, c.want)
		})
	}
}

func TestServerThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	s := own(t, server.Options{})
	o := on(s)
	st := openWith(t, o)
	sql(t, s, "ALTER SYSTEM SET default_transaction_read_only = on")
	sql(t, s, "SELECT pg_reload_conf()")
	rig.Eventually(t, "the server has read its settings", func() bool {
		column, err := s.SQL(rig.Deadline(t), "SHOW default_transaction_read_only")
		return err == nil && column[0] == "on"
	})
	rig.Refused(t, postgres.Open, o, store.ErrUnavailable, "set to be read only")
	rig.Eventually(t, "a change is refused", func() bool {
		_, err := st.Put(rig.Deadline(t), store.Doc{Key: "a"})
		if err != nil && (!errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)) {
			t.Fatalf("put on a read-only server: %v", err)
		}
		if err == nil {
			v, _ := st.Get(rig.Deadline(t), "a")
			err = st.Delete(rig.Deadline(t), "a", v.Version)
		}
		return err != nil
	})
	o.ReadOnly = true
	openWith(t, o) // an observer needs no writes
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	s := own(t, server.Options{
		Settings: []string{"max_connections=5", "superuser_reserved_connections=2"},
		HBA:      "host all all 127.0.0.1/32 trust\n",
	})
	sql(t, s, "CREATE USER al; GRANT CREATE ON DATABASE rota TO al")
	o := on(s)
	o.User = "al"
	rig.Session(t, openWith(t, o), time.Minute) // 3: one works, one listens, one waits
	rig.Eventually(t, "no connection is left", func() bool {
		c, err := postgres.Open(rig.Deadline(t), o)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	o.Timeout = 2 * time.Second
	rig.Refused(t, postgres.Open, o, store.ErrUnavailable, "raise max_connections")
}

// TestStandby: a server that follows another is not used, whoever of the two is named first.
func TestStandby(t *testing.T) {
	t.Parallel()
	primary := own(t, server.Options{Settings: []string{"wal_level=replica", "max_wal_senders=4"},
		HBA: "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"})
	o := on(primary)
	st := openWith(t, o)
	must.Succeed(t, must.Err(st.Append(rig.Deadline(t), []byte("x"))))
	standby, err := primary.Standby(rig.LongDeadline(t))
	server.Require(t, err)
	t.Cleanup(standby.Stop)
	for _, readOnly := range []bool{false, true} {
		alone := through(o, standby.Addr())
		alone.ReadOnly = readOnly
		rig.Refused(t, postgres.Open, alone, store.ErrUnavailable, "is a standby", "name the primary")
	}
	both := openWith(t, through(o, standby.Addr(), primary.Addr()))
	if page, err := both.Read(rig.Deadline(t), 0, 10); err != nil || page.Head != 1 {
		t.Errorf("read: %+v, %v", page, err)
	}
	// The primary is lost, and the standby takes its place: the same handle goes on there.
	must.Succeed(t, primary.Kill())
	must.Succeed(t, must.Err(standby.SQL(rig.Deadline(t), "SELECT pg_promote()")))
	rig.Eventually(t, "an append on the new primary", func() bool {
		_, err := both.Append(rig.Deadline(t), []byte("y"))
		return err == nil
	})
}

// TestNotPostgres: something else listens there.
func TestNotPostgres(t *testing.T) {
	t.Parallel()
	addr := rig.Greets(t, func(c net.Conn) {
		_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) // the other side may be gone
		c.Close()
	})
	rig.Refused(t, postgres.Open, postgres.Options{Hosts: []string{addr}, Timeout: 5 * time.Second}, nil,
		"this is not PostgreSQL")
}

// TestOpenTogether has many open a store that is not there yet.
func TestOpenTogether(t *testing.T) { t.Parallel(); rig.Together(t, postgres.Open, options(t)) }

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	rig.Cancelled(t, postgres.Open, postgres.Options{Hosts: []string{rig.Silent(t)}, Timeout: time.Hour})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]postgres.Options{
		"no host":             {},
		"not of the form":     {Hosts: []string{"al:" + rig.Secret + "@h"}},
		"schema":              {Hosts: []string{"h"}, Schema: "a/b"},
		"give at least 3":     {Hosts: []string{"h"}, Connections: 2},
		"1 to 58 of A-Z":      {Hosts: []string{"h"}, Schema: strings.Repeat("x", 59)},
		"and not pg_":         {Hosts: []string{"h"}, Schema: "pg_x"},
		"host 2, \"h:x\", is": {Hosts: []string{"h", "h:x"}},
	} {
		rig.Refused(t, postgres.Open, o, nil, want)
	}
}

// TestTLS: all contracts work over an encrypted connection, and what is wrong with one is said.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, client := rig.Certificate(t)
	s := own(t, server.Options{
		Settings: []string{"ssl=on"}, Files: map[string]string{"server.crt": cert, "server.key": key},
		HBA: "host all rota 127.0.0.1/32 trust\nhostssl all al 127.0.0.1/32 scram-sha-256\n",
	})
	sql(t, s, "CREATE USER al PASSWORD '"+rig.Secret+"'")
	o := on(s)
	o.User, o.Password, o.TLS = "al", rig.Secret, client
	sql(t, s, fmt.Sprintf("CREATE SCHEMA %q AUTHORIZATION al", o.Schema))
	st := openWith(t, o)
	hints := must.Get(st.Watch(rig.Deadline(t), ""))(t)
	<-hints
	must.Succeed(t, must.Err(rig.Session(t, st, time.Minute).Put(rig.Deadline(t), store.Doc{Key: "s"})))
	rig.Hinted(t, hints)
	if n := ties(t, s, o); n != 1 {
		t.Errorf("%d ties of a session over TLS, want 1", n)
	}
	with := rig.With(o)
	rig.Refused(t, postgres.Open, with(func(o *postgres.Options) { o.TLS = nil }), nil, "pg_hba.conf",
		"it may want TLS")
	rig.Refused(t, postgres.Open, with(func(o *postgres.Options) { o.TLS = &tls.Config{MinVersion: tls.VersionTLS12} }),
		nil, "certificate of the authority")
	rig.Refused(t, postgres.Open,
		with(func(o *postgres.Options) { o.TLS = client.Clone(); o.TLS.ServerName = "db.example" }), nil,
		"use the name that it has")
	plain := options(t)
	plain.TLS = client
	rig.Refused(t, postgres.Open, plain, nil, "does not speak TLS")
}

// TestPooler: pgbouncer is refused where it shares the server's processes, and used where it does not; then heartbeats
// judge alone.
func TestPooler(t *testing.T) {
	t.Parallel()
	s := own(t, server.Options{})
	o := on(s)
	openWith(t, o)
	for _, mode := range []string{"transaction", "statement", "session"} {
		t.Run(mode, func(t *testing.T) {
			b, err := s.Bouncer(rig.Deadline(t), mode)
			if _, ok := errors.AsType[*server.MissingError](err); ok {
				t.Skipf("NOT TESTED: %v", err)
			}
			must.Succeed(t, err)
			t.Cleanup(b.Stop)
			o := through(o, b.Addr())
			if mode != "session" {
				for range 5 {
					rig.Refused(t, postgres.Open, o, nil, "pgbouncer", "pool_mode=session")
				}
				return
			}
			st := openWith(t, o)
			hints := must.Get(st.Watch(rig.Deadline(t), ""))(t)
			<-hints
			n := rig.Session(t, st, time.Minute)
			must.Succeed(t, must.Err(n.Put(rig.Deadline(t), store.Doc{Key: "s"})))
			rig.Hinted(t, hints)
			if n := ties(t, s, o); n != 0 {
				t.Errorf("%d ties behind a pooler, want none", n)
			}
		})
	}
}
