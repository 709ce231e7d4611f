package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/rotacmd/stores"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

// run joins as a worker, leads when it is this process's turn, and returns when no file is outstanding.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("loop", flag.ContinueOnError)
	member := flags.String("member", "", "name of this process, unique among those that share the work")
	place := flags.String("store", "file:./loop-rota", "store in which the processes agree")
	ttl := flags.Duration("ttl", 10*time.Second, "how long others wait when this process is silent")
	slots := flags.Int64("workers", 2, "how many files this process downloads at once")
	b := bucket{}
	flags.StringVar(&b.in, "in", "", "directory with the files")
	flags.StringVar(&b.out, "out", "", "directory for the queues, and for what says that a file is done")
	flags.DurationVar(&b.pause, "pause", 0, "how much longer a download takes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.in == "" || b.out == "" {
		return errors.New("no -in or no -out; try: -in ./photos -out ./queues")
	}
	q, err := openQueue(b.out, *member)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	store, err := stores.Open(ctx, *place, stores.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	download := b.download(q)
	m, err := rota.Join(ctx, rota.Config{
		Member: *member, Store: store, Protocol: lease.Protocol{}, TTL: *ttl, Slots: *slots,
		Functions: []rota.Function{download}, Logger: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Leave(context.WithoutCancel(ctx))) }()
	c, err := rota.Open(store, rota.ClientOptions{Name: *member, Protocol: lease.Protocol{}, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	l := &leader{client: c, download: download, bucket: b, say: out}
	return m.Singleton(ctx, "leader", func(ctx context.Context, _ rota.Token) error { return l.lead(ctx) })
}
