package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/internal/protocol/replica"
	"github.com/rota-run/rota/internal/protocol/sync"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/store/kafka"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "changestream:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	member, store, out, job string
	tasks                   int
	ttl, pause              time.Duration
	stream                  config
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("changestream", flag.ContinueOnError)
	flags.StringVar(&o.member, "member", "", "name of this process, unique among those that share the work")
	flags.StringVar(&o.store, "store", "changestream-rota",
		"where the processes agree: a directory, or kafka://HOST:PORT/NAME")
	flags.StringVar(&o.out, "out", "changes.txt", "file to which all processes append")
	flags.StringVar(&o.job, "job", "changes", "name of this pass over the stream")
	flags.IntVar(&o.tasks, "tasks", 0, "how many partitions this process reads at once; 0: all that it gets")
	flags.DurationVar(&o.ttl, "ttl", 10*time.Second, "how long others wait when this process is silent")
	flags.DurationVar(&o.pause, "pause", 0, "after each batch, to watch it")
	flags.IntVar(&o.stream.Partitions, "partitions", 64, "partitions at the beginning of the stream")
	flags.IntVar(&o.stream.Times, "times", 1000, "how often one of them splits, or two of them merge")
	flags.IntVar(&o.stream.Each, "each", 20, "changes from one time to the next")
	if err = flags.Parse(args); err == nil && (o.stream.Partitions < 2 || o.stream.Partitions > 1000 ||
		o.stream.Times < 1 || o.stream.Each < 1) {
		err = errors.New("-partitions must be from 2 to 1000, -times and -each at least 1")
	}
	return o, err
}

// run joins, submits the job, and checks the output when it has ended.
func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	s, protocol, err := openStore(ctx, o.store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out, err := openSink(o.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.file.Close()) }()
	if err := read(ctx, o, out, rota.Config{Member: o.member, Store: s, Protocol: protocol, TTL: o.ttl}); err != nil {
		return err
	}
	written, err := os.Open(o.out)
	if err != nil {
		return err
	}
	defer written.Close()
	r, err := verify(newStream(o.stream), written)
	if err == nil {
		fmt.Fprintln(stdout, r)
	}
	return err
}

// read is a member until all partitions of the stream have been read.
func read(ctx context.Context, o options, out *sink, c rota.Config) error {
	var m *rota.Member
	joined := make(chan struct{})
	r := &reader{out: out, pause: o.pause, joined: joined, value: func() rota.Value { return m.Value() }}
	c.Types = []rota.Type{r.taskType(o.tasks)}
	m, err := rota.Join(ctx, c)
	if err != nil {
		return err
	}
	close(joined)
	t := rota.Task{Type: "changestream", Config: o.stream, Spread: rota.Partitioned, RetryMax: 5 * time.Second}
	for _, p := range newStream(o.stream).all[:o.stream.Partitions] {
		t.Partitions = append(t.Partitions, p.name)
	}
	if err = m.Submit(ctx, o.job, t); err == nil {
		err = m.Wait(ctx, o.job)
	}
	return errors.Join(err, m.Leave(context.WithoutCancel(ctx)))
}

// openStore opens the store, and says how those who meet there agree.
func openStore(ctx context.Context, place string) (store.Full, rota.Protocol, error) {
	rest, ok := strings.CutPrefix(place, "kafka://")
	if !ok {
		s, err := file.Open(ctx, place, file.Options{})
		return s, replica.Protocol{}, err
	}
	brokers, name, _ := strings.Cut(rest, "/")
	s, err := kafka.Open(ctx, kafka.Options{Brokers: strings.Split(brokers, ","), Name: name})
	return s, sync.Protocol{}, err
}
