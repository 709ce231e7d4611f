// Command wordcount is a member that brings task types of its own: three that count words together. The job that uses
// them is job.yaml; the tour is in docs/guide/jobs.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rota-run/rota"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "wordcount:", err)
		os.Exit(1)
	}
}

func run() error {
	member := flag.String("member", "", "name of this member, unlike all others")
	data := flag.String("store", "rota-data",
		"directory in which the members meet, or servers: nats://HOST:PORT/NAME, kafka://HOST:PORT/NAME")
	dir := flag.String("dir", ".", "directory that holds the texts and takes the results")
	slots := flag.Int64("slots", 2, "room for so many tasks at once")
	ttl := flag.Duration("ttl", 10*time.Second, "how long others wait for a silent member")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := openStore(ctx, *data)
	if err != nil {
		return err
	}
	return errors.Join(live(ctx, *dir, rota.Config{Member: *member, Store: store, TTL: *ttl, Slots: *slots}),
		store.Close())
}

// live is a member until ctx ends.
func live(ctx context.Context, dir string, c rota.Config) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c.Types = types(root)
	m, err := rota.Join(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s joined with %d slots\n", c.Member, c.Slots)
	select {
	case <-ctx.Done():
	case <-m.Done(): // it cannot go on: Leave says why
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return m.Leave(limit)
}

// types are the task types of this program.
func types(root *os.Root) []rota.Type {
	w := words{root}
	return append(w.flowTypes(), rota.NewType("wordcount.split", w.split), rota.NewType("wordcount.count", w.count),
		rota.NewType("wordcount.sum", w.sum),
	)
}
