package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/server"
)

// options of the measurement.
type options struct {
	members, tasks int
	store, rota    string
	server, logs   string
	ttl, watch     time.Duration
	patience       time.Duration
	kill           bool
	dir            string // of this run
	served         *server.Server
}

func main() {
	if server.Child() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "large:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	var o options
	flag.IntVar(&o.members, "members", 3, "processes")
	flag.IntVar(&o.tasks, "tasks", 100_000, "task files, no-op checks every minute")
	flag.StringVar(&o.store, "store", "", "where the members meet; default a directory of its own")
	flag.StringVar(&o.server, "server", "", "start a server of this kind, and meet there: "+strings.Join(server.All(), ", "))
	flag.StringVar(&o.logs, "logs", "", "a directory for what the members say")
	flag.StringVar(&o.rota, "rota", "", "the binary; default: it is built")
	flag.DurationVar(&o.ttl, "ttl", 10*time.Second, "TTL of the members")
	flag.DurationVar(&o.watch, "watch", 30*time.Second, "how long to look at the cluster at rest")
	flag.DurationVar(&o.patience, "patience", 3*time.Minute, "longest wait for one thing")
	flag.BoolVar(&o.kill, "kill", true, "kill one member at the end")
	flag.Parse()
	if o.dir, err = os.MkdirTemp("", "rota-large-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	if o.server != "" {
		if o.served, err = server.Spawn(ctx, o.server, filepath.Join(o.dir, "server")); err != nil {
			return err
		}
		defer o.served.Stop()
		o.store = o.served.URL + "/large"
	}
	if o.store == "" {
		o.store = "file:" + filepath.Join(o.dir, "store")
	}
	if err := o.prepare(ctx); err != nil {
		return err
	}
	c := &crowd{options: o}
	defer func() { err = errors.Join(err, c.end()) }()
	return c.play(ctx)
}
