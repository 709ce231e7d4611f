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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/contrib/kafka"
	"github.com/rota-run/rota/store/file"
	"github.com/rota-run/rota/work"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	member, dir, job string
	ttl              time.Duration
	topics           []string
	config           kafka.Config
	toy              toy
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("loop", flag.ContinueOnError)
	flags.StringVar(&o.member, "member", "", "name of this process, unique among those that share the work")
	flags.StringVar(&o.dir, "store", "./loop-rota", "directory in which the processes agree")
	flags.StringVar(&o.job, "job", "loop", "name of the job")
	flags.DurationVar(&o.ttl, "ttl", 10*time.Second, "how long others wait when this process is silent")
	flags.StringVar(&o.config.Group, "group", "", "consumer group to tell of the positions")
	save := flags.Duration("save", time.Second, "how often the position of a busy partition is saved")
	brokers := flags.String("brokers", "127.0.0.1:9092", "some of the brokers, with commas between them")
	topics := flags.String("topics", "", "topics, with commas between them")
	flags.IntVar(&o.toy.port, "broker", 0, "be a broker in memory on this port, instead of a member")
	flags.IntVar(&o.toy.partitions, "partitions", 6, "of each topic of that broker")
	flags.IntVar(&o.toy.rate, "rate", 10, "records a second that are made for each of its topics")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.config.Brokers, o.topics = strings.Split(*brokers, ","), strings.Split(*topics, ",")
	o.config.Save = work.Duration(*save)
	if *topics == "" {
		return o, errors.New("no topic is named; try: -topics orders")
	}
	return o, nil
}

// run is a member until ctx ends, or a broker.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.toy.port != 0 {
		return o.toy.run(ctx, o.topics, out)
	}
	s, err := file.Open(ctx, o.dir, file.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := rota.Join(ctx, rota.Config{
		Member: o.member, Store: s, TTL: o.ttl, Types: []rota.Type{lines(out)},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	err = m.Submit(ctx, o.job, kafka.Task("lines", o.config, o.topics...))
	if err == nil {
		select {
		case <-ctx.Done():
		case <-m.Done():
		}
	}
	return errors.Join(err, m.Leave(context.WithoutCancel(ctx)))
}

// lines is the task type: a line for each record.
func lines(out io.Writer) rota.Type {
	var mu sync.Mutex
	return kafka.NewType("lines",
		kafka.Loop{Take: func(_ context.Context, g *rota.Grant, records []*kgo.Record) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			for i, r := range records {
				if _, err := fmt.Fprintf(out, "took %s/%d %d %d %q\n", r.Topic, r.Partition, r.Offset, g.Token,
					r.Value); err != nil {
					return i, err
				}
			}
			return len(records), nil
		}})
}
