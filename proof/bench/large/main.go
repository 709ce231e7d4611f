// Command large measures clusters of many tasks or many processes on one machine: how long until all have joined and
// all tasks run, what a look costs, how much memory and processor time the members use, and after a kill -9, when the
// last task runs elsewhere.
//
//	go run -C proof ./bench/large                              # 100,000 tasks, three members
//	go run -C proof ./bench/large --members 64 --tasks 64      # many processes, for as long as --watch says
//	go run -C proof ./bench/large --members 200 --tasks 200 --server etcd
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rota-run/rota/proof/bench/internal/measure"
	"github.com/rota-run/rota/proof/process"
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
	measure.Main("large", run)
}

func run(ctx context.Context, args []string, _, stderr io.Writer) (err error) {
	var o options
	f := flag.NewFlagSet("large", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.members, "members", 3, "processes")
	f.IntVar(&o.tasks, "tasks", 100_000, "task files, no-op checks every minute")
	f.StringVar(&o.store, "store", "", "where the members meet; default a directory of its own")
	f.StringVar(&o.server, "server", "", "start a server of this kind, and meet there: "+
		strings.Join(server.All(), ", "))
	f.StringVar(&o.logs, "logs", "", "a directory for what the members say")
	f.StringVar(&o.rota, "rota", "", "the binary; default: it is built")
	f.DurationVar(&o.ttl, "ttl", 10*time.Second, "TTL of the members")
	f.DurationVar(&o.watch, "watch", 30*time.Second, "how long to look at the cluster at rest")
	f.DurationVar(&o.patience, "patience", 3*time.Minute, "longest wait for one thing")
	f.BoolVar(&o.kill, "kill", true, "kill one member at the end")
	if f.Parse(args) != nil {
		return measure.ErrUsage
	}
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

// prepare builds the binary and writes the task files.
func (o *options) prepare(ctx context.Context) error {
	if o.rota == "" {
		o.rota = filepath.Join(o.dir, "rota")
		if err := process.Build(ctx, o.dir, process.Rota); err != nil {
			return err
		}
	}
	tasks := filepath.Join(o.dir, "tasks")
	if err := os.Mkdir(tasks, 0o700); err != nil {
		return err
	}
	for i := range o.tasks {
		if err := os.WriteFile(filepath.Join(tasks, fmt.Sprintf("check-%06d.yaml", i)),
			[]byte("type: noop\nevery: 1m\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}
