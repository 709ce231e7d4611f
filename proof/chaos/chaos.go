package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-run/rota/proof/chaos/internal/chaos"
	"github.com/rota-run/rota/proof/server"
)

// playChaos plays package chaos.
func playChaos(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flag.NewFlagSet("rotachaos", flag.ContinueOnError)
	f.SetOutput(stderr)
	var o chaos.Options
	f.IntVar(&o.Events, "events", 200, "how many faults and changes")
	f.Uint64Var(&o.Seed, "seed", 1, "of the deck of events")
	f.IntVar(&o.Members, "members", 5, "most members at once, 3 to 9")
	f.StringVar(&o.Protocol, "protocol", "", "how the members agree; default: that of rota")
	f.DurationVar(&o.TTL, "ttl", 0, "TTL of the members; default 1.5s")
	f.BoolVar(&o.NoSessions, "no-sessions", false, "heartbeats alone")
	f.StringVar(&o.Binary, "binary", "", "path of rota; default: it is built")
	f.StringVar(&o.Dir, "dir", "", "an empty or new directory where everything goes; default a temporary one")
	store := f.String("store", "file", "kind of the store: file, "+strings.Join(server.All(), ", "))
	kinds := f.String("only", "", "kinds of events, separated by commas; default all")
	asJSON := f.Bool("json", false, "the last line is the outcome as JSON; the rest goes to stderr")
	if err := f.Parse(args); err != nil {
		return flag.ErrHelp
	}
	if f.NArg() > 0 || *store != "file" && !slices.Contains(server.All(), *store) {
		fmt.Fprintf(stderr, "rotachaos: unknown argument %q or store %q\ntry: rotachaos --help\n", f.Arg(0), *store)
		return flag.ErrHelp
	}
	if *kinds != "" {
		o.Only = strings.Split(*kinds, ",")
	}
	o.Out = people(stdout, stderr, *asJSON)
	done, err := binary(ctx, &o.Binary)
	if err != nil {
		return err
	}
	defer done()
	stop, missing, err := serve(ctx, *store, &o, stderr)
	if err != nil || missing {
		return err
	}
	defer stop()
	r, err := chaos.Run(ctx, o)
	if err != nil {
		return err
	}
	return tell(stdout, *asJSON, r, r.OK)
}

// serve starts a server where the store needs one. That this machine has none is said, and no error.
func serve(ctx context.Context, store string, o *chaos.Options, stderr io.Writer) (stop func(), missing bool, err error) {
	if store == "file" {
		return func() {}, false, nil
	}
	stop, err = startServer(ctx, store, o)
	if errors.Is(err, server.ErrMissing) {
		fmt.Fprintf(stderr, "NOT DONE: chaos on %s: %v\n", store, err)
		return nil, true, nil
	}
	return stop, false, err
}

// startServer starts a server of a kind, for the members to meet at.
func startServer(ctx context.Context, kind string, o *chaos.Options) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "rota-chaos-server-")
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	s, err := server.Spawn(ctx, kind, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	o.Server = &chaos.Server{
		Store: s.URL + "/chaos", Kill: s.Kill, Restart: s.Restart,
		Open: func(ctx context.Context) (chaos.Log, error) { return s.Open(ctx, "chaos", true) },
	}
	return func() {
		s.Stop()
		_ = os.RemoveAll(dir) // it is a temporary one
	}, nil
}

// binary builds rota where no path was given.
func binary(ctx context.Context, path *string) (done func(), err error) {
	if *path != "" {
		*path, err = filepath.Abs(*path)
		return func() {}, err
	}
	dir, err := os.MkdirTemp("", "rota-binary-")
	if err != nil {
		return nil, fmt.Errorf("build rota: %w", err)
	}
	*path = filepath.Join(dir, "rota")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", *path, "github.com/rota-run/rota/cmd/rota").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build rota: %w: %s", err, out)
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}
