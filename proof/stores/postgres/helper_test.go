package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	server "github.com/rota-run/rota/proof/server/postgres"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store/postgres"
)

// shared is the server that most tests use, each in its own schema.
var shared = rig.Shared[*server.Server]{
	Start: func(ctx context.Context) (*server.Server, error) {
		return server.Start(ctx, server.Options{NoSync: os.Getenv("ROTA_POSTGRES_SYNC") == ""})
	},
	Require: server.Require,
}

func TestMain(m *testing.M) {
	if where := os.Getenv(holderVariable); where != "" {
		if err := hold(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(shared.Run(m))
}

// standing is the shared server.
func standing(t testing.TB) *server.Server {
	t.Helper()
	return shared.Server(t)
}

// own starts a server that the test may kill.
func own(t testing.TB, o server.Options) *server.Server {
	t.Helper()
	o.NoSync = true
	return rig.Own(t, server.Variable, server.Require,
		func(ctx context.Context) (*server.Server, error) { return server.Start(ctx, o) })
}

// on are the options of a new store on a server.
func on(s *server.Server) postgres.Options {
	return postgres.Options{
		Hosts: []string{s.Addr()}, User: server.User, Database: server.User,
		Password: os.Getenv(server.PasswordVariable),
		Schema:   shared.Name(), Timeout: 20 * time.Second,
	}
}

// options are those of a new store on the shared server.
func options(t testing.TB) postgres.Options {
	t.Helper()
	return on(standing(t))
}

// through returns options of the same store, which is reached through other addresses.
func through(o postgres.Options, hosts ...string) postgres.Options {
	o.Hosts = hosts
	return o
}

// place is how tests reach the shared server, or another one.
var place = rig.Place[postgres.Options, *postgres.Store]{
	Open: postgres.Open, TTL: 2 * time.Second, Fresh: options, At: through,
	Hosts: func(o postgres.Options) []string { return o.Hosts },
}

func openWith(t testing.TB, o postgres.Options) *postgres.Store { t.Helper(); return place.With(t, o) }
