// Command rota-demo-server runs a server of etcd, NATS or PostgreSQL for rota demo.
//
//	rota-demo-server KIND DIR
//
// KIND is etcd, nats or postgres, whose programs must be installed; the data goes into DIR. When the server can be
// used, its URL is printed as one line. The server ends with standard input, and not with ctrl-c: members of an
// interrupted demonstration need it to leave. Exit codes: 0 it ended, 1 it could not start, 2 usage.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/rota-run/rota/proof/server"
)

func main() {
	if server.Child() {
		return
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to rota and to this process
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "usage: rota-demo-server KIND DIR")
		return 2
	}
	s, err := spawn(ctx, args[0], args[1])
	if err != nil {
		fmt.Fprintln(stderr, "rota-demo-server:", err)
		return 1
	}
	defer s.Stop()
	if _, err := fmt.Fprintln(stdout, s.URL); err != nil {
		return 1
	}
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return 1
	}
	return 0
}

func spawn(ctx context.Context, kind, dir string) (*server.Server, error) {
	if !slices.Contains([]string{"etcd", "nats", "postgres"}, kind) {
		return nil, fmt.Errorf("unknown kind %q: must be etcd, nats or postgres", kind)
	}
	return server.Spawn(ctx, kind, dir)
}
