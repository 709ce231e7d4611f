package postgres_test

import (
	"crypto/tls"
	"fmt"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/postgres"
)

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
	must.Succeed(t, must.Err(openSession(t, st).Put(rig.Deadline(t), store.Doc{Key: "s"})))
	rig.Hinted(t, hints)
	if n := ties(t, s, o); n != 1 {
		t.Errorf("%d ties of a session over TLS, want 1", n)
	}
	with := func(change func(*postgres.Options)) postgres.Options {
		changed := o
		change(&changed)
		return changed
	}
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
