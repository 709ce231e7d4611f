package main

import (
	"cmp"
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
	"github.com/rota-run/rota/store/file"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "files:", err)
		os.Exit(1)
	}
}

// run joins, submits the job and returns when it has ended.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("files", flag.ContinueOnError)
	member := flags.String("member", "", "name of this process, unique among those that share the work")
	dir := flags.String("store", "./files-rota", "directory in which the processes agree")
	job := flags.String("job", "files", "name of this pass over the directory")
	ttl := flags.Duration("ttl", 10*time.Second, "how long others wait when this process is silent")
	var c config
	flags.StringVar(&c.In, "in", "", "directory with the files")
	flags.StringVar(&c.Out, "out", "", "directory for the results")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := folders(c, out); err != nil {
		return err
	}
	s, err := file.Open(ctx, *dir, file.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := rota.Join(ctx, rota.Config{Member: *member, Store: s, TTL: *ttl, Types: []rota.Type{sums(out)},
		Logger: warnings()})
	if err != nil {
		return err
	}
	err = m.Submit(ctx, *job, rota.Task{Type: "sums", Config: c, Spread: rota.Partitioned,
		Partitions: []string{everyFile}, MaxAttempts: 5})
	if err == nil {
		err = m.Wait(ctx, *job)
	}
	return errors.Join(err, m.Leave(context.WithoutCancel(ctx)))
}

// folders refuses a missing input and makes a missing output: else each file would fail by itself, again and again.
func folders(c config, out io.Writer) error {
	if info, err := os.Stat(c.In); err != nil || !info.IsDir() {
		return fmt.Errorf("-in %q is not a directory; try: mkdir %s, put files there, or name another one", c.In,
			cmp.Or(c.In, "photos"))
	}
	if c.Out == "" {
		return errors.New("no -out; try: -out ./sums")
	}
	if _, err := os.Stat(c.Out); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.Out, 0o750); err != nil {
		return fmt.Errorf("make -out: %w", err)
	}
	_, err := fmt.Fprintf(out, "made %q\n", c.Out)
	return err
}

// warnings go where people look: what fails by itself is tried again, and must not be silent.
func warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
