package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/contrib/aws/bucket"
	"github.com/rota-run/rota/protocol/lease"
	"github.com/rota-run/rota/store/file"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	member, dir, job, place string
	ttl                     time.Duration
	protocol                rota.Protocol
	config                  bucket.Config
	toy                     toy
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("s3", flag.ContinueOnError)
	flags.StringVar(&o.member, "member", "", "name of this process, unique among those that share the work")
	flags.StringVar(&o.dir, "store", "./s3-rota", "directory in which the processes agree")
	flags.StringVar(&o.job, "job", "s3", "name of this pass over the bucket")
	flags.StringVar(&o.place, "place", "s3://logs/", "s3://bucket/prefix")
	flags.DurationVar(&o.ttl, "ttl", 10*time.Second, "how long others wait when this process is silent")
	flags.StringVar(&o.config.Endpoint, "endpoint", "", "URL of a gateway; default: S3")
	flags.IntVar(&o.toy.port, "gateway", 0,
		"be a gateway in memory on this port, with the bucket logs, instead of a member")
	flags.IntVar(&o.toy.objects, "objects", 1000, "of that gateway")
	protocol := flags.String("protocol", "replica",
		"how the processes agree: replica, or lease, by which they claim objects")
	err = flags.Parse(args)
	o.config.PathStyle = o.config.Endpoint != ""
	switch {
	case err != nil:
	case *protocol == "lease":
		o.protocol = lease.Protocol{}
	case *protocol != "replica":
		err = fmt.Errorf("unknown protocol %q; try: -protocol lease", *protocol)
	}
	return o, err
}

// run joins, submits the job and returns when it has ended; or it is a gateway until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.toy.port != 0 {
		return o.toy.run(ctx, out)
	}
	s, err := file.Open(ctx, o.dir, file.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := rota.Join(ctx, rota.Config{Member: o.member, Store: s, Protocol: o.protocol, TTL: o.ttl,
		Types: []rota.Type{sizes(out, o.config.Endpoint != "")}})
	if err != nil {
		return err
	}
	err = m.Submit(ctx, o.job, bucket.Task("sizes", o.config, o.place))
	if err == nil {
		err = m.Wait(ctx, o.job)
	}
	return errors.Join(err, m.Leave(context.WithoutCancel(ctx)))
}

// sizes is the task type: a line for each object, with what was read of it.
func sizes(out io.Writer, toyKeys bool) rota.Type {
	var mu sync.Mutex
	o := bucket.Objects{Take: func(_ context.Context, g *rota.Grant, o bucket.Object) error {
		n, err := io.Copy(io.Discard, o.Body)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = fmt.Fprintf(out, "took %q %d %d\n", o.Name, n, g.Token)
		return err
	}}
	if toyKeys && os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
		o.Load = append(o.Load, anyKeys) // a gateway in memory takes all
	}
	return bucket.NewType("sizes", o)
}
